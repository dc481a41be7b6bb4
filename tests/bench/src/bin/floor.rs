//! The least that a server of this protocol can cost: mutual TLS, HTTP/2, the generated service, a hash map.
//!
//! No authentication, no limits, no deadline, no metrics, no drain. What the gateway costs beyond this is its own. Built from
//! the same crates, and with the gateway's way of running a connection's calls, so that the difference is the corridor.
//! `--tasks` runs each call in a task of its own instead, as tonic's and hyper's own servers do.

#![expect(clippy::unwrap_used, reason = "a measuring aid that stops where something is wrong")]

use std::{collections::HashMap, convert::Infallible, path::PathBuf, pin::pin, sync::Arc};

use clap::Parser;
use credgate::door::{Arrivals, Streams};
use credgate_proto::{
    LookupCredentialRequest, LookupCredentialResponse,
    credential_service_server::{CredentialService, CredentialServiceServer},
};
use hyper::{Request, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tonic::{Response, Status};
use tower::Service as _;
use tracing::subscriber::NoSubscriber;

/// The gateway's, so that the difference is not the allocator's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Settings {
    /// The server's certificate.
    #[arg(long)]
    cert: PathBuf,
    /// Its key.
    #[arg(long)]
    key: PathBuf,
    /// Who signs the clients' certificates.
    #[arg(long)]
    client_ca: PathBuf,
    /// A CSV with the header node_id,password.
    #[arg(long)]
    nodes: PathBuf,
    /// A task for each call.
    #[arg(long)]
    tasks: bool,
}

struct Table(HashMap<String, String>);

#[tonic::async_trait]
impl CredentialService for Table {
    async fn lookup_credential(
        &self,
        request: tonic::Request<LookupCredentialRequest>,
    ) -> Result<Response<LookupCredentialResponse>, Status> {
        match self.0.get(&request.get_ref().node_id) {
            Some(password) => Ok(Response::new(LookupCredentialResponse { password: password.clone() })),
            None => Err(Status::not_found("no such node")),
        }
    }
}

#[tokio::main]
async fn main() {
    // Without one, every span of h2 would go through the `log` crate.
    let _ = tracing::subscriber::set_global_default(NoSubscriber::new());
    let settings = Settings::parse();
    let service = CredentialServiceServer::new(Table(table(&settings)));
    let acceptor = TlsAcceptor::from(Arc::new(tls(&settings)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening {}", listener.local_addr().unwrap());
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        tokio::spawn(serve(socket, acceptor.clone(), service.clone(), settings.tasks));
    }
}

async fn serve(socket: TcpStream, acceptor: TlsAcceptor, service: CredentialServiceServer<Table>, tasks: bool) {
    socket.set_nodelay(true).unwrap();
    let Ok(stream) = acceptor.accept(socket).await else { return };
    let answer = service_fn(|request: Request<Incoming>| {
        let mut service = service.clone();
        async move { Ok::<_, Infallible>(service.call(request).await.unwrap_or_else(|never| match never {})) }
    });
    // How a connection ends does not matter here.
    if tasks {
        let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await;
    } else {
        let arrivals = Arrivals::default();
        let connection = http2::Builder::new(arrivals.clone()).serve_connection(TokioIo::new(stream), answer);
        let _ = Streams::new(arrivals).run(pin!(connection)).await;
    }
}

fn table(settings: &Settings) -> HashMap<String, String> {
    let text = std::fs::read_to_string(&settings.nodes).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split_once(',').unwrap());
    rows.map(|(node, password)| (node.to_owned(), password.to_owned())).collect()
}

fn tls(settings: &Settings) -> ServerConfig {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&settings.client_ca).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let chain = CertificateDer::pem_file_iter(&settings.cert).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(&settings.key).unwrap();
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_client_cert_verifier(clients).with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

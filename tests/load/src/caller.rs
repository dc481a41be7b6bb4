//! Who asks, and where: a gateway's address, TLS, and the one header list that every lookup carries.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use credgate_client::{Arguments, Settings};
use credgate_files::{read_certificates, read_key, read_token};
use credgate_proto::LOOKUP_PATH;
use credgate_support::{
    deployment::{Deployment, Identity},
    pki::provider,
    wire::Target,
};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use rustls::{
    ClientConfig, RootCertStore, SignatureScheme,
    client::{ResolvesClientCert, Resumption},
    sign::CertifiedKey,
};

/// One identity of one gateway.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Where, and with which certificate.
    pub target: Target,
    /// The value of its `authorization` header.
    pub(crate) bearer: HeaderValue,
    request: Request<()>,
    pub(crate) timeout: Duration,
}

impl Caller {
    /// From files, as `credgate lookup` takes them.
    pub fn prepare(settings: &Settings, timeout: Duration) -> Result<Self, String> {
        let address = resolve(&settings.address)?;
        let token = read_token(&settings.token_file).map_err(|error| error.to_string())?;
        let host = settings.address.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']);
        let server_name = settings.server_name.clone().unwrap_or_else(|| host.to_owned());
        rustls::pki_types::ServerName::try_from(server_name.as_str())
            .map_err(|_| Arguments::problem(&problem("server_name", "is no name a certificate could carry")))?;
        let tls = if settings.plaintext { None } else { Some(Arc::new(tls(settings)?)) };
        let target = Target { address, source: None, tls, server_name };
        Self::new(target, &format!("Bearer {}", token.expose()), timeout)
    }

    /// An identity of a test's deployment.
    pub fn of(deployment: &Deployment, address: SocketAddr, identity: &Identity) -> Self {
        let target = deployment.target(address, identity);
        // The sample's name and token fit in a header.
        Self::new(target, &identity.token.bearer(), TIMEOUT).unwrap_or_else(|error| unreachable!("{error}"))
    }

    fn new(target: Target, bearer: &str, timeout: Duration) -> Result<Self, String> {
        let bearer = HeaderValue::from_str(bearer).map_err(|_| "the token does not fit in a header".to_owned())?;
        let scheme = if target.tls.is_some() { "https" } else { "http" };
        let name = match target.server_name.as_str() {
            name if name.contains(':') => format!("[{name}]"),
            name => name.to_owned(),
        };
        let uri = format!("{scheme}://{name}{LOOKUP_PATH}");
        let uri = uri.parse::<Uri>().map_err(|error| format!("{uri}: {error}"))?;
        let request = Request::builder().method(Method::POST).uri(uri).body(()).map_err(|error| error.to_string())?;
        let mut caller = Self { target, bearer: bearer.clone(), request, timeout };
        let headers = caller.headers();
        headers.insert("content-type", HeaderValue::from_static("application/grpc"));
        headers.insert("te", HeaderValue::from_static("trailers"));
        headers.insert("authorization", bearer);
        Ok(caller.with_timeout(timeout))
    }

    /// The same with another grpc-timeout.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX).min(MOST_MILLISECONDS);
        if let Ok(value) = HeaderValue::from_str(&format!("{milliseconds}m")) {
            self.headers().insert("grpc-timeout", value);
        }
        self
    }

    /// The header list of its lookups, to be changed.
    pub fn headers(&mut self) -> &mut HeaderMap {
        self.request.headers_mut()
    }

    /// Asks for the same with another local address.
    pub fn from(mut self, source: impl Into<std::net::IpAddr>) -> Self {
        self.target.source = Some(source.into());
        self
    }

    /// The same with a whole handshake each time, as a client makes that comes for the first time.
    pub fn without_resumption(mut self) -> Self {
        self.change_tls(|config| config.resumption = Resumption::disabled());
        self
    }

    /// The same with no client certificate.
    pub fn without_certificate(mut self) -> Self {
        self.change_tls(|config| config.client_auth_cert_resolver = Arc::new(NoCertificate));
        self
    }

    fn change_tls(&mut self, change: impl FnOnce(&mut ClientConfig)) {
        if let Some(config) = &mut self.target.tls {
            change(Arc::make_mut(config));
        }
    }

    /// The head of one lookup.
    pub(crate) fn head(&self) -> Request<()> {
        self.request.clone()
    }
}

/// Somebody who has nothing to show.
#[derive(Debug)]
struct NoCertificate;

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

fn resolve(address: &str) -> Result<SocketAddr, String> {
    use std::net::ToSocketAddrs as _;
    let mut addresses = address.to_socket_addrs().map_err(|error| format!("--addr: {address}: {error}"))?;
    addresses.next().ok_or_else(|| format!("--addr: {address} has no address"))
}

fn tls(settings: &Settings) -> Result<ClientConfig, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let ca = settings.ca.as_deref().ok_or("--ca is missing")?;
    let mut roots = RootCertStore::empty();
    for root in read_certificates(ca).map_err(|error| text(&error))?.chain {
        roots.add(root).map_err(|error| format!("{}: {error}", ca.display()))?;
    }
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| text(&error))?
        .with_root_certificates(roots);
    let mut config = match (&settings.cert, &settings.key) {
        (Some(cert), Some(key)) => {
            let chain = read_certificates(cert).map_err(|error| text(&error))?.chain;
            let key = read_key(key).map_err(|error| text(&error))?.der;
            builder.with_client_auth_cert(chain, key).map_err(|error| format!("{}: {error}", cert.display()))?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

fn problem(setting: &'static str, text: &str) -> credgate_client::Problem {
    credgate_client::Problem::Setting { setting, text: text.into() }
}

/// What a registrar of a network commonly gives.
const TIMEOUT: Duration = Duration::from_secs(2);

/// grpc-timeout has at most eight digits.
const MOST_MILLISECONDS: u32 = 99_999_999;

//! TLS settings for a test's own ends of a connection, always with an explicit crypto provider.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::CryptoProvider, server::WebPkiClientVerifier};

use super::{Ca, Issued};

/// The crypto provider of every test.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A client that trusts `roots`, offers HTTP/2, and shows `identity` when it is asked for a certificate.
pub fn client_config(roots: RootCertStore, identity: Option<&Issued>) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        Some(identity) => builder.with_client_auth_cert(identity.chain(), identity.key()).unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// A server that offers HTTP/2; with `clients` it demands a certificate of that authority.
pub fn server_config(identity: &Issued, clients: Option<&Ca>) -> ServerConfig {
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        Some(ca) => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(Arc::new(ca.roots()), provider()).build().unwrap(),
        ),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(identity.chain(), identity.key()).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

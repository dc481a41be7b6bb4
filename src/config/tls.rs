//! `[tls]`: certificate, key and client CA of both listeners, judged before anything listens.

use std::{net::SocketAddr, sync::Arc, time::SystemTime};

use credgate_files::{Certificates, PrivateKey, read_certificates, read_key};
use credgate_provider::{Report, settings::Section};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::CertifiedKey,
};

use crate::door::Verifier;

mod certificate;

/// What the listeners speak.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// For the handshakes; absent with `insecure_plaintext`.
    pub server: Option<Arc<ServerConfig>>,
    /// Whether clients must show certificates.
    pub client_certificates: bool,
    /// When each loaded certificate ends, with the key it stands under.
    pub expiry: Vec<(&'static str, SystemTime)>,
}

pub fn read(
    section: &Section<'_>,
    lookup: Option<SocketAddr>,
    control: Option<SocketAddr>,
    report: &Report,
) -> Option<TlsSettings> {
    let plaintext = section.or("insecure_plaintext", false);
    let (cert, key, ca) = (section.path("cert"), section.path("key"), section.path("client_ca"));
    section.finish();
    if plaintext {
        if cert.is_some() || key.is_some() || ca.is_some() {
            section.problem("insecure_plaintext", "contradicts cert, key and client_ca; choose one");
        }
        if [lookup, control].into_iter().flatten().any(|address| !address.ip().is_loopback()) {
            section.problem(
                "insecure_plaintext",
                "is allowed only when lookup.listen and control.listen are loopback addresses",
            );
        }
        return Some(TlsSettings { server: None, client_certificates: false, expiry: Vec::new() });
    }
    for (key, path) in [("cert", &cert), ("key", &key)] {
        if path.is_none() && !section.has(key) {
            section.problem(key, "is missing; expected the path of a PEM file (`credgate init` makes a set to try)");
        }
    }
    let now = SystemTime::now();
    let chain = cert.and_then(|path| report.file(section.place("cert"), read_certificates(&path)));
    let key = key.and_then(|path| report.file(section.place("key"), read_key(&path)));
    let client_certificates = ca.is_some();
    let roots = ca.and_then(|path| report.file(section.place("client_ca"), read_certificates(&path)));
    let mut expiry = Vec::new();
    let mut pair = None;
    if let Some(chain) = chain {
        report.loaded(chain.loaded.clone());
        let end = certificate::judge_chain(section, &chain, now);
        expiry.extend(end.map(|end| ("cert", end)));
        // With a certificate that cannot be read, no key can be told to be wrong.
        pair = end.and_then(|_| certified(section, chain, key.as_ref()?));
    }
    let mut trusted = None;
    if let Some(roots) = &roots {
        report.loaded(roots.loaded.clone());
        let ends = certificate::judge_roots(section, roots, now);
        trusted = if ends.is_empty() { None } else { verifier(section, roots) };
        expiry.extend(ends.into_iter().map(|end| ("client_ca", end)));
    }
    if let Some(key) = &key {
        report.loaded_secret(section.place("key"), key.loaded.clone());
    }
    if client_certificates && trusted.is_none() {
        return None;
    }
    let server = Some(Arc::new(server(pair?, trusted)?));
    Some(TlsSettings { server, client_certificates, expiry })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Certificate and key as a pair that belongs together.
fn certified(section: &Section<'_>, chain: Certificates, key: &PrivateKey) -> Option<CertifiedKey> {
    let (cert, path) = (chain.loaded.path().display(), key.loaded.path().display());
    let problem = match CertifiedKey::from_der(chain.chain, key.der.clone_key(), &provider()) {
        Ok(pair) => return Some(pair),
        Err(rustls::Error::InconsistentKeys(_)) => {
            format!("{path}: does not belong to the first certificate of {cert}")
        }
        Err(error) => format!("{path}: cannot be used: {error}"),
    };
    section.problem("key", problem);
    None
}

fn verifier(section: &Section<'_>, roots: &Certificates) -> Option<Arc<dyn ClientCertVerifier>> {
    let mut store = RootCertStore::empty();
    for root in &roots.chain {
        if let Err(error) = store.add(root.clone()) {
            section.problem(
                "client_ca",
                format!("{} holds a certificate that cannot be used: {error}", roots.loaded.path().display()),
            );
        }
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider())
        .build()
        .map(|judge| -> Arc<dyn ClientCertVerifier> { Arc::new(Verifier::new(judge)) })
        .map_err(|error| section.problem("client_ca", error))
        .ok()
}

fn server(pair: CertifiedKey, verifier: Option<Arc<dyn ClientCertVerifier>>) -> Option<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().ok()?;
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(pair)));
    config.alpn_protocols = vec![b"h2".to_vec()];
    Some(config)
}

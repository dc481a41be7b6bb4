//! A gateway that can be dialled: settings checked, files read. Nothing here touches the network.

mod address;

use std::{fmt, path::Path, sync::Arc};

use credgate_files::{read_certificates, read_key, read_token};
use http::{HeaderValue, uri::Authority};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName},
};
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use crate::{PrepareError, Problem, Settings};
pub(crate) use address::{Address, Host};

/// One gateway, ready to be dialled any number of times. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint(Arc<Inner>);

struct Inner {
    address: Address,
    authority: Authority,
    tls: Option<Tls>,
    authorization: HeaderValue,
}

/// TLS for one server name; sessions are resumed across the dials of one endpoint.
pub(crate) struct Tls {
    pub(crate) connector: TlsConnector,
    pub(crate) server_name: ServerName<'static>,
}

impl Endpoint {
    /// Reads the files and checks the settings; reports every problem at once.
    pub fn prepare(settings: &Settings) -> Result<Self, PrepareError> {
        let mut problems = Vec::new();
        let address = address::parse(&settings.address).map_err(|problem| problems.push(problem)).ok();
        problems.extend(contradictions(settings, address.as_ref()));
        let name = address
            .as_ref()
            .and_then(|address| server_name(settings, address).map_err(|problem| problems.push(problem)).ok());
        let tls = if settings.plaintext { None } else { tls_config(settings, &mut problems) };
        let authorization = authorization(&settings.token_file).map_err(|problem| problems.push(problem)).ok();

        let (Some(address), Some((server_name, authority)), Some(authorization)) = (address, name, authorization)
        else {
            return Err(PrepareError::new(problems));
        };
        if !problems.is_empty() {
            return Err(PrepareError::new(problems));
        }
        let tls = tls.map(|config| Tls { connector: TlsConnector::from(Arc::new(config)), server_name });
        Ok(Self(Arc::new(Inner { address, authority, tls, authorization })))
    }

    pub(crate) fn address(&self) -> &Address {
        &self.0.address
    }

    /// The `:authority` of every request.
    pub(crate) fn authority(&self) -> &Authority {
        &self.0.authority
    }

    /// `None` means plaintext.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.0.tls.as_ref()
    }

    /// `Bearer <token>`, marked sensitive: it prints as such, and HPACK never indexes it.
    pub(crate) fn authorization(&self) -> &HeaderValue {
        &self.0.authorization
    }
}

/// `HOST:PORT`, as it was given.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.address.fmt(f)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("address", &self.0.address.to_string()).finish_non_exhaustive()
    }
}

fn contradictions(settings: &Settings, address: Option<&Address>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if settings.plaintext {
        if address.is_some_and(|address| !address.is_loopback()) {
            problems.push(Problem::setting(
                "plaintext",
                "allowed for a loopback address only (127.0.0.0/8, [::1], localhost); use TLS with ca",
            ));
        }
        if settings.ca.is_some() || settings.cert.is_some() || settings.key.is_some() || settings.server_name.is_some()
        {
            problems.push(Problem::setting(
                "plaintext",
                "contradicts ca, cert, key and server_name; give one or the other",
            ));
        }
        return problems;
    }
    if settings.ca.is_none() {
        problems.push(Problem::setting("ca", "is missing; give the CA file of the gateway's certificate"));
    }
    match (&settings.cert, &settings.key) {
        (Some(_), None) => problems.push(Problem::setting("key", "is missing; cert and key go together")),
        (None, Some(_)) => problems.push(Problem::setting("cert", "is missing; cert and key go together")),
        _ => {}
    }
    problems
}

/// The name to verify, and the authority to send: the given name, or the address.
fn server_name(settings: &Settings, address: &Address) -> Result<(ServerName<'static>, Authority), Problem> {
    let (name, authority) = match &settings.server_name {
        Some(name) if name.contains(':') => (name.clone(), format!("[{name}]")),
        Some(name) => (name.clone(), name.clone()),
        None => (address.host(), address.to_string()),
    };
    let setting = if settings.server_name.is_some() { "server_name" } else { "address" };
    let server_name = ServerName::try_from(name)
        .map_err(|_| Problem::setting(setting, "is not a DNS name or IP address a certificate could carry"))?;
    let authority = Authority::try_from(authority)
        .map_err(|_| Problem::setting(setting, "is not a DNS name or IP address that HTTP/2 could carry"))?;
    Ok((server_name, authority))
}

fn tls_config(settings: &Settings, problems: &mut Vec<Problem>) -> Option<ClientConfig> {
    let roots = settings.ca.as_deref().and_then(|ca| roots(ca).map_err(|problem| problems.push(problem)).ok());
    let identity = match (&settings.cert, &settings.key) {
        (Some(cert), Some(key)) => Some(identity(cert, key, problems)?),
        _ => None,
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| problems.push(Problem::setting("ca", format!("TLS cannot be set up: {error}"))))
        .ok()?
        .with_root_certificates(roots?);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| problems.push(Problem::setting("cert, key", unusable(&error))))
            .ok()?,
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Some(config)
}

fn roots(ca: &Path) -> Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(ca)?.chain {
        roots.add(certificate).map_err(|_| {
            Problem::setting("ca", format!("{} holds a certificate that cannot be read as X.509", ca.display()))
        })?;
    }
    Ok(roots)
}

fn identity(
    cert: &Path,
    key: &Path,
    problems: &mut Vec<Problem>,
) -> Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let chain = read_certificates(cert).map_err(|error| problems.push(error.into()));
    let key = read_key(key).map_err(|error| problems.push(error.into()));
    Some((chain.ok()?.chain, key.ok()?.der))
}

fn unusable(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InconsistentKeys(_) => "the key is not the one of the certificate",
        _ => "the certificate or the key is of a kind that TLS cannot use here",
    }
}

fn authorization(token_file: &Path) -> Result<HeaderValue, Problem> {
    let token = read_token(token_file)?;
    let text = Zeroizing::new(format!("Bearer {}", token.expose()));
    // A token is printable ASCII, which `read_token` has checked.
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| Problem::setting("token_file", "holds characters that no header can carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

//! Why a connection did not come to be, or broke: the step, and one sentence in the caller's words.
//!
//! Only this file knows rustls' and the system's errors; everybody else carries the sentence.

use std::{fmt, io, sync::Arc};

use rustls::{AlertDescription, CertificateError, pki_types::ServerName};

/// The steps of a dial, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The host name is looked up; an IP literal passes at once.
    Resolve,
    /// TCP.
    Connect,
    /// TLS, both certificates included.
    Tls,
    /// The server's first HTTP/2 frame.
    Http2,
}

/// One plain line that names step and class: `connect: connection refused`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{step}: {cause}")]
pub struct DialError {
    /// The step that failed.
    pub step: Step,
    /// Why.
    pub cause: Cause,
}

/// Why a step failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Cause {
    /// The deadline passed in this step.
    #[error("timed out")]
    TimedOut,
    /// The server ended the connection without a word.
    #[error("the server closed the connection")]
    Closed,
    /// The system said no.
    #[error("{}", io_class(.0))]
    Io(#[source] Arc<io::Error>),
    /// Client and server do not agree; the sentence says on what.
    #[error("{0}")]
    Refused(Box<str>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Http2 => "http2",
        })
    }
}

impl DialError {
    pub(crate) fn new(step: Step, cause: Cause) -> Self {
        Self { step, cause }
    }

    pub(crate) fn refused(step: Step, sentence: impl Into<Box<str>>) -> Self {
        Self { step, cause: Cause::Refused(sentence.into()) }
    }

    /// A failed read or write in `step`. What TLS has to say is a matter of TLS whenever it arrives: with TLS 1.3 a
    /// server's refusal of the client certificate comes after the handshake looks finished (RFC 8446, section 4.4.2.4).
    pub(crate) fn io(step: Step, error: io::Error, name: Option<&ServerName<'_>>) -> Self {
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Self::refused(Step::Tls, tls_sentence(tls, name));
        }
        let cause = match error.kind() {
            io::ErrorKind::UnexpectedEof => Cause::Closed,
            _ => Cause::Io(Arc::new(error)),
        };
        Self { step, cause }
    }
}

/// `connection refused`, without the number that the system's own text carries; a resolver's text has no class.
fn io_class(error: &io::Error) -> String {
    if error.raw_os_error().is_some() { error.kind().to_string() } else { error.to_string().replace('\n', " ") }
}

fn tls_sentence(error: &rustls::Error, name: Option<&ServerName<'_>>) -> String {
    use rustls::Error;
    match error {
        Error::InvalidCertificate(fault) => certificate_sentence(fault, name),
        Error::AlertReceived(alert) => alert_sentence(*alert),
        Error::InvalidMessage(_) => "the server speaks no TLS (is it plaintext?)".to_owned(),
        Error::PeerIncompatible(_) => "the server supports no TLS version or cipher suite of ours".to_owned(),
        Error::NoApplicationProtocol => no_h2().to_owned(),
        other => format!("the handshake failed: {other}"),
    }
}

fn certificate_sentence(fault: &CertificateError, name: Option<&ServerName<'_>>) -> String {
    use CertificateError as Fault;
    match fault {
        Fault::UnknownIssuer => "the server's certificate is not signed by the given CA".to_owned(),
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => {
            let name = name.map_or("the server name".into(), ServerName::to_str);
            format!("the certificate is for other names than {name}")
        }
        Fault::Expired | Fault::ExpiredContext { .. } => "the server's certificate has expired".to_owned(),
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet (compare the clocks)".to_owned()
        }
        Fault::BadSignature => "the server's certificate has a bad signature (another CA of the same name?)".to_owned(),
        Fault::InvalidPurpose | Fault::InvalidPurposeContext { .. } => {
            "the server's certificate is not for servers (extended key usage serverAuth)".to_owned()
        }
        Fault::Other(_) => "the server's certificate is a CA, or otherwise none for servers".to_owned(),
        _ => "the server's certificate cannot be used".to_owned(),
    }
}

/// What the server says about us.
fn alert_sentence(alert: AlertDescription) -> String {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateRequired => "the server requires a client certificate".to_owned(),
        Alert::UnknownCA => "the server does not know the CA of our client certificate".to_owned(),
        Alert::DecryptError => {
            "the server cannot verify our client certificate (signed by another CA of the same name?)".to_owned()
        }
        Alert::CertificateExpired => {
            "the server says that our client certificate has expired, or is not valid yet".to_owned()
        }
        Alert::CertificateRevoked => "the server says that our client certificate is revoked".to_owned(),
        Alert::BadCertificate | Alert::UnsupportedCertificate | Alert::CertificateUnknown | Alert::NoCertificate => {
            "the server refuses our client certificate, or the lack of one".to_owned()
        }
        Alert::AccessDenied => "the server denies access to our client certificate".to_owned(),
        Alert::ProtocolVersion => "the server supports no TLS version of ours".to_owned(),
        Alert::NoApplicationProtocol => no_h2().to_owned(),
        Alert::UnrecognisedName => "the server knows no such server name".to_owned(),
        other => format!("the server refused the handshake (alert {other:?})"),
    }
}

pub(crate) fn no_h2() -> &'static str {
    "the server does not offer HTTP/2 (ALPN h2); is it a credgate gateway?"
}

//! Client certificates: judged by rustls, and remembered for the log when they are refused.
//!
//! rustls lets go of a certificate with the handshake it fails, and an operator who reads "expired" wants to know whose.
//! Nothing is decided here.

use std::{cell::RefCell, sync::Arc};

use credgate_provider::Detail;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    pki_types::{CertificateDer, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

use super::{Failure, peer};

/// A verifier that notes what it refuses.
#[derive(Debug)]
pub struct Verifier(Arc<dyn ClientCertVerifier>);

tokio::task_local! {
    /// The certificate that was refused in the handshake of this task.
    static REFUSED: RefCell<Option<Detail>>;
}

impl Verifier {
    /// Judges as `judge` does.
    pub fn new(judge: Arc<dyn ClientCertVerifier>) -> Self {
        Self(judge)
    }
}

/// Performs a handshake; beside its outcome, whose certificate was refused in it.
pub(super) async fn noting<T>(handshake: impl Future<Output = T>) -> (T, Option<Detail>) {
    let noted = async { (handshake.await, REFUSED.with(RefCell::take)) };
    REFUSED.scope(RefCell::default(), noted).await
}

/// What a refused certificate is counted as.
pub(super) fn failure(error: &CertificateError) -> Failure {
    use CertificateError as Refused;
    match error {
        Refused::Expired | Refused::ExpiredContext { .. } => Failure::CertificateExpired,
        Refused::NotValidYet | Refused::NotValidYetContext { .. } => Failure::CertificateNotYetValid,
        // The latter: a CA of the same name with another key.
        Refused::UnknownIssuer | Refused::BadSignature => Failure::CertificateOfAnotherCa,
        Refused::InvalidPurpose | Refused::InvalidPurposeContext { .. } => Failure::CertificatePurpose,
        _ => Failure::BadCertificate,
    }
}

impl ClientCertVerifier for Verifier {
    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.0.verify_client_cert(leaf, intermediates, now).inspect_err(|_| {
            // Outside a handshake of ours nobody asks.
            let _ = REFUSED.try_with(|refused| refused.replace(Some(peer::describe(leaf))));
        })
    }

    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

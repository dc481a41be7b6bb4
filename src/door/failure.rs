//! Why a connection was refused or came to nothing.

/// The cause, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// `limits.connections` were open.
    TooMany,
    /// `limits.connections_per_source` were open from its source.
    TooManyOfSource,
    /// A table was full, and this one, silent or not authenticated, had to go.
    NoRoom,
    /// No complete handshake, or no authenticated RPC, in time.
    TimedOut,
    /// What came was not TLS.
    NotTls,
    /// mTLS, and the client showed no certificate.
    NoCertificate,
    /// The client's certificate has ended.
    CertificateExpired,
    /// It has not begun.
    CertificateNotYetValid,
    /// No CA of `tls.client_ca` has issued it.
    CertificateOfAnotherCa,
    /// It is not for clients (extended key usage).
    CertificatePurpose,
    /// It is broken in another way.
    BadCertificate,
    /// The client does not trust our certificate, or left with another alert.
    RefusedByClient,
    /// The peer closed or reset the connection, or broke the protocol, before an RPC was authenticated.
    Gone,
    /// Any other failure of the handshake.
    Other,
}

impl Failure {
    /// One of each.
    pub const ALL: [Self; 14] = [
        Self::TooMany,
        Self::TooManyOfSource,
        Self::NoRoom,
        Self::TimedOut,
        Self::NotTls,
        Self::NoCertificate,
        Self::CertificateExpired,
        Self::CertificateNotYetValid,
        Self::CertificateOfAnotherCa,
        Self::CertificatePurpose,
        Self::BadCertificate,
        Self::RefusedByClient,
        Self::Gone,
        Self::Other,
    ];

    /// The word in metrics and log.
    pub fn label(self) -> &'static str {
        match self {
            Self::TooMany => "too_many",
            Self::TooManyOfSource => "too_many_of_source",
            Self::NoRoom => "no_room",
            Self::TimedOut => "timed_out",
            Self::NotTls => "not_tls",
            Self::NoCertificate => "no_certificate",
            Self::CertificateExpired => "certificate_expired",
            Self::CertificateNotYetValid => "certificate_not_yet_valid",
            Self::CertificateOfAnotherCa => "certificate_of_another_ca",
            Self::CertificatePurpose => "certificate_purpose",
            Self::BadCertificate => "bad_certificate",
            Self::RefusedByClient => "refused_by_client",
            Self::Gone => "gone",
            Self::Other => "other",
        }
    }
}

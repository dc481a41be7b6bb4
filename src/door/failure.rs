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
    /// The client's certificate is expired, of another CA, not for clients, or broken.
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
    pub const ALL: [Self; 10] = [
        Self::TooMany,
        Self::TooManyOfSource,
        Self::NoRoom,
        Self::TimedOut,
        Self::NotTls,
        Self::NoCertificate,
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
            Self::BadCertificate => "bad_certificate",
            Self::RefusedByClient => "refused_by_client",
            Self::Gone => "gone",
            Self::Other => "other",
        }
    }
}

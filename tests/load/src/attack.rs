//! Attacks on a gateway of one's own: a kind, so many connections, so long. Loopback addresses only.
//!
//! Each connection does its worst until the gateway ends it, and comes again at once. What a kind needs (token,
//! certificate) it has from the caller it is given: the worst attacker is one that may come in.

mod floods;
mod handshakes;
mod strangers;

use std::{collections::BTreeMap, fmt, time::Duration};

use clap::ValueEnum;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    task::JoinSet,
    time::{Instant, timeout_at},
};

use crate::Caller;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A ClientHello, one byte every 50 ms.
    SlowHandshakes,
    /// A whole ClientHello, and then nothing.
    HalfHandshakes,
    /// TCP, and then nothing.
    Silence,
    /// A TLS handshake without a client certificate, and a call.
    NoCertificate,
    /// TLS, and then nothing.
    Mute,
    /// Connect, shake hands, leave.
    Churn,
    /// Calls with a wrong token.
    BadTokens,
    /// HEADERS, DATA and RST_STREAM, again and again, with the right token.
    Resets,
    /// Header lists of megabytes from frames of 16 KiB (HPACK), with the right token.
    HeaderBombs,
    /// One HEADERS frame and CONTINUATION frames without end.
    Continuations,
    /// Messages of a megabyte, with the right token.
    BigMessages,
    /// PING frames.
    Pings,
    /// SETTINGS frames.
    Settings,
    /// Calls that are opened and never finished, with the right token.
    HalfCalls,
}

/// How much, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Connections at once; at most [`Plan::MOST`].
    pub connections: usize,
    /// At most [`Plan::LONGEST`].
    pub duration: Duration,
}

impl Plan {
    /// Most connections of an attack.
    pub const MOST: usize = 5000;
    /// Longest attack.
    pub const LONGEST: Duration = Duration::from_secs(600);
}

/// What an attack did, and what came of it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Connections that were opened.
    pub opened: u64,
    /// Frames, bytes or calls that were sent on them, as the kind has it.
    pub sent: u64,
    /// How connections ended.
    pub ends: BTreeMap<String, u64>,
}

/// How one connection of an attack ended, and what it had sent.
struct End {
    sent: u64,
    how: String,
}

impl End {
    fn closed(sent: u64) -> Self {
        Self { sent, how: "closed by the gateway".to_owned() }
    }
}

/// Runs one attack.
pub async fn attack(kind: Kind, caller: &Caller, plan: Plan) -> Result<Tally, String> {
    if !caller.target.address.ip().is_loopback() {
        return Err(format!("{} is no loopback address; attacks go nowhere else", caller.target.address));
    }
    if caller.target.tls.is_none() {
        return Err("attacks are for a gateway with TLS".to_owned());
    }
    if plan.connections > Plan::MOST || plan.duration > Plan::LONGEST {
        return Err(format!("an attack has at most {} connections and {:?}", Plan::MOST, Plan::LONGEST));
    }
    let end = Instant::now() + plan.duration;
    let mut attackers = JoinSet::new();
    let caller = caller.clone().without_resumption();
    for _ in 0..plan.connections {
        let caller = caller.clone();
        attackers.spawn(async move { again_and_again(kind, &caller, end).await });
    }
    let mut tally = Tally::default();
    while let Some(one) = attackers.join_next().await {
        tally.add(one.map_err(|error| error.to_string())?);
    }
    Ok(tally)
}

async fn again_and_again(kind: Kind, caller: &Caller, end: Instant) -> Tally {
    let mut tally = Tally::default();
    while Instant::now() < end {
        tally.opened += 1;
        let one = timeout_at(end, once(kind, caller)).await;
        let End { sent, how } = one.unwrap_or(End { sent: 0, how: "held to the end".to_owned() });
        tally.sent += sent;
        *tally.ends.entry(how).or_default() += 1;
    }
    tally
}

async fn once(kind: Kind, caller: &Caller) -> End {
    match kind {
        Kind::SlowHandshakes => handshakes::slow(&caller.target).await,
        Kind::HalfHandshakes => handshakes::half(&caller.target).await,
        Kind::Silence => strangers::silent(&caller.target).await,
        Kind::NoCertificate => handshakes::without_certificate(caller).await,
        Kind::Mute => strangers::mute(&caller.target).await,
        Kind::Churn => handshakes::churn(&caller.target).await,
        Kind::BadTokens => strangers::bad_tokens(caller).await,
        Kind::Resets => floods::resets(caller).await,
        Kind::HeaderBombs => floods::header_bombs(caller).await,
        Kind::Continuations => floods::continuations(caller).await,
        Kind::BigMessages => floods::big_messages(caller).await,
        Kind::Pings => floods::pings(&caller.target).await,
        Kind::Settings => floods::settings(&caller.target).await,
        Kind::HalfCalls => floods::half_calls(caller).await,
    }
}

impl Kind {
    /// What its `sent` counts.
    pub fn unit(self) -> &'static str {
        match self {
            Self::SlowHandshakes => "bytes",
            Self::HalfHandshakes | Self::Silence | Self::Mute | Self::Churn | Self::NoCertificate => "connections",
            Self::BadTokens | Self::Resets | Self::HeaderBombs | Self::BigMessages | Self::HalfCalls => "calls",
            Self::Continuations | Self::Pings | Self::Settings => "frames",
        }
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.opened += other.opened;
        self.sent += other.sent;
        for (how, count) in other.ends {
            *self.ends.entry(how).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} connections, {} sent", self.opened, self.sent)?;
        for (how, count) in &self.ends {
            write!(f, "; {count} × {how}")?;
        }
        Ok(())
    }
}

/// A connection that could not be made.
fn refused(error: &std::io::Error) -> End {
    End { sent: 0, how: format!("connect: {}", error.kind()) }
}

/// Reads, and throws away, until the gateway closes the connection.
async fn to_the_end(stream: &mut (impl AsyncRead + Unpin + ?Sized)) {
    let mut read = [0; 4096];
    while stream.read(&mut read).await.is_ok_and(|count| count > 0) {}
}

//! One attempt to reach a gateway, under one deadline, over named steps.

use std::{future::Future, io, net::SocketAddr};

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    net::TcpStream,
    sync::watch,
    time::{Instant, timeout_at},
};

use crate::{
    Cause, Connection, DialError, Endpoint, Step, connection,
    endpoint::{Address, Host, Tls},
    verdict::no_h2,
    wire::{Seen, Stream, Wire},
};

/// Resolves, connects, shakes hands and waits for the server's first HTTP/2 frame, all before `deadline`.
///
/// Waiting for the frame costs one flight and buys the truth: with TLS 1.3 a server that refuses the client certificate
/// says so only after the client's side of the handshake is done.
///
/// Must be called on a tokio runtime, which then drives the connection. An IP literal uses no thread but the caller's;
/// a host name is looked up on tokio's blocking pool, where a hung resolver outlives the deadline (it is not awaited).
pub async fn dial(endpoint: &Endpoint, deadline: Instant) -> Result<Connection, DialError> {
    dial_by_steps(endpoint, deadline, |_| ()).await
}

/// Like [`dial`]; `enter` hears of each step as it begins.
pub(crate) async fn dial_by_steps(
    endpoint: &Endpoint,
    deadline: Instant,
    enter: impl Fn(Step),
) -> Result<Connection, DialError> {
    enter(Step::Resolve);
    let addresses = resolve(endpoint, deadline).await?;
    reach(endpoint, &addresses, deadline, enter).await
}

/// Where the endpoint's name leads now, in the order in which [`dial`] tries: at least one address.
pub async fn resolve(endpoint: &Endpoint, deadline: Instant) -> Result<Vec<SocketAddr>, DialError> {
    within(deadline, Step::Resolve, look_up(endpoint)).await
}

/// Like [`dial`], to one of the endpoint's addresses: for a tool that must know which of them answers.
pub async fn dial_address(
    endpoint: &Endpoint,
    address: SocketAddr,
    deadline: Instant,
) -> Result<Connection, DialError> {
    reach(endpoint, &[address], deadline, |_| ()).await
}

async fn reach(
    endpoint: &Endpoint,
    addresses: &[SocketAddr],
    deadline: Instant,
    enter: impl Fn(Step),
) -> Result<Connection, DialError> {
    enter(Step::Connect);
    let tcp = connect(addresses, deadline).await?;
    let local = tcp.local_addr().ok();
    let (stream, name) = match endpoint.tls() {
        None => (Stream::Plain(tcp), None),
        Some(tls) => {
            enter(Step::Tls);
            let stream = within(deadline, Step::Tls, handshake(tls, tcp)).await?;
            (stream, Some(tls.server_name.clone()))
        }
    };
    enter(Step::Http2);
    let (wire, seen) = Wire::new(stream, name);
    within(deadline, Step::Http2, open(endpoint, wire, local, seen)).await
}

async fn within<T>(
    deadline: Instant,
    step: Step,
    work: impl Future<Output = Result<T, DialError>>,
) -> Result<T, DialError> {
    timeout_at(deadline, work).await.unwrap_or(Err(DialError::new(step, Cause::TimedOut)))
}

async fn look_up(endpoint: &Endpoint) -> Result<Vec<SocketAddr>, DialError> {
    let Address { place, .. } = endpoint.address();
    let mut addresses: Vec<SocketAddr> = match place {
        Host::Literal(address) => return Ok(vec![*address]),
        Host::Name(name, port) => tokio::net::lookup_host((name.as_str(), *port))
            .await
            .map_err(|error| DialError::io(Step::Resolve, error, None))?
            .collect(),
    };
    if endpoint.tls().is_none() {
        addresses.retain(|address| address.ip().to_canonical().is_loopback());
    }
    if addresses.is_empty() {
        return Err(DialError::refused(Step::Resolve, "the name has no usable address"));
    }
    Ok(addresses)
}

/// Tries the addresses in order; each may use its share of what is left, so that one black hole does not eat it all.
async fn connect(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, DialError> {
    let mut failure = DialError::new(Step::Connect, Cause::TimedOut);
    for (tried, address) in addresses.iter().enumerate() {
        let rest = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let now = Instant::now();
        let share = now + deadline.saturating_duration_since(now) / rest;
        let attempt = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            io::Result::Ok(stream)
        };
        match timeout_at(share, attempt).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = DialError::io(Step::Connect, error, None),
            Err(_) => failure = DialError::new(Step::Connect, Cause::TimedOut),
        }
    }
    Err(failure)
}

async fn handshake(tls: &Tls, tcp: TcpStream) -> Result<Stream, DialError> {
    let stream = tls
        .connector
        .connect(tls.server_name.clone(), tcp)
        .await
        .map_err(|error| DialError::io(Step::Tls, error, Some(&tls.server_name)))?;
    if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        return Err(DialError::refused(Step::Tls, no_h2()));
    }
    Ok(Stream::Tls(Box::new(stream)))
}

async fn open(
    endpoint: &Endpoint,
    wire: Wire,
    local: Option<SocketAddr>,
    mut seen: watch::Receiver<Seen>,
) -> Result<Connection, DialError> {
    let (requests, driver) = connection::builder(TokioExecutor::new(), TokioTimer::new())
        .handshake(TokioIo::new(wire))
        .await
        .map_err(|_| ended(&seen))?;
    tokio::spawn(async move {
        // Its error says less than what the wire noted.
        let _ = driver.await;
    });
    // The wire is dropped, and with it the sender, when the connection breaks.
    let speaks =
        seen.wait_for(|seen| !matches!(seen, Seen::Nothing)).await.is_ok_and(|seen| matches!(*seen, Seen::Http2));
    if speaks { Ok(Connection::new(endpoint, requests, local, seen)) } else { Err(ended(&seen)) }
}

fn ended(seen: &watch::Receiver<Seen>) -> DialError {
    match &*seen.borrow() {
        Seen::Ended(error) => error.clone(),
        Seen::Nothing | Seen::Http2 => DialError::new(Step::Http2, Cause::Closed),
    }
}

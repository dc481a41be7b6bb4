//! A page: its HTTP status is the answer, its content is not read.

use std::{io, net::SocketAddr};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout_at},
};

use super::{Line, Meaning, Reading, share};
use crate::target::Page;

/// The connection, open as long as the server wants.
pub type Open = SendRequest<Empty<Bytes>>;

/// Asks for the page once, before `deadline`.
pub async fn read(page: &Page, deadline: Instant) -> Reading {
    let addresses: Vec<SocketAddr> = match timeout_at(deadline, lookup_host((page.host.as_str(), page.port))).await {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return Reading::silence(&format!("resolve: {}", class(&error)), Vec::new(), None),
        Err(_) => return Reading::silence(&"resolve: timed out", Vec::new(), None),
    };
    let mut cause = "resolve: the name has no address".to_owned();
    for (tried, address) in addresses.iter().enumerate() {
        match timeout_at(share(deadline, addresses.len() - tried), TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let asked = timeout_at(deadline, ask(page, stream)).await;
                let asked = asked.unwrap_or(Err(Failure::silence("timed out")));
                return reading(asked, addresses.clone(), *address);
            }
            Ok(Err(error)) => cause = format!("connect: {}", class(&error)),
            Err(_) => "connect: timed out".clone_into(&mut cause),
        }
    }
    Reading::silence(&cause, addresses, None)
}

struct Failure {
    meaning: Meaning,
    cause: &'static str,
}

type Asked = Result<(StatusCode, Line), Failure>;

async fn ask(page: &Page, stream: TcpStream) -> Asked {
    let local = stream.local_addr().ok();
    let (mut open, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| Failure::of(&error))?;
    tokio::spawn(async move {
        // Its error is also the request's.
        let _ = connection.await;
    });
    let request = Request::get(&page.path).header(header::HOST, &page.authority).body(Empty::new());
    let request = request.map_err(|_| Failure::silence("the path cannot be sent"))?;
    let response = open.send_request(request).await.map_err(|error| Failure::of(&error))?;
    Ok((response.status(), Line { local, _open: super::Open::Page(open) }))
}

impl Failure {
    fn silence(cause: &'static str) -> Self {
        Self { meaning: Meaning::Silence, cause }
    }

    fn of(error: &hyper::Error) -> Self {
        if error.is_parse() {
            return Self { meaning: Meaning::Refusal, cause: "the server does not speak HTTP/1" };
        }
        Self::silence("the connection ended before the answer")
    }
}

fn reading(asked: Asked, addresses: Vec<SocketAddr>, taken: SocketAddr) -> Reading {
    match asked {
        Ok((status, line)) => {
            let words = format!("answered HTTP {}", status.as_u16());
            Reading { meaning: meaning(status), words, addresses, taken: Some(taken), line: Some(line) }
        }
        Err(Failure { meaning, cause }) => {
            Reading { meaning, ..Reading::silence(&format!("http: {cause}"), addresses, Some(taken)) }
        }
    }
}

/// 2xx is SERVING and 4xx a refusal; a server's own trouble (5xx) and a detour (3xx) may end.
fn meaning(status: StatusCode) -> Meaning {
    match status.as_u16() {
        200..=299 => Meaning::Serving,
        400..=499 => Meaning::Refusal,
        _ => Meaning::NotYet,
    }
}

/// Without the number that the system's own text carries.
fn class(error: &io::Error) -> String {
    if error.raw_os_error().is_some() { error.kind().to_string() } else { error.to_string() }
}

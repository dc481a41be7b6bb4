//! Attacks that never come to HTTP/2: slow, without a certificate, or over at once.

use std::{sync::Arc, time::Duration};

use credgate_support::wire::Target;
use rustls::{ClientConnection, pki_types::ServerName};
use tokio::{io::AsyncWriteExt as _, time::interval};

use super::{End, refused, to_the_end};
use crate::{Caller, Ending, Link, Question};

/// A whole ClientHello, one byte at a time.
pub(super) async fn slow(target: &Target) -> End {
    let (mut reader, mut writer) = match target.connect_tcp().await {
        Ok(stream) => stream.into_split(),
        Err(error) => return refused(&error),
    };
    let mut sent = 0;
    let send = async {
        let mut ticks = interval(BETWEEN_BYTES);
        for byte in client_hello(target) {
            ticks.tick().await;
            if writer.write_all(&[byte]).await.is_err() {
                break;
            }
            sent += 1;
        }
        // Whoever came through says no more.
        std::future::pending::<()>().await
    };
    tokio::select! {
        () = send => {}
        () = to_the_end(&mut reader) => {}
    }
    End::closed(sent)
}

/// What TLS 1.3 lets a client believe until its first call.
pub(super) async fn without_certificate(caller: &Caller) -> End {
    let caller = caller.clone().without_certificate();
    match Link::open(&caller).await {
        Ok(link) => match link.ask(&Question::new("2000", None)).await {
            Ending::Cut(_) => End::closed(1),
            ending => End { sent: 1, how: format!("ANSWERED: {}", ending.label()) },
        },
        Err(_) => End::closed(1),
    }
}

/// A handshake for nothing.
pub(super) async fn churn(target: &Target) -> End {
    match target.connect().await {
        Ok(_) => End { sent: 1, how: "left".to_owned() },
        Err(error) => refused(&error),
    }
}

fn client_hello(target: &Target) -> Vec<u8> {
    let mut hello = Vec::new();
    let name = ServerName::try_from(target.server_name.clone());
    if let (Some(config), Ok(name)) = (&target.tls, name)
        && let Ok(mut client) = ClientConnection::new(Arc::clone(config), name)
    {
        // Writing to memory does not fail.
        let _ = client.write_tls(&mut hello);
    }
    hello
}

const BETWEEN_BYTES: Duration = Duration::from_millis(50);

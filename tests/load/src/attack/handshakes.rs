//! Attacks that never come to HTTP/2: slow, without a certificate, or over at once.

use std::time::Duration;

use credgate_support::wire::{Target, client_hello};
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

/// A whole ClientHello, and then nothing.
pub(super) async fn half(target: &Target) -> End {
    match target.connect_tcp().await {
        Ok(mut stream) => {
            let _ = stream.write_all(&client_hello(target)).await;
            to_the_end(&mut stream).await;
            End::closed(1)
        }
        Err(error) => refused(&error),
    }
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

const BETWEEN_BYTES: Duration = Duration::from_millis(50);

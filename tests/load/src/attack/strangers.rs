//! Attacks that never authenticate: silence before and after the handshake, and wrong tokens.

use credgate_support::{pki::Token, wire::Target};
use http::HeaderValue;

use super::{End, refused, to_the_end};
use crate::{Caller, Ending, Link, Question};

/// Says nothing until it is closed.
pub(super) async fn silent(target: &Target) -> End {
    match target.connect_tcp().await {
        Ok(mut stream) => {
            to_the_end(&mut stream).await;
            End::closed(1)
        }
        Err(error) => refused(&error),
    }
}

/// The same behind a whole handshake.
pub(super) async fn mute(target: &Target) -> End {
    match target.connect().await {
        Ok(mut stream) => {
            to_the_end(&mut *stream).await;
            End::closed(1)
        }
        Err(error) => refused(&error),
    }
}

/// One call after another, until the gateway has had enough.
pub(super) async fn bad_tokens(caller: &Caller) -> End {
    let mut caller = caller.clone();
    if let Ok(wrong) = HeaderValue::from_str(&Token::random().bearer()) {
        caller.headers().insert("authorization", wrong);
    }
    let link = match Link::open(&caller).await {
        Ok(link) => link,
        Err(error) => return End { sent: 0, how: error },
    };
    let mut sent = 0;
    loop {
        match link.ask(&Question::new("2000", None)).await {
            Ending::Status(status) if status == "UNAUTHENTICATED" => sent += 1,
            Ending::Cut(_) => return End::closed(sent),
            ending => return End { sent, how: format!("ANSWERED: {}", ending.label()) },
        }
    }
}

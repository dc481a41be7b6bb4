//! HTTP/2 frames made by hand (RFC 9113), for floods that a well-behaved client library holds back.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

/// Frame types (RFC 9113, section 6).
pub const DATA: u8 = 0;
/// Opens a stream.
pub const HEADERS: u8 = 1;
/// Ends a stream at once.
pub const RST_STREAM: u8 = 3;
/// Connection settings.
pub const SETTINGS: u8 = 4;
/// Asks for a sign of life.
pub const PING: u8 = 6;
/// Ends the connection after the streams that are open.
pub const GOAWAY: u8 = 7;

/// Error code CANCEL.
pub const CANCEL: u32 = 8;
/// Error code ENHANCE_YOUR_CALM.
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
    /// What it carries.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The error code of a RST_STREAM or GOAWAY frame.
    pub fn error_code(&self) -> Option<u32> {
        let at = match self.kind {
            RST_STREAM => 0,
            GOAWAY => 4,
            _ => return None,
        };
        Some(u32::from_be_bytes(self.payload.get(at..at + 4)?.try_into().unwrap()))
    }
}

/// Bytes of a frame before its payload.
pub const HEAD: usize = 9;

/// The client's preface and empty settings.
pub fn hello() -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &frame(SETTINGS, 0, 0, &[])].concat()
}

/// Any frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Opens a stream with literal, uncompressed header fields. `end` is END_STREAM.
pub fn headers(stream: u32, fields: &[(&str, &str)], end: bool) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        // Literal without indexing, new name (RFC 7541, section 6.2.2).
        block.push(0);
        for text in [name, value] {
            integer(&mut block, text.len());
            block.extend_from_slice(text.as_bytes());
        }
    }
    frame(HEADERS, END_HEADERS | u8::from(end), stream, &block)
}

/// Data of a stream. `end` is END_STREAM.
pub fn data(stream: u32, bytes: &[u8], end: bool) -> Vec<u8> {
    frame(DATA, u8::from(end), stream, bytes)
}

/// Ends a stream at once.
pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// The header fields of a gRPC call.
pub fn grpc_fields<'a>(path: &'a str, authorization: &'a str) -> [(&'a str, &'a str); 7] {
    [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("authorization", authorization),
    ]
}

/// Opens and resets `count` streams, `body` sent in between, as fast as the connection takes them. Returns how many were
/// sent before the other end stopped it, and the frames that came back.
pub async fn reset_flood(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    fields: &[(&str, &str)],
    body: &[u8],
    count: u32,
    bound: Duration,
) -> (u32, Vec<Frame>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut sent = 0;
    let send = async {
        writer.write_all(&hello()).await?;
        writer.write_all(&frame(SETTINGS, ACK, 0, &[])).await?;
        for number in 0..count {
            let id = number * 2 + 1;
            let one = [headers(id, fields, false), data(id, body, true), reset(id, CANCEL)].concat();
            writer.write_all(&one).await?;
            sent = number + 1;
        }
        writer.flush().await?;
        writer.shutdown().await
    };
    // The end of sending is no end: what was answered last is still to be read. An error means that it was cut off.
    let (frames, _) = timeout(bound, futures::future::join(read(&mut reader), send))
        .await
        .unwrap_or_else(|_| panic!("the flood has no end within {bound:?}"));
    (sent, frames)
}

/// Reads frames until the other end closes.
pub async fn read(reader: &mut (impl AsyncRead + Unpin)) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some(frame) = next(reader).await {
        frames.push(frame);
    }
    frames
}

/// Reads one frame; none when the other end has closed.
pub async fn next(reader: &mut (impl AsyncRead + Unpin)) -> Option<Frame> {
    let mut head = [0; HEAD];
    reader.read_exact(&mut head).await.ok()?;
    let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
    let stream = u32::from_be_bytes(head[5..9].try_into().unwrap()) & 0x7fff_ffff;
    let mut frame = Frame { kind: head[3], flags: head[4], stream, payload: vec![0; length] };
    reader.read_exact(&mut frame.payload).await.ok()?;
    Some(frame)
}

/// A length with a prefix of 7 bits (RFC 7541, section 5.1).
fn integer(block: &mut Vec<u8>, value: usize) {
    let Some(mut rest) = value.checked_sub(127) else {
        return block.push(u8::try_from(value).unwrap());
    };
    block.push(127);
    while rest >= 128 {
        block.push(u8::try_from(rest % 128).unwrap() | 128);
        rest /= 128;
    }
    block.push(u8::try_from(rest).unwrap());
}

const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

//! One small gRPC message out of a request body.
//!
//! tonic answers INTERNAL or OUT_OF_RANGE for what is the client's mistake, and decodes before the rate limiter could
//! speak; the contract wants INVALID_ARGUMENT, after it. Framing: "Length-Prefixed-Message" of the gRPC over HTTP/2
//! protocol description: one byte compressed flag, four bytes length, message.

use bytes::{Bytes, BytesMut};
use credgate_provider::Deadline;
use http_body::Body;
use http_body_util::BodyExt as _;
use prost::Message;

use crate::within::within;

/// Why a request cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Not a gRPC request, or a malformed grpc-timeout.
    #[error("malformed headers")]
    Headers,
    /// The stream ended without a message.
    #[error("no message")]
    NoMessage,
    /// More than 1024 bytes.
    #[error("message too large")]
    TooLarge,
    /// The compressed flag is set; we announce no encoding.
    #[error("compressed message")]
    Compressed,
    /// Wrong length, more than one message, or not the protobuf we know.
    #[error("undecodable message")]
    Undecodable,
    /// The deadline came before the message was whole, or nothing of it was left on arrival.
    #[error("message not complete within the deadline")]
    TooLate,
    /// The client reset the stream, or the connection broke.
    #[error("stream cut")]
    Cut,
}

/// Largest message in bytes. A node ID has at most 64; the rest is room for fields we do not know yet.
pub const LARGEST: usize = 1024;

const PREFIX: usize = 5;

/// Reads the whole body and decodes the one message in it.
pub async fn read<M, B>(body: B, deadline: Deadline) -> Result<M, BadRequest>
where
    M: Message + Default,
    B: Body<Data = Bytes> + Unpin,
{
    decode(&whole(body, deadline).await?)
}

/// Reads the whole body and hands it on as it came, once it is known to hold one message.
pub async fn judged<M, B>(body: B, deadline: Deadline) -> Result<Bytes, BadRequest>
where
    M: Message + Default,
    B: Body<Data = Bytes> + Unpin,
{
    let body = whole(body, deadline).await?;
    decode::<M>(&body).map(|_| body)
}

async fn whole<B: Body<Data = Bytes> + Unpin>(body: B, deadline: Deadline) -> Result<Bytes, BadRequest> {
    within(deadline, collect(body)).await.unwrap_or(Err(BadRequest::TooLate))
}

async fn collect<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<Bytes, BadRequest> {
    let mut whole = Bytes::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BadRequest::Cut)?.into_data() else { continue };
        if whole.len() + data.len() > PREFIX + LARGEST {
            return Err(BadRequest::TooLarge);
        }
        whole = if whole.is_empty() { data } else { join(&whole, &data) };
    }
    Ok(whole)
}

/// Clients send such a message in one frame; joining is the rare case.
fn join(one: &[u8], other: &[u8]) -> Bytes {
    let mut joined = BytesMut::with_capacity(one.len() + other.len());
    joined.extend_from_slice(one);
    joined.extend_from_slice(other);
    joined.freeze()
}

/// Decodes a body that holds exactly one message.
pub fn decode<M: Message + Default>(body: &[u8]) -> Result<M, BadRequest> {
    let (prefix, message) = match body.split_first_chunk::<PREFIX>() {
        Some(parts) => parts,
        None if body.is_empty() => return Err(BadRequest::NoMessage),
        None => return Err(BadRequest::Undecodable),
    };
    let [flag, length @ ..] = *prefix;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    match flag {
        _ if length > LARGEST => Err(BadRequest::TooLarge),
        1 => Err(BadRequest::Compressed),
        0 if length == message.len() => M::decode(message).map_err(|_| BadRequest::Undecodable),
        _ => Err(BadRequest::Undecodable),
    }
}

#[cfg(test)]
mod tests {
    use credgate_proto::LookupCredentialRequest;
    use proptest::prelude::*;

    use super::*;

    fn ask(body: &[u8]) -> Result<String, BadRequest> {
        decode::<LookupCredentialRequest>(body).map(|request| request.node_id)
    }

    #[test]
    fn exactly_one_uncompressed_message() {
        assert_eq!(ask(b"\0\0\0\0\x06\x0a\x042000"), Ok("2000".into()));
        assert_eq!(ask(b"\0\0\0\0\0"), Ok(String::new()));
        for (body, fault) in [
            (&b""[..], BadRequest::NoMessage),
            (b"\0\0\0", BadRequest::Undecodable),
            (b"\0\0\0\0\x07\x0a\x042000", BadRequest::Undecodable),
            (b"\0\0\0\0\x05\x0a\x042000", BadRequest::Undecodable),
            (b"\0\0\0\0\x06\x0a\x042000\0\0\0\0\0", BadRequest::Undecodable),
            (b"\x01\0\0\0\x06\x0a\x042000", BadRequest::Compressed),
            (b"\x02\0\0\0\x06\x0a\x042000", BadRequest::Undecodable),
            (b"\0\0\0\0\x03\x0a\x042", BadRequest::Undecodable),
            (b"\0\0\0\0\x03\x0a\x01\xff", BadRequest::Undecodable),
            (b"\0\xff\xff\xff\xff", BadRequest::TooLarge),
            (b"\0\0\0\x04\x01", BadRequest::TooLarge),
        ] {
            assert_eq!(ask(body), Err(fault), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_a_refusal(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = ask(&body);
        }

        #[test]
        fn every_node_id_arrives(node_id in ".{0,64}") {
            let message = LookupCredentialRequest { node_id: node_id.clone() }.encode_to_vec();
            let body = [&[0, 0, 0, 0, u8::try_from(message.len() & 0xff).unwrap()][..], &message].concat();
            prop_assume!(message.len() < 256);
            prop_assert_eq!(ask(&body), Ok(node_id));
        }
    }
}

//! A connection that never hears GOAWAY and never answers a PING: the client that keeps sending to a gateway that goes.

use credgate_support::{
    deployment::{Deployment, Identity},
    rawh2::Connection,
    wire::frames::{GOAWAY, PING},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, copy, duplex, split};

/// A raw connection of an identity, hard of hearing.
pub async fn deaf(deployment: &Deployment, address: std::net::SocketAddr, identity: &Identity) -> Connection {
    let stream = deployment.target(address, identity).connect().await.unwrap();
    Connection::over(Box::new(muffled(stream))).await.unwrap()
}

fn muffled(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> DuplexStream {
    let (near, far) = duplex(1 << 20);
    let (from_gateway, mut to_gateway) = split(stream);
    let (mut from_client, mut to_client) = split(far);
    tokio::spawn(async move {
        let _ = copy(&mut from_client, &mut to_gateway).await;
        to_gateway.shutdown().await
    });
    tokio::spawn(async move {
        let _ = pass(from_gateway, &mut to_client).await;
        to_client.shutdown().await
    });
    near
}

/// Hands frames on (RFC 9113, section 4.1), but for two kinds.
async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    let mut head = [0; 9];
    loop {
        from.read_exact(&mut head).await?;
        let [a, b, c, kind, ..] = head;
        let mut payload = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap()];
        from.read_exact(&mut payload).await?;
        if ![GOAWAY, PING].contains(&kind) {
            to.write_all(&head).await?;
            to.write_all(&payload).await?;
        }
    }
}

//! Floods and silence, against the `h2` crate's server.

use tokio::net::TcpListener;

use super::{frames::*, *};

const BOUND: Duration = Duration::from_secs(10);

/// Accepts one connection and counts the streams that arrive on it.
async fn counting_server() -> (SocketAddr, tokio::task::JoinHandle<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = tokio::spawn(async move {
        let mut connection = h2::server::handshake(listener.accept().await.unwrap().0).await.unwrap();
        let mut count = 0;
        loop {
            match connection.accept().await {
                Some(Ok(_)) => count += 1,
                Some(Err(error)) => return (count, error.to_string()),
                None => return (count, "closed".into()),
            }
        }
    });
    (address, count)
}

#[tokio::test]
async fn a_flood_is_sent_and_its_end_is_seen() {
    let (address, server) = counting_server().await;
    let stream = Target::plain(address).connect().await.unwrap();
    let long = "x".repeat(300);
    let (sent, frames) = reset_flood(stream, &grpc_fields("/a/b", &long), b"\0\0\0\0\0", 1_000_000, BOUND).await;
    let (_, error) = server.await.unwrap();
    assert!(error.contains("excessive load"), "{error}");
    assert!(sent < 1_000_000 && sent > 20, "{sent}");
    let last = frames.last().map(|frame| (frame.kind, frame.error_code()));
    assert!(last.is_none_or(|last| last == (GOAWAY, Some(ENHANCE_YOUR_CALM))), "{frames:?}");
}

#[tokio::test]
async fn hand_made_frames_are_understood() {
    let (address, server) = counting_server().await;
    let fields = grpc_fields("/a/b", "Bearer x");
    let request = [hello(), headers(1, &fields, false), data(1, b"\0\0\0\0\0", true), frame(GOAWAY, 0, 0, &[0; 8])];
    let mut stream = shout(address, &request.concat()).await.unwrap();
    assert_eq!(server.await.unwrap(), (1, "closed".to_owned()));
    let answered = read(&mut stream).await;
    assert!(answered.iter().any(|frame| frame.kind == SETTINGS), "{answered:?}");
}

#[tokio::test]
async fn silence_comes_from_any_address_and_its_end_is_seen() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut streams = silent(address, 3).await;
    for _ in 0..3 {
        drop(listener.accept().await.unwrap());
    }
    let closing = closed_within(&mut streams[2], BOUND).await;
    assert!(closing.error.is_none() && closing.received.is_empty(), "{closing:?}");

    let _other = Target::plain(address).from([127, 0, 0, 7]).connect_tcp().await.unwrap();
    assert_eq!(listener.accept().await.unwrap().1.ip(), IpAddr::from([127, 0, 0, 7]));
}

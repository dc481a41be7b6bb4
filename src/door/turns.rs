//! Turns: how much a connection takes in before its calls, and the other connections, have theirs.
//!
//! hyper reads for as long as there is something to read. A peer that sends without a pause would hold its thread for tens of
//! milliseconds, and pile up calls that nobody has begun (8 connections: 65 ms of PING frames, 48 MB of calls, measured). Whoever
//! has not authenticated has few of them.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Connection;

/// What is left of the turn of a connection, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Turn(Arc<AtomicUsize>);

/// A stream that reads no more than its turn.
pub(super) struct InTurns<S> {
    stream: S,
    turn: Turn,
    connection: Arc<Connection>,
    /// Turns that were used up before the caller had authenticated.
    of_stranger: u32,
}

/// Some 500 to 2,000 calls: enough that a flood of resets meets `pending_resets` within one turn.
const BYTES: usize = 128 * 1024;

/// A first call takes less than 2 KiB, 8 of the longest headers less than one turn.
const MOST_OF_STRANGER: u32 = 2;

impl Turn {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(BYTES)))
    }

    /// Begins the next one.
    pub(super) fn next(&self) {
        self.0.store(BYTES, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn spend(&self, bytes: usize) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_sub(bytes), Ordering::Relaxed);
    }

    /// A connection's stream that keeps it.
    pub(super) fn of<S>(&self, stream: S, connection: &Arc<Connection>) -> InTurns<S> {
        InTurns { stream, turn: self.clone(), connection: Arc::clone(connection), of_stranger: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for InTurns<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.turn.is_over() {
            if !self.connection.is_authenticated() {
                self.of_stranger += 1;
                if self.of_stranger >= MOST_OF_STRANGER {
                    return Poll::Ready(Err(io::Error::other("too much was sent without an authenticated RPC")));
                }
            }
            // The task comes again, behind those that wait.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.turn.spend(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for InTurns<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::door::{Peer, Strangers};

    fn connection() -> Connection {
        let address = std::net::IpAddr::from([127, 0, 0, 1]);
        let stranger = Strangers::default().enter(address.into());
        Connection::new(Peer::new(address, None), Arc::new(stranger), 8)
    }

    /// What is read in each turn until nothing is left, and the error that ended it.
    async fn turns(connection: Connection, bytes: usize) -> (Vec<usize>, Option<io::Error>) {
        let (mut peer, stream) = tokio::io::duplex(bytes);
        peer.write_all(&vec![0; bytes]).await.unwrap();
        let turn = Turn::new();
        let (mut stream, mut read, mut turns) =
            (turn.of(stream, &Arc::new(connection)), vec![0; BYTES / 8], Vec::new());
        loop {
            turn.next();
            let mut bytes = 0;
            while let Some(count) = stream.read(&mut read).now_or_never() {
                match count {
                    Ok(count) => bytes += count,
                    Err(error) => return (turns, Some(error)),
                }
            }
            if bytes == 0 {
                return (turns, None);
            }
            turns.push(bytes);
        }
    }

    #[tokio::test]
    async fn whoever_sends_without_a_pause_is_read_in_turns() {
        let known = connection();
        known.authenticated();
        let (turns, error) = turns(known, 5 * BYTES).await;
        assert_eq!((turns, error.is_none()), (vec![BYTES; 5], true));
    }

    #[tokio::test]
    async fn whoever_does_not_authenticate_has_few_turns() {
        let (read, error) = turns(connection(), 5 * BYTES).await;
        assert_eq!((read, error.is_some()), (vec![BYTES], true));
    }
}

//! A stream whose write errors are kept back until the other end's last words are read.
//!
//! A server that refuses a client sends an alert or a GOAWAY and closes. The next write then fails, and a client that
//! stops there never reads why: with TLS 1.3 that is a race which the alert loses now and then.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct LastWord<S>(pub(super) S);

impl<S: AsyncRead + Unpin> AsyncRead for LastWord<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

/// What cannot be written is swallowed: reading finds the end, and the reason before it.
impl<S: AsyncWrite + Unpin> AsyncWrite for LastWord<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf).map(|written| Ok(written.unwrap_or(buf.len())))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx).map(|_| Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx).map(|_| Ok(()))
    }
}

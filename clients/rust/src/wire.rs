//! The byte stream below HTTP/2, which remembers what it saw.
//!
//! hyper keeps the reason of a broken connection to itself, so the stream notes two facts on the way: that the server
//! has spoken HTTP/2, and how the stream ended. A refusal of the client certificate (TLS 1.3) shows up here first.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::watch,
};
use tokio_rustls::client::TlsStream;

use crate::{Cause, DialError, Step};

/// What has come from the server so far.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Nothing,
    /// The beginning of an HTTP/2 frame.
    Http2,
    /// The end.
    Ended(DialError),
}

pub(crate) struct Wire {
    stream: Stream,
    server_name: Option<ServerName<'static>>,
    seen: watch::Sender<Seen>,
    failed_write: Option<io::Error>,
}

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    pub(crate) fn new(stream: Stream, server_name: Option<ServerName<'static>>) -> (Self, watch::Receiver<Seen>) {
        let (seen, watcher) = watch::channel(Seen::Nothing);
        (Self { stream, server_name, seen, failed_write: None }, watcher)
    }

    fn note_bytes(&self, bytes: &[u8]) {
        let first = match &*self.seen.borrow() {
            Seen::Nothing => true,
            Seen::Http2 => false,
            Seen::Ended(_) => return,
        };
        if !first && !bytes.is_empty() {
            return;
        }
        // A server's first frame is SETTINGS (RFC 9113, section 3.4), far shorter than 2^16, so its first byte is zero.
        self.seen.send_replace(match bytes.first() {
            None => Seen::Ended(DialError::new(Step::Http2, Cause::Closed)),
            Some(0) => Seen::Http2,
            // The record type of a TLS alert (RFC 8446, section 5.1).
            Some(0x15) => Seen::Ended(DialError::refused(Step::Http2, "the server speaks TLS; leave plaintext out")),
            Some(_) => Seen::Ended(DialError::refused(Step::Http2, "the server does not speak HTTP/2")),
        });
    }

    fn note_error(&self, error: &io::Error) {
        if matches!(*self.seen.borrow(), Seen::Ended(_)) {
            return;
        }
        let copy = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(tls) => io::Error::new(error.kind(), tls.clone()),
            None => error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error),
        };
        self.seen.send_replace(Seen::Ended(DialError::io(Step::Http2, copy, self.server_name.as_ref())));
    }
}

impl Wire {
    /// A server that refuses us says why, closes, and resets the connection when more arrives from us. Our write may
    /// meet the reset first; the reason then still waits to be read, and hyper would not read it any more. So a write
    /// that failed is over only when the reads are.
    fn last_words(&mut self, cx: &mut Context<'_>, error: io::Error) -> Poll<io::Error> {
        let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionAborted];
        if !gone.contains(&error.kind()) {
            self.note_error(&error);
            return Poll::Ready(error);
        }
        let mut scratch = [0; 1024];
        for _ in 0..MOST_LAST_READS {
            let mut rest = ReadBuf::new(&mut scratch);
            match Pin::new(&mut *self).poll_read(cx, &mut rest) {
                Poll::Ready(Ok(())) if !rest.filled().is_empty() => {}
                Poll::Ready(_) => break,
                Poll::Pending => {
                    self.failed_write = Some(error);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(error)
    }

    /// Writes with `write`, unless an earlier write has failed.
    fn write<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut (dyn AsyncWrite + Send + Unpin)>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let error = match self.failed_write.take() {
            Some(error) => error,
            None => match ready!(write(self.stream.writer(), cx)) {
                Ok(done) => return Poll::Ready(Ok(done)),
                Err(error) => error,
            },
        };
        self.last_words(cx, error).map(Err)
    }
}

impl Stream {
    fn writer(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self {
            Self::Plain(stream) => Pin::new(stream),
            Self::Tls(stream) => Pin::new(stream),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = ready!(match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        });
        match &result {
            Ok(()) => self.note_bytes(&buf.filled()[before..]),
            Err(error) => self.note_error(error),
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.writer().poll_shutdown(cx)
    }
}

/// 16 KiB: far more than an alert, and no endless stream.
const MOST_LAST_READS: usize = 16;

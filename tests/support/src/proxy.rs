//! A TCP proxy that can be told to pass, delay, refuse, cut, or swallow everything silently, and to lead elsewhere.
//!
//! While it is a black hole it takes connections and bytes, and hands on neither them nor the end of a connection, as a
//! path that loses every packet; what was taken goes on when it heals, as if it had been sent again.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split},
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::Runtime,
    sync::{oneshot, watch},
    time::sleep,
};

/// The proxy. It ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: watch::Sender<State>,
    /// Threads of its own, so that it works however busy or blocked the test is.
    runtime: Option<Runtime>,
}

/// What it does with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Hands everything on.
    Pass,
    /// Hands everything on, later.
    Delay(Duration),
    /// Nobody listens at the address. Connections that there are live on.
    Refuse,
    /// Takes everything, hands on nothing.
    BlackHole,
}

#[derive(Clone, Copy, Debug)]
struct State {
    mode: Mode,
    target: SocketAddr,
    /// Connections older than the last cut end.
    cuts: u64,
}

impl Proxy {
    /// A proxy before `target`, on a port of its own.
    pub fn to(target: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (state, watch) = watch::channel(State { mode: Mode::Pass, target, cuts: 0 });
        let (tell, told) = oneshot::channel();
        runtime.spawn(serve(watch, tell));
        let address = told.blocking_recv_anywhere();
        Self { address, state, runtime: Some(runtime) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what it does; connections that there are feel it too.
    pub fn set(&self, mode: Mode) {
        self.state.send_modify(|state| state.mode = mode);
    }

    /// Ends every connection at once, with a reset on both sides.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }

    /// New connections lead elsewhere; those that there are stay.
    pub fn lead_to(&self, target: SocketAddr) {
        self.state.send_modify(|state| state.target = target);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Waiting for a moment is allowed on any thread here, a runtime's too.
trait BlockAnywhere<T> {
    fn blocking_recv_anywhere(self) -> T;
}

impl<T: Send> BlockAnywhere<T> for oneshot::Receiver<T> {
    fn blocking_recv_anywhere(self) -> T {
        std::thread::scope(|scope| scope.spawn(|| self.blocking_recv().unwrap()).join().unwrap())
    }
}

async fn serve(mut state: watch::Receiver<State>, tell: oneshot::Sender<SocketAddr>) {
    let mut listener = Some(listen((Ipv4Addr::LOCALHOST, 0).into()));
    let address = listener.as_ref().unwrap().local_addr().unwrap();
    tell.send(address).unwrap();
    loop {
        let refuses = state.borrow_and_update().mode == Mode::Refuse;
        match (&listener, refuses) {
            (Some(_), true) => listener = None,
            (None, false) => listener = Some(listen(address)),
            _ => {}
        }
        tokio::select! {
            changed = state.changed() => if changed.is_err() { return },
            accepted = accept(listener.as_ref()) => {
                tokio::spawn(connect(accepted, state.clone()));
            }
        }
    }
}

fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket.listen(1024).unwrap()
}

async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    loop {
        match listener {
            Some(listener) => {
                if let Ok((stream, _)) = listener.accept().await {
                    return stream;
                }
            }
            None => std::future::pending().await,
        }
    }
}

async fn connect(client: TcpStream, mut state: watch::Receiver<State>) {
    let cuts = state.borrow().cuts;
    let passed = pass(&mut state).await;
    let target = state.borrow().target;
    let server = match passed {
        true => TcpStream::connect(target).await.ok(),
        false => None,
    };
    let Some(server) = server else { return reset(client) };
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
        // A cut is a reset, not a goodbye.
        rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).unwrap();
    }
    let ((from_client, to_client), (from_server, to_server)) = (split(client), split(server));
    let mut cut = state.clone();
    tokio::select! {
        _ = cut.wait_for(|state| state.cuts > cuts) => {}
        _ = async { tokio::join!(
            pump(from_client, to_server, state.clone()),
            pump(from_server, to_client, state.clone()),
        ) } => {}
    }
}

fn reset(client: TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO));
}

/// Waits out a black hole; whether the proxy still lives.
async fn pass(state: &mut watch::Receiver<State>) -> bool {
    state.wait_for(|state| state.mode != Mode::BlackHole).await.is_ok()
}

async fn pump(mut from: ReadHalf<TcpStream>, mut to: WriteHalf<TcpStream>, mut state: watch::Receiver<State>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer).await.unwrap_or(0);
        let mode = state.borrow().mode;
        if let Mode::Delay(time) = mode {
            sleep(time).await;
        }
        if !pass(&mut state).await || count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            let _ = to.shutdown().await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read, Write},
        net,
    };

    use super::*;

    fn echo() -> SocketAddr {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut { stream }));
            }
        });
        address
    }

    fn say(stream: &mut net::TcpStream, word: &[u8]) -> std::io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        stream.write_all(word)?;
        let mut heard = vec![0; word.len()];
        stream.read_exact(&mut heard)?;
        Ok(heard)
    }

    #[test]
    fn it_does_as_it_is_told() {
        let proxy = Proxy::to(echo());
        let mut stream = net::TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(say(&mut stream, b"one").unwrap(), b"one");
        proxy.set(Mode::BlackHole);
        assert_eq!(say(&mut stream, b"two").unwrap_err().kind(), ErrorKind::WouldBlock);
        proxy.set(Mode::Pass);
        let mut late = [0; 3];
        stream.read_exact(&mut late).unwrap();
        assert_eq!(&late, b"two");
        proxy.cut();
        assert!(say(&mut stream, b"three").is_err());
        proxy.set(Mode::Refuse);
        let refused = || net::TcpStream::connect(proxy.address()).map(drop);
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while refused().is_ok() {
            assert!(std::time::Instant::now() < end);
        }
        assert_eq!(refused().unwrap_err().kind(), ErrorKind::ConnectionRefused);
        proxy.set(Mode::Pass);
        while refused().is_err() {
            assert!(std::time::Instant::now() < end);
        }
    }
}

//! The provider's end of the line. Plain threads: a runtime that a behaviour keeps busy must still be told to stop.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use serde_json::json;

use super::state::State;

/// Listens, and serves each connection on a thread of its own for as long as the process lives.
pub(super) fn listen(address: SocketAddr, state: Arc<State>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    thread::Builder::new().name("scripted-control".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            thread::spawn(move || serve(&stream, &state));
        }
    })?;
    Ok(bound)
}

fn serve(stream: &TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream;
    for line in BufReader::new(stream).lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => json!(state.obey(request)),
            Err(error) => json!({ "error": error.to_string() }),
        };
        writer.write_all(format!("{answer}\n").as_bytes())?;
    }
    Ok(())
}

//! What is read: a gateway's readiness over gRPC, or a page over HTTP; and how the command line names it.
//!
//! Options that say who asks are given once for all addresses, or once for each, in the addresses' order.

use std::{fmt, path::PathBuf, time::Duration};

use clap::Args;
use credgate_client::{Endpoint, Settings};
use http::Uri;

/// The part of the command line that `check-source` and `await` share.
#[derive(Args, Debug)]
pub struct Reads {
    /// What to read: HOST:PORT of a gateway's control listener, or http://HOST:PORT/PATH
    #[arg(long, value_name = "ADDRESS", required = true)]
    addr: Vec<String>,

    /// CA file of the gateway's certificate (PEM)
    #[arg(long, value_name = "FILE")]
    ca: Vec<PathBuf>,

    /// File with the bearer token
    #[arg(long, value_name = "FILE")]
    token_file: Vec<PathBuf>,

    /// Client certificate (PEM), for a gateway with `tls.client_ca`
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Vec<PathBuf>,

    /// Private key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Vec<PathBuf>,

    /// Name in the gateway's certificate [default: the host of --addr]
    #[arg(long, value_name = "HOST")]
    server_name: Vec<String>,

    /// The longest one read may take, everything included
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = credgate_client::Arguments::parse_timeout)]
    pub timeout: Duration,

    /// No TLS; loopback addresses only
    #[arg(long, conflicts_with_all = ["ca", "cert", "key", "server_name"])]
    plaintext: bool,
}

/// One address, ready to be read any number of times.
#[derive(Clone, Debug)]
pub enum Target {
    /// The health service of a gateway.
    Gateway(Endpoint),
    /// A page whose status is the answer.
    Page(Page),
}

/// `http://HOST:PORT/PATH`.
#[derive(Clone, Debug)]
pub struct Page {
    /// A name or an IP address without brackets.
    pub host: String,
    /// 80 unless it was given.
    pub port: u16,
    /// `HOST:PORT`, as the `Host` header carries it.
    pub authority: String,
    /// With the query, which is never shown: it may hold a secret.
    pub path: String,
}

impl Reads {
    /// The targets in the order of the addresses; files are read here, once.
    pub fn targets(&self) -> Result<Vec<Target>, String> {
        let gateways = self.addr.iter().filter(|address| !is_url(address)).count();
        let mut number = 0;
        let mut targets = Vec::new();
        for address in &self.addr {
            if is_url(address) {
                targets.push(Target::Page(page(address)?));
                continue;
            }
            let settings = self.settings(address, number, gateways)?;
            number += 1;
            targets.push(Target::Gateway(Endpoint::prepare(&settings).map_err(|error| {
                let sentences: Vec<_> = error.problems().iter().map(credgate_client::Arguments::problem).collect();
                sentences.join("; ")
            })?));
        }
        Ok(targets)
    }

    /// Of gateway `number` among so many.
    fn settings(&self, address: &str, number: usize, gateways: usize) -> Result<Settings, String> {
        let token_file = choose("--token-file", &self.token_file, number, gateways)?;
        Ok(Settings {
            address: address.to_owned(),
            ca: choose("--ca", &self.ca, number, gateways)?,
            cert: choose("--cert", &self.cert, number, gateways)?,
            key: choose("--key", &self.key, number, gateways)?,
            server_name: choose("--server-name", &self.server_name, number, gateways)?,
            token_file: token_file.ok_or("missing: --token-file <FILE>; see --help")?,
            plaintext: self.plaintext,
        })
    }
}

fn choose<T: Clone>(option: &str, given: &[T], number: usize, gateways: usize) -> Result<Option<T>, String> {
    match given.len() {
        0 => Ok(None),
        1 => Ok(Some(given[0].clone())),
        times if times == gateways => Ok(Some(given[number].clone())),
        times => Err(format!(
            "{option} is given {times} times for {gateways} gateways; give it once for all, or once for each, in the order of their --addr"
        )),
    }
}

/// As it was given, without a URL's query.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(endpoint) => endpoint.fmt(f),
            Self::Page(page) => {
                let path = page.path.split('?').next().unwrap_or_default();
                write!(f, "http://{}{path}", page.authority)
            }
        }
    }
}

fn is_url(address: &str) -> bool {
    address.contains("://")
}

fn page(address: &str) -> Result<Page, String> {
    let wrong = |text: &str| format!("--addr: {text}; expected HOST:PORT or http://HOST:PORT/PATH");
    let uri: Uri = address.parse().map_err(|_| wrong("not a URL"))?;
    if uri.scheme_str() != Some("http") {
        return Err(wrong("a URL of another kind than http"));
    }
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
    let authority = authority.ok_or_else(|| wrong("a URL with a user name, or without a host"))?;
    let port = authority.port_u16().unwrap_or(80);
    if authority.host().is_empty() || port == 0 || authority.as_str().ends_with(':') {
        return Err(wrong("a URL without a host or a usable port"));
    }
    Ok(Page {
        host: authority.host().trim_matches(['[', ']']).to_owned(),
        port,
        authority: authority.to_string(),
        path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_nonsense() {
        for (url, host, port, shown) in [
            ("http://127.0.0.1:9464/healthz/ready", "127.0.0.1", 9464, "http://127.0.0.1:9464/healthz/ready"),
            ("http://localhost", "localhost", 80, "http://localhost/"),
            ("http://[::1]:81/a?token=canary", "::1", 81, "http://[::1]:81/a"),
        ] {
            let page = page(url).unwrap();
            assert_eq!((page.host.as_str(), page.port), (host, port));
            assert_eq!(Target::Page(page).to_string(), shown);
        }
        for bad in ["https://a:1/", "http://", "http://:80/", "http://u:canary@a/", "http://a:0/", "http://a b/", "://"]
        {
            let text = page(bad).unwrap_err();
            assert!(text.starts_with("--addr: ") && !text.contains("canary"), "{bad}: {text}");
        }
    }

    #[test]
    fn an_option_is_given_once_or_once_for_each() {
        assert_eq!(choose::<u8>("--ca", &[], 1, 2), Ok(None));
        assert_eq!(choose("--ca", &[7], 1, 2), Ok(Some(7)));
        assert_eq!(choose("--ca", &[7, 8], 1, 2), Ok(Some(8)));
        assert!(choose("--ca", &[7, 8], 1, 3).unwrap_err().starts_with("--ca is given 2 times for 3 gateways"));
    }
}

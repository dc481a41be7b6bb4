//! Reading the gateway's Prometheus page (text format 0.0.4) over plain HTTP.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{interval, timeout},
};

/// One page.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// As it came.
    pub text: String,
    /// What it says.
    pub samples: Vec<Sample>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

/// Fetches `/metrics`.
pub async fn scrape(address: SocketAddr) -> Metrics {
    let (status, text) = get(address, "/metrics").await;
    assert_eq!(status, 200, "{text}");
    Metrics::parse(text)
}

/// Fetches pages until one fits.
pub async fn wait_for(address: SocketAddr, fits: impl Fn(&Metrics) -> bool, bound: Duration) -> Metrics {
    let begin = Instant::now();
    let mut ticks = interval(PERIOD);
    loop {
        ticks.tick().await;
        let metrics = scrape(address).await;
        if fits(&metrics) {
            return metrics;
        }
        assert!(begin.elapsed() < bound, "no metrics as expected within {bound:?}; the last ones:\n{}", metrics.text);
    }
}

/// HTTP/1.1 GET: status and body. Also for `/healthz/live` and `/healthz/ready`.
pub async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        std::io::Result::Ok(String::from_utf8(answer).unwrap())
    };
    let answer = timeout(BOUND, exchange).await.unwrap_or_else(|_| panic!("GET {path}: no answer within {BOUND:?}"));
    let answer = answer.unwrap_or_else(|error| panic!("GET {path}: {error}"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("GET {path}: {answer}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { dechunked(body) } else { body.to_owned() };
    (status.unwrap_or_else(|| panic!("GET {path}: {head}")), body)
}

impl Metrics {
    /// Reads a page.
    pub fn parse(text: String) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let samples = lines.map(|line| sample(line).unwrap_or_else(|| panic!("no sample: {line}"))).collect();
        Self { text, samples }
    }

    /// The one sample of this name that carries these labels, among others.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let found: Vec<&Sample> = self.select(name, labels).collect();
        assert!(found.len() < 2, "{name} {labels:?} is not one sample: {found:?}");
        found.first().map(|sample| sample.value)
    }

    /// The sum of all samples of this name that carry these labels, among others; 0 when there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.select(name, labels).map(|sample| sample.value).sum()
    }

    fn select(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| {
            sample.name == name
                && labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|found| found == value))
        })
    }
}

/// `name{key="value",…} 1.5`
fn sample(line: &str) -> Option<Sample> {
    let name_end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(name_end);
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (key, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.insert(key.to_owned(), value);
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

/// Up to the closing quote; `\\`, `\"` and `\n` are escapes.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

fn dechunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16).unwrap();
        text.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    text
}

const PERIOD: Duration = Duration::from_millis(20);
const BOUND: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read() {
        let page =
            "# HELP x y\n# TYPE x counter\nx 3\ny{a=\"1\",b=\"q\\\"\\\\\"} 1.5e3\ny{a=\"2\",b=\"z\"} 2 1700000000\n\n";
        let metrics = Metrics::parse(page.to_owned());
        assert_eq!(metrics.value("x", &[]), Some(3.0));
        assert_eq!(metrics.value("y", &[("b", "q\"\\")]), Some(1500.0));
        assert_eq!(metrics.sum("y", &[]), 1502.0);
        assert_eq!(metrics.value("y", &[("a", "3")]), None);
        assert_eq!(dechunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), "abcde");
    }
}

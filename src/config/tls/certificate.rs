//! Whether certificates are what their place asks for: a leaf that serves, its chain in order, CAs that sign.

use std::time::{Duration, SystemTime};

use credgate_files::Certificates;
use credgate_provider::settings::Section;
use x509_parser::prelude::*;

use crate::door::Certificate;

/// A certificate that ends sooner is a warning at start.
const SOON: Duration = Duration::from_secs(30 * 24 * 3600);

/// Judges `tls.cert`; returns when the leaf ends.
pub fn judge_chain(section: &Section<'_>, chain: &Certificates, now: SystemTime) -> Option<SystemTime> {
    let parsed = parse(section, "cert", chain)?;
    let leaf = parsed.first()?;
    let say = |text: String| section.problem("cert", format!("{}: {text}", chain.loaded.path().display()));
    if is_ca(leaf) && leaf.issuer() == leaf.subject() {
        say(format!(
            "the first certificate ({}) is a CA, not a server's; put the server's certificate first",
            leaf.subject()
        ));
    } else if is_ca(leaf) {
        say(format!(
            "the first certificate ({}) is an intermediate CA; put the server's certificate first",
            leaf.subject()
        ));
    }
    if let Ok(Some(usage)) = leaf.extended_key_usage()
        && !(usage.value.server_auth || usage.value.any)
    {
        say("the certificate is not for servers (extended key usage has no serverAuth)".into());
    }
    for (index, pair) in parsed.windows(2).enumerate() {
        if let [one, next] = pair
            && one.issuer() != next.subject()
        {
            let (one, next) = (index + 1, index + 2);
            say(format!("certificate {next} did not issue certificate {one}; the order is server, then each issuer"));
        }
    }
    for (index, certificate) in parsed.iter().enumerate() {
        judge_validity(section, "cert", chain, index, certificate, now);
    }
    end(leaf)
}

/// Judges `tls.client_ca`; returns when each CA ends.
pub fn judge_roots(section: &Section<'_>, roots: &Certificates, now: SystemTime) -> Vec<SystemTime> {
    let Some(parsed) = parse(section, "client_ca", roots) else { return Vec::new() };
    for (index, root) in parsed.iter().enumerate() {
        // Version 1 certificates have no extensions, and old private CAs are such.
        if !is_ca(root) && root.version() == X509Version::V3 {
            let (path, subject) = (roots.loaded.path().display(), root.subject());
            section.problem(
                "client_ca",
                format!("{path}: certificate {} ({subject}) is not a CA; it takes the CA that issued the clients' certificates", index + 1),
            );
        }
        judge_validity(section, "client_ca", roots, index, root, now);
    }
    parsed.iter().filter_map(end).collect()
}

fn parse<'a>(section: &Section<'_>, key: &str, file: &'a Certificates) -> Option<Vec<X509Certificate<'a>>> {
    let mut parsed = Vec::new();
    for (index, der) in file.chain.iter().enumerate() {
        match X509Certificate::from_der(der) {
            Ok((_, certificate)) => parsed.push(certificate),
            Err(_) => {
                let path = file.loaded.path().display();
                section.problem(key, format!("{path}: certificate {} is not a readable X.509 certificate", index + 1));
            }
        }
    }
    (parsed.len() == file.chain.len()).then_some(parsed)
}

fn judge_validity(
    section: &Section<'_>,
    key: &str,
    file: &Certificates,
    index: usize,
    certificate: &X509Certificate<'_>,
    now: SystemTime,
) {
    let Some(Certificate { validity: (begin, end), .. }) =
        file.chain.get(index).and_then(|der| Certificate::parse(der))
    else {
        return;
    };
    let validity = certificate.validity();
    let who = format!("{}: certificate {} ({})", file.loaded.path().display(), index + 1, certificate.subject());
    if now > end {
        section.problem(key, format!("{who} expired on {}", validity.not_after));
    } else if now < begin {
        section.problem(key, format!("{who} is not valid before {}; is the clock right?", validity.not_before));
    } else if end.duration_since(now).is_ok_and(|left| left < SOON) {
        section.warning(key, format!("{who} expires on {}", validity.not_after));
    }
}

fn is_ca(certificate: &X509Certificate<'_>) -> bool {
    matches!(certificate.basic_constraints(), Ok(Some(constraints)) if constraints.value.ca)
}

fn end(certificate: &X509Certificate<'_>) -> Option<SystemTime> {
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

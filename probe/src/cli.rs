//! The command line, and one sentence for each way to get it wrong. No sentence repeats a value: it may be a secret that
//! was typed in the wrong place.

use clap::{
    Parser, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// Ask a credgate gateway for its health. Exit code 0: SERVING; 1: everything else.
#[derive(Debug, Parser)]
#[command(name = "credgate-probe", version, after_help = EXAMPLE)]
pub struct Arguments {
    /// What to ask for
    pub name: Name,

    /// Which gateway, and as whom
    #[command(flatten)]
    pub gateway: credgate_client::Arguments,
}

/// The health names of the gateway.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Name {
    /// Configuration, provider and the first backend check passed
    Startup,
    /// The process works, whatever its backend does
    Liveness,
    /// Lookups can be answered
    Readiness,
}

const EXAMPLE: &str = "Example:
  credgate-probe readiness --addr 127.0.0.1:7444 --ca ca.pem \\
    --token-file probe.token --cert probe.pem --key probe.key

For whoever replaces a gateway; each has a --help of its own:
  credgate-probe check-source   ask once whether what is to be replaced serves
  credgate-probe await          wait until a new process serves, or never will
  credgate-probe waits          list the open waits";

impl Name {
    /// As it stands in the request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
        }
    }
}

/// What clap found, on one line.
pub fn sentence(error: &clap::Error) -> String {
    let named: Vec<&str> = error.context().filter_map(|(kind, value)| argument(kind, value)).flatten().collect();
    let arguments = named.join(", ");
    let text = match error.kind() {
        ErrorKind::MissingRequiredArgument => format!("missing: {arguments}"),
        ErrorKind::ArgumentConflict => format!("these exclude each other, or one is given twice: {arguments}"),
        ErrorKind::UnknownArgument => return format!("unknown argument{}; see --help", flag(&arguments)),
        ErrorKind::InvalidValue if arguments.contains("NAME") => {
            "no usable value for <NAME>: startup, liveness or readiness".into()
        }
        _ => format!("no usable value for {arguments}"),
    };
    format!("{text}; see --help")
}

fn argument(kind: ContextKind, value: &ContextValue) -> Option<Vec<&str>> {
    if !matches!(kind, ContextKind::InvalidArg | ContextKind::PriorArg) {
        return None;
    }
    match value {
        ContextValue::String(one) => Some(vec![one]),
        ContextValue::Strings(many) => Some(many.iter().map(String::as_str).collect()),
        _ => None,
    }
}

/// An unknown argument is the caller's text: only what looks like a flag is repeated, without a value behind `=`.
fn flag(given: &str) -> String {
    let name = given.split('=').next().unwrap_or_default();
    let plain = name.starts_with('-') && name.len() <= 20 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    if plain { format!(" {name}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(words: &str) -> String {
        let words = ["credgate-probe"].into_iter().chain(words.split_whitespace());
        sentence(&Arguments::try_parse_from(words).unwrap_err())
    }

    #[test]
    fn every_mistake_is_one_line_without_the_value() {
        for (words, wanted) in [
            ("", "missing: --addr <HOST:PORT>, --token-file <FILE>, --ca <FILE>, <NAME>"),
            ("readiness --addr a:1", "missing: --token-file <FILE>, --ca <FILE>; see --help"),
            ("readiness --addr a:1 --token-file t --ca c --plaintext", "exclude each other"),
            ("readiness --addr a:1 --token-file t --ca c --cert c", "missing: --key <FILE>"),
            ("readiness --addr a:1 --token-file t --ca c --timeout canary", "no usable value for --timeout <TIME>"),
            ("readiness --addr a:1 --token-file t --ca c --timeout 0s", "no usable value for --timeout <TIME>"),
            ("readiness --addr a:1 --token-file t --ca", "no usable value for --ca <FILE>"),
            ("canary --addr a:1", "no usable value for <NAME>"),
            ("readiness --token=canary", "unknown argument --token; see --help"),
            ("readiness canary", "unknown argument; see --help"),
            ("readiness --addr a:1 --addr b:1", "--addr <HOST:PORT>"),
        ] {
            let sentence = refusal(words);
            assert!(sentence.contains(wanted), "{words}: {sentence}");
            assert!(!sentence.contains('\n') && !sentence.contains("canary"), "{words}: {sentence}");
        }
    }
}

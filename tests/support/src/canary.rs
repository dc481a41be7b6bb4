//! Secrets that must appear nowhere: not in a log, an output, a metrics page, whatever they are encoded as.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};

/// Secrets to look for.
#[derive(Clone)]
pub struct Canary {
    /// Each secret's forms, with the form's name.
    forms: Vec<Vec<(&'static str, String)>>,
}

impl Canary {
    /// Looks for these secrets. One of fewer than 6 characters would be found by chance.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self { forms: secrets.into_iter().map(|secret| forms(secret.as_ref())).collect() }
    }

    /// Fails the test when a text holds one of them, in any form. Shows the line with the secret blotted out.
    #[track_caller]
    pub fn absent_from(&self, what: &str, text: &str) {
        if let Some(found) = self.find(text) {
            panic!("{what} holds {found}");
        }
    }

    /// Where a text holds one of them: number of the secret, form, line.
    pub fn find(&self, text: &str) -> Option<String> {
        let folded = text.to_ascii_lowercase();
        for (number, forms) in self.forms.iter().enumerate() {
            for (form, needle) in forms {
                let (hay, needle) = match *form {
                    "hex" | "percent-encoded" => (folded.as_str(), needle.to_ascii_lowercase()),
                    _ => (text, needle.clone()),
                };
                let Some(at) = hay.find(&needle) else { continue };
                let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
                let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
                let line = format!("{}█{}", &text[begin..at], text.get(at + needle.len()..end).unwrap_or_default());
                return Some(format!("secret {number}, {form}, in this line: {line}"));
            }
        }
        None
    }
}

impl std::fmt::Debug for Canary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Canary({})", self.forms.len())
    }
}

fn forms(secret: &str) -> Vec<(&'static str, String)> {
    assert!(secret.len() >= SHORTEST, "a secret of {} bytes is no canary", secret.len());
    let bytes = secret.as_bytes();
    let once = escaped(secret);
    let mut forms = vec![
        ("plain", secret.to_owned()),
        ("doubly escaped", escaped(&once)),
        ("escaped", once),
        ("hex", bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        ("percent-encoded", percent(bytes, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))),
        ("percent-encoded", percent(bytes, |_| false)),
        ("bytes", bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")),
    ];
    for offset in 0..3 {
        forms.push(("base64", base64(&BASE64_STANDARD, bytes, offset)));
        forms.push(("base64", base64(&BASE64_URL_SAFE, bytes, offset)));
    }
    forms
}

/// Inside the quotes of a JSON text.
fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The part of the encoding that the secret alone decides, when `offset` other bytes stand before it.
fn base64(engine: &impl Engine, secret: &[u8], offset: usize) -> String {
    let padded = [&vec![0; offset], secret].concat();
    let text = engine.encode(&padded);
    let (begin, end) = ((offset * 8).div_ceil(6), padded.len() * 8 / 6);
    text[begin..end].to_owned()
}

fn percent(bytes: &[u8], plain: impl Fn(u8) -> bool) -> String {
    let one = |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    bytes.iter().map(one).collect()
}

const SHORTEST: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s3cr\"t/%+?ü";

    fn found(text: &str) -> bool {
        Canary::new(["another one", SECRET]).find(text).is_some()
    }

    #[test]
    fn every_form_is_found() {
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02X}")).collect();
        for text in [
            format!("a\nb {SECRET} c\n"),
            serde_json::to_string(&format!("x{SECRET}")).unwrap(),
            serde_json::to_string(&format!("{:?}", format!("x{SECRET}"))).unwrap(),
            hex,
            "user:s3cr%22t%2f%25%2B%3F%c3%bc@host".to_owned(),
            format!("{:?}", SECRET.as_bytes()),
            BASE64_STANDARD.encode(SECRET),
            BASE64_STANDARD.encode(format!("p{SECRET}q")),
            BASE64_URL_SAFE.encode(format!("pq{SECRET}rst")),
        ] {
            assert!(found(&text), "{text}");
        }
        assert!(!found("nothing of that kind, s3cr or t/%+?"));
    }

    #[test]
    fn the_message_shows_the_line_and_no_secret() {
        let message = Canary::new(["hush-hush"]).find("first\npassword=hush-hush now\nlast").unwrap();
        assert_eq!(message, "secret 0, plain, in this line: password=█ now");
    }
}

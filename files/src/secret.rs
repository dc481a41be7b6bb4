//! Secrets that stand in files: tokens, database URLs, keys for plugins.
//!
//! Exactly one trailing line ending is removed, since editors and `echo` add one. Anything else that is odd is refused
//! and not guessed at: a blank that was trimmed silently is a login that fails for no visible reason.

use std::{fmt, ops::RangeInclusive, path::Path};

use zeroize::Zeroizing;

use crate::{FileError, Loaded, loaded::read};

/// Length of a bearer token in characters. 32 characters of base64 are 192 bits, the least that makes a plain SHA-256
/// of it safe to publish; `credgate token new` makes 52.
pub const TOKEN_LENGTH: RangeInclusive<usize> = 32..=512;

/// One secret and the file it came from.
pub struct Secret {
    text: Zeroizing<String>,
    loaded: Loaded,
}

impl Secret {
    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The file it came from.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("path", &self.loaded.path()).finish_non_exhaustive()
    }
}

/// Reads a secret of any length: text without blanks or control characters.
pub fn read_secret(path: &Path) -> Result<Secret, FileError> {
    let (bytes, loaded) = read(path)?;
    let text = judge(&bytes).map_err(|fault| FileError::content(path, fault))?;
    Ok(Secret { text: Zeroizing::new(text.to_owned()), loaded })
}

/// Reads a bearer token: a secret of [`TOKEN_LENGTH`] characters of printable ASCII.
pub fn read_token(path: &Path) -> Result<Secret, FileError> {
    let secret = read_secret(path)?;
    if !secret.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(FileError::content(path, "holds characters that are not ASCII, so it is not a token"));
    }
    let length = secret.expose().len();
    if !TOKEN_LENGTH.contains(&length) {
        let (least, most) = (TOKEN_LENGTH.start(), TOKEN_LENGTH.end());
        return Err(FileError::content(
            path,
            format!("holds {length} characters; a token has {least} to {most} (`credgate token new` makes one)"),
        ));
    }
    Ok(secret)
}

fn judge(bytes: &[u8]) -> Result<&str, &'static str> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err("begins with a byte order mark; save it as UTF-8 without one");
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
    let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    if text.is_empty() {
        return Err("is empty");
    }
    if text.contains(['\n', '\r']) {
        return Err("holds more than one line; exactly one line ending at the end is allowed");
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("holds blanks or control characters, which no secret here may have");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_line_ending_is_removed() {
        for (given, wanted) in [
            ("abc", Some("abc")),
            ("abc\n", Some("abc")),
            ("abc\r\n", Some("abc")),
            ("abc\n\n", None),
            ("abc\r", None),
            ("\u{feff}abc", None),
            ("ab c", None),
            (" abc", None),
            ("abc ", None),
            ("", None),
            ("\n", None),
            ("a\tb", None),
            ("a\0b", None),
        ] {
            assert_eq!(judge(given.as_bytes()).ok(), wanted, "{given:?}");
        }
        assert!(judge(b"\xff\xfea\0").is_err());
    }

    #[test]
    fn a_refused_token_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("registrar.token");
        for content in
            ["canary", "canary with blanks that is longer than thirty-two", "canaryé_longer_than_thirty_two_characters"]
        {
            std::fs::write(&path, content).unwrap();
            let error = read_token(&path).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains("registrar.token") && !text.contains("canary"), "{text}");
        }
        std::fs::write(&path, format!("{}\n", "x".repeat(32))).unwrap();
        let token = read_token(&path).unwrap();
        assert_eq!(token.expose().len(), 32);
        assert!(!format!("{token:?}").contains("xxx"));
    }
}

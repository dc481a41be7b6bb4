//! Stored passwords: which may be handed out, and how they are kept from sight.

use std::fmt;

use zeroize::Zeroizing;

/// A password that may be handed out. It shows itself to nobody who does not ask by name, and is wiped when dropped.
#[derive(Clone)]
pub struct Password(Zeroizing<Box<str>>);

impl Password {
    /// The password itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// Which stored passwords are usable: 1 to `max_bytes` bytes of printable ASCII (0x20 to 0x7e), not only spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordRule {
    /// The most bytes: 1 to [`PasswordRule::LONGEST`].
    pub max_bytes: usize,
}

/// Why a stored password is not usable. Says nothing about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordFault {
    /// No byte at all: it must never come to mean "any password works".
    #[error("the password is empty")]
    Empty,
    /// Nothing but spaces.
    #[error("the password is only spaces")]
    OnlySpaces,
    /// Longer than the rule allows.
    #[error("the password is longer than {0} bytes (lookup.password.max_bytes)")]
    TooLong(usize),
    /// A byte outside 0x20 to 0x7e.
    #[error("the password holds a character that is not printable ASCII")]
    NotPrintable,
}

impl Default for PasswordRule {
    fn default() -> Self {
        Self { max_bytes: Self::DEFAULT }
    }
}

impl PasswordRule {
    /// 79 bytes: the limit of deployed node software (its buffer of 80 with the closing zero).
    pub const DEFAULT: usize = 79;
    /// 255 bytes: what the length byte of an IAX2 information element can carry (RFC 5456, section 8.6).
    pub const LONGEST: usize = 255;

    /// Takes a stored value, byte for byte as it is.
    pub fn parse(self, stored: &[u8]) -> Result<Password, PasswordFault> {
        self.judge(stored).map(|text| Password(Zeroizing::new(text.into())))
    }

    /// Judges a stored value without a copy of it.
    pub fn judge(self, stored: &[u8]) -> Result<&str, PasswordFault> {
        if stored.is_empty() {
            return Err(PasswordFault::Empty);
        }
        if stored.len() > self.max_bytes {
            return Err(PasswordFault::TooLong(self.max_bytes));
        }
        let text = std::str::from_utf8(stored).map_err(|_| PasswordFault::NotPrintable)?;
        if !text.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) {
            return Err(PasswordFault::NotPrintable);
        }
        if text.bytes().all(|byte| byte == b' ') {
            return Err(PasswordFault::OnlySpaces);
        }
        Ok(text)
    }
}

/// Reads the optional `enabled` column: true, false, 1, 0, yes, no in any case. Anything else is a corrupt record.
pub fn parse_enabled(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_passwords_are_returned_exactly() {
        let rule = PasswordRule::default();
        for good in ["a", "abc ", " abc", "~!\"#,;", &"x".repeat(79)] {
            assert_eq!(rule.parse(good.as_bytes()).unwrap().expose(), good);
        }
        for (bad, fault) in [
            (&b""[..], PasswordFault::Empty),
            (b" ", PasswordFault::OnlySpaces),
            (b"   ", PasswordFault::OnlySpaces),
            (b"a\tb", PasswordFault::NotPrintable),
            (b"a\x7f", PasswordFault::NotPrintable),
            ("é".as_bytes(), PasswordFault::NotPrintable),
            (b"\xff", PasswordFault::NotPrintable),
            (&[b'x'; 80], PasswordFault::TooLong(79)),
        ] {
            assert_eq!(rule.parse(bad).unwrap_err(), fault, "{bad:?}");
        }
        assert!(PasswordRule { max_bytes: 255 }.parse(&[b'x'; 255]).is_ok());
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", PasswordRule::default().parse(b"canary").unwrap()), "Password");
    }

    #[test]
    fn enabled_has_six_words() {
        for (text, wanted) in [
            ("true", Some(true)),
            ("YES", Some(true)),
            ("1", Some(true)),
            ("False", Some(false)),
            ("no", Some(false)),
            ("0", Some(false)),
            ("", None),
            ("on", None),
            ("2", None),
            (" 1", None),
        ] {
            assert_eq!(parse_enabled(text), wanted, "{text:?}");
        }
    }
}

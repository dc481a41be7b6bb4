//! The answer of a lookup, kept from sight.

use std::fmt;

use zeroize::Zeroizing;

/// A node's password. It shows itself to nobody who does not ask by name, is never empty, and is wiped when dropped.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// `None` for an empty text: it must never come to mean "any password works".
    pub(crate) fn new(text: String) -> Option<Self> {
        let text = Zeroizing::new(text);
        (!text.is_empty()).then_some(Self(text))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_none_and_debug_shows_nothing() {
        assert!(Password::new(String::new()).is_none());
        let password = Password::new("canary".to_owned()).unwrap();
        assert_eq!((password.expose(), format!("{password:?}").as_str()), ("canary", "Password"));
    }
}

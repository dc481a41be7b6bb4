//! What is refused before anything is dialled: all of it at once, in sentences that name files and never secrets.

use std::{fs, path::PathBuf};

use credgate_client::{Endpoint, Settings};

use crate::pki::Pki;

impl Pki {
    /// The client's side: CA, token and client certificate, all right.
    pub fn settings(&self, address: impl ToString) -> Settings {
        Settings {
            address: address.to_string(),
            ca: Some(self.file("ca.pem")),
            cert: Some(self.file("client.pem")),
            key: Some(self.file("client.key")),
            token_file: self.file("token"),
            ..Settings::default()
        }
    }
}

fn problems(settings: &Settings) -> Vec<String> {
    let error = Endpoint::prepare(settings).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("canary"), "{text}");
    error.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn every_problem_at_once() {
    let found = problems(&Settings {
        address: "gateway".to_owned(),
        ca: Some(PathBuf::from("/nowhere/ca.pem")),
        cert: Some(PathBuf::from("/nowhere/client.pem")),
        token_file: PathBuf::from("/nowhere/token"),
        ..Settings::default()
    });
    let expected = ["address: ", "key: is missing", "/nowhere/ca.pem: ", "/nowhere/token: "];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
    let found = problems(&Settings { address: "127.0.0.1:1".to_owned(), ..Settings::default() });
    assert!(found[0].starts_with("ca: is missing"), "{found:?}");
}

#[test]
fn plaintext_is_for_loopback_and_alone() {
    let pki = Pki::new();
    let plain = |address: &str| Settings {
        address: address.to_owned(),
        token_file: pki.file("token"),
        plaintext: true,
        ..Settings::default()
    };
    assert!(Endpoint::prepare(&plain("127.0.0.1:1")).is_ok());
    for address in ["10.0.0.1:1", "gateway.example.net:1", "0.0.0.0:1", "[::]:1"] {
        assert!(problems(&plain(address))[0].contains("loopback address only"), "{address}");
    }
    let both = Settings { ca: Some(pki.file("ca.pem")), ..plain("127.0.0.1:1") };
    assert!(problems(&both)[0].contains("contradicts"));
}

#[test]
fn files_of_another_kind() {
    let pki = Pki::new();
    let right = pki.settings("127.0.0.1:1");
    assert!(Endpoint::prepare(&right).is_ok());

    let swapped = Settings { cert: right.key.clone(), key: right.cert.clone(), ..right.clone() };
    assert_eq!(problems(&swapped).len(), 2);
    let mixed = Settings { key: Some(pki.file("server.key")), ..right.clone() };
    assert_eq!(problems(&mixed), ["cert, key: the key is not the one of the certificate"]);
    let name = Settings { server_name: Some("not a name".to_owned()), ..right.clone() };
    assert!(problems(&name)[0].starts_with("server_name: "));

    for content in ["", "canary", "canary canary canary canary canary", "\u{feff}canary", "canary\n\n"] {
        fs::write(pki.dir().join("odd-token"), content).unwrap();
        let odd = Settings { token_file: pki.file("odd-token"), ..right.clone() };
        let found = problems(&odd);
        assert!(found.len() == 1 && found[0].contains("odd-token"), "{found:?}");
    }
}

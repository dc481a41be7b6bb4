//! What rustls thinks of the certificates: the good ones pass, each bad one fails for its own reason.

use std::{os::unix::fs::PermissionsExt, sync::Arc, time::Duration as Span};

use rustls::{CertificateError, ClientConnection, Error, ServerConnection};
use rustls_pki_types::ServerName;

use super::*;

const DAY: Span = Span::from_hours(24);

/// A handshake in memory: what each end ended with.
fn handshake(client: &Issued, server: &Issued, ca: &Ca) -> Result<(), Error> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::new(client_config(ca.roots(), Some(client))), name).unwrap();
    let mut server = ServerConnection::new(Arc::new(server_config(server, Some(ca)))).unwrap();
    while client.is_handshaking() || server.is_handshaking() || client.wants_write() || server.wants_write() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut &wire[..]).unwrap();
        server.process_new_packets()?;
        wire.clear();
        server.write_tls(&mut wire).unwrap();
        client.read_tls(&mut &wire[..]).unwrap();
        client.process_new_packets()?;
    }
    Ok(())
}

fn server_leaf() -> Leaf {
    Leaf::server().dns("localhost")
}

fn refused(client: &Leaf) -> CertificateError {
    let ca = Ca::new("test CA");
    match handshake(&ca.issue(client), &ca.issue(&server_leaf()), &ca) {
        Err(Error::InvalidCertificate(error)) => error,
        other => panic!("expected a refused certificate, got {other:?}"),
    }
}

#[test]
fn good_certificates_shake_hands() {
    let ca = Ca::new("test CA");
    let client = ca.issue(&Leaf::client().uri("spiffe://example.net/registrar").dns("east.example.net"));
    handshake(&client, &ca.issue(&server_leaf()), &ca).unwrap();
    let below = ca.intermediate("test intermediate").intermediate("second");
    assert_eq!(below.issue(&server_leaf()).chain().len(), 3);
    handshake(&client, &below.issue(&server_leaf()), &ca).unwrap();
    handshake(&below.issue(&Leaf::client().dns("x").purposes([])), &ca.issue(&server_leaf()), &ca).unwrap();
}

#[test]
fn bad_time_is_refused() {
    assert!(matches!(refused(&Leaf::client().expired(DAY)), CertificateError::ExpiredContext { .. }));
    assert!(matches!(
        refused(&Leaf::client().not_yet_valid(Span::from_mins(5))),
        CertificateError::NotValidYetContext { .. }
    ));
    let ca = Ca::new("test CA");
    handshake(&ca.issue(&Leaf::client().expires_in(Span::from_secs(30))), &ca.issue(&server_leaf()), &ca).unwrap();
}

#[test]
fn a_wrong_purpose_is_refused() {
    for purpose in [Purpose::Server, Purpose::CodeSigning] {
        let error = refused(&Leaf::client().purposes([purpose]));
        assert!(matches!(error, CertificateError::InvalidPurposeContext { .. }), "{error:?}");
    }
}

#[test]
fn a_broken_chain_is_refused() {
    let ca = Ca::new("test CA");
    let below = ca.intermediate("test intermediate");
    let client = ca.issue(&Leaf::client().dns("x"));
    for server in [below.issue(&server_leaf()).leaf_only(), ca.as_leaf()] {
        assert!(matches!(handshake(&client, &server, &ca), Err(Error::InvalidCertificate(_))), "{server:?}");
    }
    let other = Ca::new("other CA");
    assert!(matches!(
        handshake(&other.issue(&Leaf::client()), &ca.issue(&server_leaf()), &ca),
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    ));
    let authority = ca.issue(&Leaf::client().dns("x").authority());
    assert!(handshake(&authority, &ca.issue(&server_leaf()), &ca).is_err());
}

#[test]
fn files_are_read_back_and_keys_are_private() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new("test CA");
    let issued = ca.intermediate("second").issue(&server_leaf());
    let files = issued.write(dir.path(), "server");
    assert_eq!(credgate_files::read_certificates(&files.cert).unwrap().chain, issued.chain());
    assert_eq!(credgate_files::read_key(&files.key).unwrap().der, issued.key());
    assert_eq!(fs::metadata(&files.key).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(credgate_files::read_certificates(&ca.write(dir.path(), "ca")).unwrap().chain.len(), 1);
}

#[test]
fn a_key_that_is_not_the_first_certificates_is_refused() {
    let ca = Ca::new("test CA");
    let mixed = ca.issue(&server_leaf()).with_key_of(&ca.issue(&server_leaf()));
    for wrong in [mixed, ca.intermediate("second").issue(&server_leaf()).reversed()] {
        let config = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(wrong.chain(), wrong.key());
        assert!(config.is_err());
    }
}

#[test]
fn tokens_fit_the_gateway() {
    let dir = tempfile::tempdir().unwrap();
    let token = Token::random();
    assert_ne!(token, Token::random());
    let read = credgate_files::read_token(&token.write(dir.path(), "registrar")).unwrap();
    assert_eq!((read.expose(), read.expose().len()), (token.expose(), 52));
    assert_eq!(token.digest().len(), 64);
    assert!(!format!("{token:?}").contains(&token.expose()[9..]));
}

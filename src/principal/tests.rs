use std::time::Duration;

use super::*;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn identities(certificates: bool) -> Identities {
    let identity = |name: &str, role, tokens: &[&str]| Identity {
        name: name.into(),
        role,
        tokens: tokens.iter().map(|token| Sha256::digest(token).into()).collect(),
        sans: vec![San::Dns(format!("{name}.example.net")), San::Uri(format!("spiffe://example.net/{name}"))],
    };
    Identities::new(
        vec![identity("east", Role::Registrar, &["old", "new"]), identity("probe", Role::Probe, &["probe"])],
        certificates,
    )
}

fn peer(names: &[San], valid: bool) -> Peer {
    let end = if valid { NOW + Duration::from_secs(60) } else { NOW - Duration::from_secs(1) };
    Peer { address: [127, 0, 0, 1].into(), names: names.to_vec(), validity: Some((NOW - Duration::from_secs(60), end)) }
}

fn headers(values: &[&str]) -> HeaderMap {
    values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).collect()
}

#[test]
fn a_token_names_its_identity() {
    let identities = identities(false);
    let peer = peer(&[], true);
    let ask = |values: &[&str]| identities.authenticate(&headers(values), &peer, NOW);
    assert_eq!(ask(&["Bearer old"]), Ok(Principal { index: 0, role: Role::Registrar }));
    assert_eq!(ask(&["bearer new"]), Ok(Principal { index: 0, role: Role::Registrar }));
    assert_eq!(ask(&["Bearer probe"]), Ok(Principal { index: 1, role: Role::Probe }));
    assert_eq!(ask(&[]), Err(Refusal::NoToken));
    assert_eq!(ask(&["Bearer old", "Bearer old"]), Err(Refusal::NoToken));
    for malformed in ["old", "Basic old", "Bearer ", "Bearer", "", &format!("Bearer {}", "x".repeat(513))] {
        assert_eq!(ask(&[malformed]), Err(Refusal::Malformed), "{malformed}");
    }
    for unknown in ["Bearer  old", "Bearer old ", "Bearer OLD", "Bearer older", &format!("Bearer {}", "x".repeat(512))]
    {
        assert_eq!(ask(&[unknown]), Err(Refusal::UnknownToken), "{unknown}");
    }
}

#[test]
fn with_certificates_both_must_belong_to_one_identity() {
    let identities = identities(true);
    let ask = |names: &[San], valid| identities.authenticate(&headers(&["Bearer old"]), &peer(names, valid), NOW);
    let dns = |name: &str| San::Dns(name.into());
    assert!(ask(&[dns("x"), dns("east.example.net")], true).is_ok());
    assert!(ask(&[San::Uri("spiffe://example.net/east".into())], true).is_ok());
    assert_eq!(ask(&[dns("east.example.net")], false), Err(Refusal::CertificateExpired));
    for other in [dns("probe.example.net"), dns("*.example.net"), San::Uri("east.example.net".into())] {
        assert_eq!(ask(&[other], true), Err(Refusal::OtherIdentity));
    }
    assert_eq!(ask(&[], true), Err(Refusal::OtherIdentity));
}

//! `[[identity]]`: digests, roles, names of certificates.

use credgate_support::{canary::Canary, pki::Token};

use crate::refusal::Sample;

#[test]
fn a_digest_that_is_none_is_told_by_its_place_and_never_shown() {
    let sample = Sample::new();
    let token = Token::random();
    let digest = token.digest();
    let canary = Canary::new([token.expose(), &digest[..40]]);
    for wrong in [
        token.expose().to_owned(),
        digest[..63].to_owned(),
        format!("{digest}0"),
        format!("{}g", &digest[..63]),
        format!("sha256:{digest}"),
        format!("+{}", &digest[..63]),
        String::new(),
    ] {
        let good = sample.deployment.probe.token.digest();
        let text = sample.with(&format!("[\"{good}\"]"), &format!("[\"{good}\", \"{wrong}\"]"));
        let refusal = sample.refused(&text);
        let words = "entry 2: is not a SHA-256 in 64 hexadecimal digits; it takes the digest, not the token";
        refusal.says(&[(&good, "identity[1].token_sha256", words)]);
        canary.absent_from("the refusal", &refusal.whole);
    }
}

#[test]
fn digests_in_capital_letters_and_several_of_them_are_good() {
    let sample = Sample::new();
    let good = sample.deployment.probe.token.digest();
    let more = Token::random().digest();
    let text = sample.with(&format!("[\"{good}\"]"), &format!("[\"{}\", \"{more}\"]", good.to_uppercase()));
    assert_eq!(sample.accepted(&text), [""; 0]);
}

#[test]
fn an_identity_without_a_digest_is_refused() {
    let sample = Sample::new();
    let good = format!("token_sha256 = [\"{}\"]", sample.deployment.probe.token.digest());
    let probe = "[[identity]]\nname = \"probe\"";
    for (change, anchor, words) in [
        ("token_sha256 = []", "token_sha256 = []", "must hold 1 to 1000 digests"),
        ("", probe, "is missing; expected a list in brackets"),
    ] {
        let text = sample.with(&good, change);
        sample.refused(&text).says(&[(anchor, "identity[1].token_sha256", words)]);
    }
}

#[test]
fn a_digest_or_a_name_may_stand_for_one_identity_only() {
    let sample = Sample::new();
    let (east, probe) = (sample.deployment.registrar.token.digest(), sample.deployment.probe.token.digest());
    let text = sample.with(&probe, &east.to_uppercase());
    let place = (east.to_uppercase(), "holds a digest a second time; the first is in \"registrar-east\"");
    sample.refused(&text).says(&[(&place.0, "identity[1].token_sha256", place.1)]);

    let text = sample.with("name = \"probe\"", "name = \"registrar-east\" # again");
    sample.refused(&text).says(&[("# again", "identity[1].name", "\"registrar-east\" is the name of two identities")]);
}

#[test]
fn a_certificate_name_of_two_identities_is_a_warning() {
    let sample = Sample::new();
    let warnings = sample.accepted(&sample.with("\"probe.example.net\"", "\"registrar-east.example.net\""));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let words = ": identity[1].san: \"registrar-east.example.net\" is also a name of \"registrar-east\"";
    assert!(warnings[0].contains(words), "{warnings:?}");
}

#[test]
fn certificate_names_go_with_a_client_ca() {
    let sample = Sample::new();
    let text = sample.with("client_ca = \"ca.pem\"\n", "");
    let words = "has no effect without tls.client_ca";
    let (east, probe) = ("san = [\"registrar-east.example.net\"]", "san = [\"probe.example.net\"]");
    sample.refused(&text).says(&[(east, "identity[0].san", words), (probe, "identity[1].san", words)]);

    let identity = "[[identity]]\nname = \"probe\"";
    for (change, anchor) in [("", identity), ("san = []", "san = []")] {
        let text = sample.with(probe, change);
        let words = "is missing: with tls.client_ca every identity names its certificates (DNS name or URI)";
        sample.refused(&text).says(&[(anchor, "identity[1].san", words)]);
    }
}

#[test]
fn certificate_names_are_exact() {
    let sample = Sample::new();
    for (name, words) in [
        ("*.example.net", "holds a wildcard; names are compared exactly"),
        ("spiffe://example.net/*", "holds a wildcard; names are compared exactly"),
        ("", "holds an empty name, blanks, or characters that are not ASCII"),
        ("probe example", "holds an empty name, blanks"),
        ("prüfer.example.net", "characters that are not ASCII"),
    ] {
        let change = format!("san = [\"{name}\"]");
        let text = sample.with("san = [\"probe.example.net\"]", &change);
        sample.refused(&text).says(&[(&change, "identity[1].san", words)]);
    }
    sample.accepted(&sample.with("\"probe.example.net\"", "\"probe.example.net\", \"spiffe://example.net/probe\""));
}

#[test]
fn names_for_the_log_are_short_and_plain() {
    let sample = Sample::new();
    for name in [String::new(), "x".repeat(65), "a\\u0007b".to_owned()] {
        let change = format!("name = \"{name}\"");
        let text = sample.with("name = \"probe\"", &change);
        sample.refused(&text).says(&[(&change, "identity[1].name", "must have 1 to 64 characters")]);
    }
}

#[test]
fn without_identities_nobody_could_call() {
    let sample = Sample::new();
    let identities = sample.text().find("[[identity]]").unwrap()..sample.text().find("[rate]").unwrap();
    let mut text = sample.text().to_owned();
    text.replace_range(identities, "");
    sample.refused(&text).says(&[("", "identity", "there is none, so nobody could call; add an [[identity]]")]);
}

//! Each ending of a lookup, through a generated client: status, reason, text, and where it is counted. What needs a full
//! queue, a rate limit or a drain stands in `capacity`, `rates` and `drain`.

use credgate_support::{deployment::Deployment, grpc::Client, scripted::Behaviour};
use tonic_types::StatusExt;

use crate::{ground::number, row};

#[tokio::test]
async fn every_answer_of_the_provider_has_its_row() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    for (behaviour, row) in [
        (Behaviour::None, row::NODE_NOT_FOUND),
        (Behaviour::Unavailable, row::BACKEND_UNAVAILABLE),
        (Behaviour::TimedOut, row::BACKEND_TIMEOUT),
        (Behaviour::Corrupt, row::CORRUPT_RECORD),
        (Behaviour::Defect, row::PROVIDER_DEFECT),
        (Behaviour::Panic, row::PROVIDER_DEFECT),
    ] {
        // A fresh node each time would do as well: nothing is remembered of a node.
        script.default(behaviour.clone()).await;
        let before = row.counted(&gateway, "LookupCredential").await;
        let status = client.lookup_status("1999", None).await.unwrap_err();
        row.fits(&status);
        assert_eq!(row.counted(&gateway, "LookupCredential").await, before + 1.0, "{behaviour:?}");
    }
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"), "it lives on");
    let ok = [("method", "LookupCredential"), ("code", "OK"), ("reason", "")];
    assert_eq!(number(&gateway, "credgate_rpcs_total", &ok).await, 1.0);
    assert_eq!(number(&gateway, "credgate_lookup_seconds_count", &[]).await, 7.0);
}

#[tokio::test]
async fn a_stored_password_that_breaks_the_rule_is_never_handed_out() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let long = "x".repeat(80);
    for bytes in [&b""[..], b" ", b"   ", b"line\nbreak", b"tab\tbed", b"\xff\xfe", "ключ".as_bytes(), long.as_bytes()]
    {
        script.default(Behaviour::Bytes { bytes: bytes.to_vec() }).await;
        let status = client.lookup_status("1999", None).await.unwrap_err();
        row::CORRUPT_RECORD.fits(&status);
    }
    for good in [" leading and trailing ", "\"quoted\"", &long[..79], "~"] {
        script.default(Behaviour::password(good)).await;
        assert_eq!(client.lookup("1999").await.unwrap(), good);
    }
    assert!(!gateway.log.text().contains("line\\nbreak") && !gateway.log.text().contains(&long[..79]));
}

#[tokio::test]
async fn what_is_refused_never_reaches_the_provider() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::password("not for everybody")).await;
    let probe = Client::open(&deployment, gateway.lookup, &deployment.probe).await;
    row::PERMISSION_DENIED.fits(&probe.lookup_status("2000", None).await.unwrap_err());
    assert_eq!(row::PERMISSION_DENIED.counted(&gateway, "LookupCredential").await, 1.0);

    let registrar = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let bad =
        ["", " ", "20 00", " 2000", "2000\n", "-2000", "+2000", "2000x", "0x7d0", "٢٠٠٠", "20\u{0}0", "12345678901"];
    for node in bad {
        row::INVALID_NODE_ID.fits(&registrar.lookup_status(node, None).await.unwrap_err());
    }
    assert_eq!(row::INVALID_NODE_ID.counted(&gateway, "LookupCredential").await, 12.0);
    assert_eq!(script.counts().await.started, 0);
    registrar.lookup("1234567890").await.unwrap();
    assert_eq!(script.counts().await.started, 1);
}

#[tokio::test]
async fn unknown_and_disabled_nodes_cannot_be_told_apart() {
    let nodes =
        "node_id,password,enabled\n2000,right one here,yes\n2001,right one too,no\n2002,,FALSE\n0200,zero first,1\n";
    let deployment = Deployment::mtls().with_file("nodes.csv", nodes);
    let gateway = deployment.start();
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), "right one here");
    assert_eq!(client.lookup("0200").await.unwrap(), "zero first");
    let mut seen = Vec::new();
    for node in ["1999", "2001", "2002", "200", "02000"] {
        let mut status = client.lookup_status(node, None).await.unwrap_err();
        row::NODE_NOT_FOUND.fits(&status);
        let details = status.get_error_details();
        status.metadata_mut().remove("date");
        seen.push(format!("{status:?} {details:?}"));
    }
    assert!(seen.iter().all(|status| *status == seen[0]), "{seen:#?}");
}

#[tokio::test]
async fn node_ids_of_the_token_grammar_are_taken_byte_for_byte() {
    let nodes = "node_id,password\nalice.b_c+d-e,for alice\nAlice,for Alice\n0200,text\n";
    let deployment = Deployment::mtls().with_file("nodes.csv", nodes).set("lookup.node_id.grammar", "token");
    let gateway = deployment.start();
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    for (node, password) in [("alice.b_c+d-e", "for alice"), ("Alice", "for Alice"), ("0200", "text")] {
        assert_eq!(client.lookup(node).await.unwrap(), password);
    }
    for node in ["alice", "ALICE", "200", &"a".repeat(64)] {
        assert_eq!(client.lookup(node).await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND", "{node}");
    }
    for node in ["alice@example.net", "a/b", "é", &"a".repeat(65)] {
        assert_eq!(client.lookup(node).await.unwrap_err(), "INVALID_ARGUMENT INVALID_NODE_ID", "{node}");
    }
}

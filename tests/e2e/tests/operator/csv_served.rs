//! CSV files that are odd and good: what stands in them is what a client gets.

use std::{fs, os::unix::fs::PermissionsExt};

use credgate_support::{deployment::Deployment, grpc::Client, process::Process};

use crate::refusal::BOUND;

/// What `check-config` prints as warnings, and the answer for each node.
async fn answers(content: impl AsRef<[u8]>, settings: &str, wanted: &[(&str, Result<&str, &str>)]) -> String {
    let deployment = Deployment::mtls().with_file("nodes.csv", content).merge(settings);
    let check = Process::run(deployment.command(["check-config"]), BOUND);
    assert_eq!(check.exit.code, Some(0), "{}", check.stderr);
    let gateway = deployment.start();
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    for (node, answer) in wanted {
        let got = client.lookup(node).await;
        assert_eq!(got.as_deref().map_err(String::as_str), *answer, "{node}");
    }
    check.stderr
}

const NOT_FOUND: Result<&str, &str> = Err("NOT_FOUND NODE_NOT_FOUND");

#[tokio::test]
async fn a_byte_order_mark_is_no_part_of_the_first_column() {
    let warnings = answers("\u{feff}node_id,password\n2000,abc\n", "", &[("2000", Ok("abc"))]).await;
    assert_eq!(warnings, "");
}

#[tokio::test]
async fn line_endings_are_no_part_of_a_password() {
    for file in [
        "node_id,password\r\n2000,abc\r\n2001,def\r\n",
        "node_id,password\n2000,abc\r\n2001,def\n",
        "node_id,password\r\n2000,abc\n2001,def",
        "node_id,password\n2000,abc\n2001,def",
        "node_id,password\r\n\r\n2000,abc\r\n\n2001,\"def\"",
    ] {
        answers(file, "", &[("2000", Ok("abc")), ("2001", Ok("def")), ("2002", NOT_FOUND)]).await;
    }
}

#[tokio::test]
async fn blanks_around_a_password_are_kept_and_told_without_it() {
    let file = "node_id,password\n2000,abc \n2001, abc\n2002,a b\n";
    let wanted = [("2000", Ok("abc ")), ("2001", Ok(" abc")), ("2002", Ok("a b"))];
    let warnings = answers(file, "", &wanted).await;
    let lines: Vec<&str> = warnings.lines().collect();
    assert_eq!(lines.len(), 2, "{warnings}");
    for (line, number) in lines.iter().zip(["2", "3"]) {
        assert!(
            line.starts_with("warning: ")
                && line.ends_with(&format!("nodes.csv:{number}: blanks around the password; kept as they are")),
            "{line}"
        );
    }
}

#[tokio::test]
async fn every_character_of_a_password_is_its_own() {
    let file = "node_id,password\n1,#abc\n2,a\\nb\n3,\"a,b\"\n4,\"say \"\"hi\"\"\"\n5,'quoted'\n6,=SUM(A1)\n7,a\"b\n";
    let wanted = [
        ("1", Ok("#abc")),
        ("2", Ok("a\\nb")),
        ("3", Ok("a,b")),
        ("4", Ok("say \"hi\"")),
        ("5", Ok("'quoted'")),
        ("6", Ok("=SUM(A1)")),
        ("7", Ok("a\"b")),
    ];
    answers(file, "", &wanted).await;
}

#[tokio::test]
async fn leading_zeros_make_other_nodes() {
    let file = "node_id,password\n200,a\n0200,b\n";
    answers(file, "", &[("200", Ok("a")), ("0200", Ok("b")), ("00200", NOT_FOUND)]).await;
}

#[tokio::test]
async fn a_disabled_node_is_not_found_whatever_its_password() {
    let file = "node_id,password,enabled\n1,a,YES\n2,b,no\n3,,0\n4,\u{e9},False\n5,e,1\n";
    let wanted = [("1", Ok("a")), ("2", NOT_FOUND), ("3", NOT_FOUND), ("4", NOT_FOUND), ("5", Ok("e"))];
    answers(file, "", &wanted).await;
}

#[tokio::test]
async fn the_file_of_an_older_registrar_is_served() {
    let settings = "[provider.csv]\nheader = false\ncolumns = [\"node_id\", \"password\"]\ndelimiter = \";\"";
    answers("2000;a,b\n2001;c\n", settings, &[("2000", Ok("a,b")), ("2001", Ok("c"))]).await;
    let settings =
        "[provider.csv]\nnode_id_column = \"user\"\npassword_column = \"secret\"\nenabled_column = \"active\"";
    let file = "note,secret,active,user\nx,abc,yes,2000\ny,def,no,2001\n";
    answers(file, settings, &[("2000", Ok("abc")), ("2001", NOT_FOUND)]).await;
}

#[tokio::test]
async fn an_empty_file_that_is_meant_knows_no_node() {
    answers("node_id,password\n", "[provider.csv]\nallow_empty = true", &[("2000", NOT_FOUND)]).await;
}

#[tokio::test]
async fn a_file_that_everybody_may_read_is_a_warning_at_both_commands() {
    let deployment = Deployment::mtls();
    let file = deployment.path("nodes.csv");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let words = format!("provider.csv.path: {} holds a secret and is readable by every user", file.display());
    let check = Process::run(deployment.command(["check-config"]), BOUND);
    assert!(check.exit.code == Some(0) && check.stderr.contains(&words), "{}", check.stderr);
    let gateway = deployment.start();
    let logged = gateway.log.wait_for(|line| line.says("configuration"), BOUND);
    assert!(logged.field("warning").unwrap().contains(&words), "{}", logged.text);
    let foreign = gateway.log.lines().into_iter().find(|line| line.json().is_null());
    assert!(foreign.is_none(), "not a line of the log: {foreign:?}");
}

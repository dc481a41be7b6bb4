//! What only a person at a terminal sees: colours and progress. `script` (util-linux) gives a terminal.

use std::process::Command;

use credgate_support::{
    deployment::Deployment,
    process::{Finished, Process},
};

use crate::ground::{BOUND, run};

const ESCAPE: char = '\x1b';

/// The same command, at a terminal; what it wrote there is in `stdout`.
fn at_terminal(command: &Command) -> Finished {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--flush", "--command", &line.join(" "), "/dev/null"]);
    script.env_remove("NO_COLOR").env("TERM", "xterm");
    Process::run(script, BOUND)
}

fn sql() -> Deployment {
    let deployment = Deployment::mtls()
        .with_nodes(30_000)
        .remove("provider.csv")
        .set("provider.kind", "sql")
        .merge("[provider.sql]\nurl = 'sqlite:nodes.db'");
    run(&deployment, &["migrate"]);
    deployment
}

#[test]
fn progress_is_shown_at_a_terminal_alone() {
    let deployment = sql();
    let nodes = deployment.path("nodes.csv");
    let import = || deployment.command(["import", nodes.to_str().unwrap(), "--replace"]);
    let seen = at_terminal(&import());
    assert_eq!(seen.exit.code, Some(0), "{}", seen.stdout);
    assert!(seen.stdout.contains("of 30000 rows read") && seen.stdout.contains("30000 nodes: "), "{:?}", seen.stdout);
    let piped = Process::run(import(), BOUND);
    assert_eq!((piped.exit.code, piped.stderr.as_str()), (Some(0), ""));
    assert!(!piped.stdout.contains(ESCAPE), "{:?}", piped.stdout);
}

#[test]
fn help_and_log_have_colours_at_a_terminal_alone() {
    // It ends by itself: the address is taken.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let deployment =
        Deployment::mtls().set("log.format", "text").set("lookup.listen", taken.local_addr().unwrap().to_string());
    let serve = || deployment.command(["serve"]);
    let mut help = credgate_support::process::executable("credgate");
    help.arg("--help");
    for (seen, piped) in
        [(at_terminal(&serve()), Process::run(serve(), BOUND)), (at_terminal(&help), Process::run(help, BOUND))]
    {
        assert!(seen.stdout.contains(ESCAPE), "{:?}", seen.stdout);
        assert!(!format!("{}{}", piped.stdout, piped.stderr).contains(ESCAPE));
    }
}

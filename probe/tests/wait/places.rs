//! Whose answer it was: ports that are shared, inherited, handed on, or in another network altogether.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::fs::MetadataExt,
    process::Command,
};

use credgate_support::process::{Process, Signal};

use crate::ground::{BOUND, Ground, PYTHON, Unit, ended, page, place, told};

fn address() -> SocketAddr {
    SocketAddr::new(place(), 7444)
}

/// "The unit's process (or its children)": only the child accepts.
#[test]
fn a_child_that_inherited_the_socket_answers_for_its_unit() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("bind {address}"), "child".to_owned(), "serve 200".to_owned()]);
    ground.says_running("gate", &unit.0);
    let served = ended(&ground.wait(page("gate", address))).served();
    assert!(served.last().unwrap().ends_with(&format!("(process {})", unit.pid())), "{served:?}");
}

/// The socket came to be in the child; the unit's main process has none.
#[test]
fn a_grandchild_that_opened_the_socket_answers_for_its_unit() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start(["child".to_owned(), "child".to_owned(), format!("listen {address} 200")]);
    ground.says_running("gate", &unit.0);
    assert_eq!(ended(&ground.wait(page("gate", address))).code, Some(0));
}

/// The unit is gone, and a child of it still holds the port and answers: that is another program now.
#[test]
fn an_orphan_on_the_port_does_not_answer_for_its_unit() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("bind {address}"), "child".to_owned(), "serve 503".to_owned()]);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", address));
    told(&wait, "answered HTTP 503; reading it again");
    unit.0.signal(Signal::KILL);
    unit.0.wait(BOUND);
    ground.says_failed("gate");
    let refusal = ended(&wait).refusal();
    assert!(refusal.contains("last answered HTTP 503, from another program listening on port 7444"), "{refusal}");
}

/// The unit holds the very socket, and the process that handed it on takes every connection.
#[test]
fn who_holds_the_far_end_of_the_connection_decides() {
    let (ground, address) = (Ground::new(), address());
    let decoy = Unit::start([format!("bind {address}"), "pass".to_owned(), "serve 200".to_owned()]);
    let unit = decoy.child();
    let wait = ground.wait(["--pid", &unit.to_string(), "--addr", &format!("http://{address}/")]);
    told(&wait, &format!("(process {unit} listens there, but another program took the connection)"));
    assert!(wait.is_running());
    wait.terminate();
    assert_eq!(ended(&wait).code, Some(143));
}

/// Two programs share the port: whose answer it is, is chance, so none counts until one of them is gone.
#[test]
fn a_port_shared_with_another_program() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("share {address} 200")]);
    let other = Unit::start([format!("share {address} 200")]);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", address));
    told(&wait, "(another program listens on port 7444 too, and the answer may be its own)");
    assert!(wait.is_running());
    drop(other);
    assert_eq!(ended(&wait).code, Some(0));
}

/// Two processes of the unit share the port: that is its own affair.
#[test]
fn a_port_shared_within_the_unit() {
    let (ground, address) = (Ground::new(), address());
    let shared = format!("share {address} 200");
    let unit = Unit::start([shared.as_str(), "child", shared.as_str()]);
    ground.says_running("gate", &unit.0);
    assert_eq!(ended(&ground.wait(page("gate", address))).code, Some(0));
}

/// The unit listens on the port, in a network of its own; what answers on that port here is something else.
#[test]
fn a_port_in_another_network_is_not_the_port_here() {
    let (ground, address) = (Ground::new(), SocketAddr::from(([127, 0, 0, 1], free_port())));
    let mut command = Command::new("unshare");
    let user: &[&str] = if is_root() { &[] } else { &["--user"] };
    command.args(user).args(["--net", PYTHON]);
    let unit = Unit::start_as(command, [format!("listen {address} 200")]);
    let _decoy = Unit::start([format!("listen {address} 200")]);
    ground.says_running("gate", &unit.0);
    let refusal = ended(&ground.wait(page("gate", address))).refusal();
    let pid = unit.pid();
    assert_eq!(
        refusal,
        format!(
            "unit gate: process {pid} is in another network namespace, so its ports are not those of this one; \
             run this there: nsenter --target {pid} --net credgate-probe await …"
        )
    );
}

#[test]
fn dual_stack_and_names() {
    let ground = Ground::new();
    let port = free_port();
    let unit = Unit::start([format!("listen [::]:{port} 200")]);
    ground.says_running("gate", &unit.0);
    for host in ["127.0.0.1", "[::1]", "localhost"] {
        let words = ["--unit", "gate", "--addr", &format!("http://{host}:{port}/")];
        assert_eq!(ended(&ground.wait(words)).code, Some(0), "{host}");
    }
}

/// The nearer socket takes the connection: a decoy on the address before a unit on all addresses.
#[test]
fn a_decoy_on_the_address_itself() {
    let ground = Ground::new();
    let (address, port) = (place(), free_port());
    // Sharing lets both bind; it is the same user's doing.
    let unit = Unit::start([format!("share 0.0.0.0:{port} 200")]);
    let decoy = Unit::start([format!("share {address}:{port} 200")]);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", SocketAddr::new(address, port)));
    told(&wait, "while another program answers");
    drop(decoy);
    assert_eq!(ended(&wait).code, Some(0));
}

/// An address that leads away is read, and never counts.
#[test]
fn an_address_of_another_host() {
    let ground = Ground::new();
    let unit = Unit::start([format!("listen {} 200", address())]);
    ground.says_running("gate", &unit.0);
    // TEST-NET-1 (RFC 5737): nobody has it.
    let words = ["await", "--timeout", "50ms", "--unit", "gate", "--addr", "http://192.0.2.1:7444/"];
    let wait = Process::start(ground.command(words));
    told(&wait, "(192.0.2.1 is no address of this host)");
    wait.terminate();
    assert_eq!(ended(&wait).code, Some(143));
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Free when it was looked for; no test binds it but with SO_REUSEADDR.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

//! `examples/kamailio` with the Kamailio and the SIPp of Debian: what a SIP node is told, through an outage and after.

use std::{fs, net::UdpSocket, path::PathBuf, process::Command, time::Duration};

use credgate_support::{
    canary::Canary,
    deployment::{Deployment, SERVER_NAME},
    process::Process,
    scripted::Behaviour,
};

use crate::{
    ground::{BOUND, Place, place},
    subject::{client_python, package},
};

/// How long a password is kept here.
const TTL: &str = "10";

struct Sip {
    process: Process,
    address: String,
    folder: PathBuf,
}

impl Drop for Sip {
    /// Killed, it would leave its own children behind.
    fn drop(&mut self) {
        self.process.terminate();
        self.process.wait(BOUND);
    }
}

impl Sip {
    async fn start(deployment: &Deployment, gateway: &Place) -> Self {
        let address = format!("{}:5060", place());
        // Kamailio embeds Debian's Python, which is also the one of the virtual environment.
        let paths = client_python().run_text("import sysconfig; print(sysconfig.get_path('purelib'))", [""; 0], BOUND);
        let paths = [PathBuf::from(paths.stdout.trim()), package()];
        let arguments = deployment.client_arguments(gateway.lookup, &deployment.registrar).join(" ");
        let module = format!("MODULE=\"{}\"", example("registrar.py").display());
        let folder = deployment.dir().to_owned();
        let mut command = Command::new(installed("kamailio", "kamailio kamailio-python3-modules"));
        command.args(["-DD", "-E", "-f"]).arg(example("kamailio.cfg"));
        command.args(["-A", &format!("LISTEN=udp:{address}"), "-A", &module, "-Y"]).arg(&folder).arg("-w").arg(&folder);
        command.env("PYTHONPATH", std::env::join_paths(paths).unwrap()).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("CREDGATE_REGISTRAR", format!("{arguments} --server-name {SERVER_NAME} --ttl {TTL}"));
        let sip = Self { process: Process::start(command), address, folder };
        sip.answers().await;
        sip
    }

    /// Waits until it answers a request that needs no gateway.
    async fn answers(&self) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let from = socket.local_addr().unwrap();
        let request = format!(
            "OPTIONS sip:x@{to} SIP/2.0\r\nVia: SIP/2.0/UDP {from};branch=z9hG4bK1\r\nMax-Forwards: 5\r\n\
            From: <sip:x@{from}>;tag=1\r\nTo: <sip:x@{to}>\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n",
            to = self.address
        );
        let asked = async {
            loop {
                // Refused while nobody listens.
                let _ = socket.send_to(request.as_bytes(), &self.address);
                if socket.recv(&mut [0; 2048]).is_ok() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(BOUND, asked).await.unwrap_or_else(|_| panic!("{}", self.process.log.tail()));
    }

    /// How a registration ends: the two answers, without what differs from one call to the next.
    fn registers(&self, node: &str, password: &str) -> [String; 2] {
        let nodes = self.folder.join("nodes.csv");
        fs::write(&nodes, format!("SEQUENTIAL\n{node};[authentication username={node} password={password}]\n"))
            .unwrap();
        let messages = self.folder.join("messages.log");
        let _ = fs::remove_file(&messages);
        let mut command = Command::new(installed("sipp", "sip-tester"));
        command.current_dir(&self.folder).arg(&self.address).arg("-sf").arg(example("register.xml"));
        command.arg("-inf").arg(nodes).args(["-m", "1", "-i", "127.0.0.1", "-nostdin", "-trace_msg", "-message_file"]);
        command.arg(&messages).args(["-timeout", "50"]);
        let finished = Process::run(command, BOUND);
        let said = fs::read_to_string(&messages).unwrap_or_default();
        assert_eq!(finished.exit.code, Some(0), "{node}: {said}\n{}\n{}", finished.stderr, self.process.log.tail());
        let answers: Vec<String> = said
            .split("UDP message ")
            .filter_map(|message| message.strip_prefix("received "))
            .map(|answer| answer.lines().filter_map(|line| same_for_all(line, node)).collect::<Vec<_>>().join("\n"))
            .collect();
        answers.try_into().unwrap_or_else(|answers| panic!("{answers:?}"))
    }

    fn is_told(&self, node: &str, password: &str, status: &str) {
        let [challenge, answer] = self.registers(node, password);
        assert!(challenge.contains("SIP/2.0 401 ") && answer.contains(status), "{node}: {challenge}\n{answer}");
    }
}

/// A line of an answer, unless it is made anew for each call; the node's own name is replaced.
fn same_for_all(line: &str, node: &str) -> Option<String> {
    let own = ["Via:", "Call-ID:", "Contact:"];
    if own.iter().any(|name| line.starts_with(name)) || line.starts_with('[') || line.starts_with("----") {
        return None;
    }
    let line = line.replace(node, "NODE");
    let until = |word: &str| line.find(word).map(|at| line[..at + word.len()].to_owned());
    Some(until("nonce=").or_else(|| until("tag=")).unwrap_or(line).trim().to_owned()).filter(|line| !line.is_empty())
}

fn example(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/kamailio").join(file)
}

fn installed(name: &str, packages: &str) -> PathBuf {
    let folders = ["/usr/sbin", "/usr/bin"];
    let found = folders.iter().map(|folder| PathBuf::from(folder).join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("there is no {name}; on Debian: apt-get install {packages}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sip_node_is_told_the_truth_and_no_more() {
    let mut deployment = Deployment::mtls().with_scripted(8).set("lookup.node_id.grammar", "token");
    let mut gateway = Place::start(&mut deployment).await;
    let sip = Sip::start(&deployment, &gateway).await;
    let password = |node: &str| deployment.nodes.password(node).to_owned();
    let (right, other) = (password("2000"), password("2001"));

    gateway.tell("alice.o-1", &Behaviour::password("a-password")).await;
    sip.is_told("alice.o-1", "a-password", "SIP/2.0 200 ");
    sip.is_told("2000", &right, "SIP/2.0 200 ");
    let wrong = sip.registers("2002", "wrong");
    assert!(wrong[1].contains("SIP/2.0 403 "), "{wrong:?}");
    assert_eq!(sip.registers("nobody", "wrong"), wrong, "unknown is like wrong, challenge and answer");
    gateway.tell("2003", &Behaviour::None).await;
    assert_eq!(sip.registers("2003", &password("2003")), wrong, "disabled is like wrong");
    let asked = gateway.asked().await;
    assert_eq!(asked, 5, "one lookup each, and none for a challenge");

    gateway.tell("2000", &Behaviour::password("changed")).await;
    sip.is_told("2000", "changed", "SIP/2.0 200 ");
    sip.is_told("2000", &right, "SIP/2.0 403 ");

    gateway.stop().await;
    sip.is_told("2000", "changed", "SIP/2.0 200 ");
    sip.is_told("2000", "wrong", "SIP/2.0 403 ");
    let [_, away] = sip.registers("2001", &other);
    assert!(away.contains("SIP/2.0 503 ") && away.contains("Retry-After: "), "{away}");
    let expired = async {
        while !sip.registers("2000", "changed")[1].contains("SIP/2.0 503 ") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, expired).await.unwrap();

    gateway.boot(&mut deployment).await;
    let back = async {
        while !sip.registers("2001", &other)[1].contains("SIP/2.0 200 ") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, back).await.unwrap();
    sip.is_told("2000", &right, "SIP/2.0 200 ");
    sip.is_told("nobody", "wrong", "SIP/2.0 403 ");
    Canary::new(deployment.secrets()).absent_from("Kamailio's log", &sip.process.log.text());
}

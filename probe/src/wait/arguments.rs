//! The command line of `await`: units and addresses in pairs, by their order.

use std::{ffi::OsString, fmt, path::PathBuf, time::Duration};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};

use super::register::RuntimeDir;
use crate::{
    facts::{Manager, Tables, Unit},
    target::{Reads, Target},
};

/// Wait until new processes serve, or never will
#[derive(Debug, Parser)]
#[command(
    name = "credgate-probe await",
    bin_name = "credgate-probe await",
    version,
    disable_version_flag = true,
    long_about = LONG,
    after_long_help = EXAMPLES
)]
pub struct Arguments {
    /// Service of the manager
    #[arg(long, value_name = "UNIT", required_unless_present_any = ["pid", "pid_file"])]
    unit: Vec<String>,

    /// Process by its number
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Vec<u32>,

    /// File that holds the number of a process
    #[arg(long, value_name = "FILE")]
    pid_file: Vec<PathBuf>,

    #[command(flatten)]
    reads: Reads,

    /// The longest pause between two reads; it begins with 50ms and doubles while nothing changes
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = credgate_client::Arguments::parse_timeout)]
    pub interval: Duration,

    /// Claim file: the lines of these units are taken out once all of them serve
    #[arg(long, value_name = "FILE", long_help = CLAIM)]
    pub claim: Option<PathBuf>,

    #[command(flatten)]
    pub runtime_dir: RuntimeDir,

    /// Who manages the services
    #[arg(long, value_enum, value_name = "MANAGER", default_value_t = Manager::DEFAULT)]
    manager: Manager,

    /// Where processes and sockets are looked up
    #[arg(long, value_enum, value_name = "TABLES", default_value_t = Tables::DEFAULT)]
    pub sockets: Tables,
}

/// A unit and what is read of it.
#[derive(Debug)]
pub struct Pair {
    /// Who must answer.
    pub unit: Unit,
    /// As it was given: the name, the number or the path.
    pub word: String,
    /// Where.
    pub target: Target,
}

/// What was typed, with the units in their order.
pub struct Given {
    pub arguments: Arguments,
    units: Vec<(Unit, String)>,
}

/// Reads the command line; `words` begin with `await`.
pub fn parse(words: Vec<OsString>) -> Result<Given, clap::Error> {
    let matches = Arguments::command().try_get_matches_from(words)?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    let units = arguments.units(&matches);
    Ok(Given { arguments, units })
}

impl Given {
    /// Units and addresses, one to one.
    pub fn pairs(&self) -> Result<Vec<Pair>, String> {
        let (units, targets) = (&self.units, self.arguments.reads.targets()?);
        if units.len() != targets.len() {
            return Err(format!(
                "{} of --unit, --pid and --pid-file, but {} of --addr: each unit gets one address, in the same order",
                units.len(),
                targets.len()
            ));
        }
        let pair =
            |((unit, word), target): (&(Unit, String), Target)| Pair { unit: unit.clone(), word: word.clone(), target };
        Ok(units.iter().zip(targets).map(pair).collect())
    }
}

impl Arguments {
    /// How long one read may take.
    pub fn timeout(&self) -> Duration {
        self.reads.timeout
    }

    /// The three options mixed, as they were typed.
    fn units(&self, matches: &ArgMatches) -> Vec<(Unit, String)> {
        let at = |option: &str| matches.indices_of(option).into_iter().flatten();
        let services = self.unit.iter().map(|name| (Unit::Service(self.manager, name.clone()), name.clone()));
        let processes = self.pid.iter().map(|id| (Unit::Process(*id), id.to_string()));
        let files = self.pid_file.iter().map(|path| (Unit::File(path.clone()), path.display().to_string()));
        let mut units: Vec<_> =
            at("unit").zip(services).chain(at("pid").zip(processes)).chain(at("pid_file").zip(files)).collect();
        units.sort_by_key(|(index, _)| *index);
        units.into_iter().map(|(_, unit)| unit).collect()
    }
}

/// As the register of waits shows it.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.unit, self.target)
    }
}

const LONG: &str = "\
Wait until new processes serve, or never will.

Each unit gets one address, in the order given. Each address is read again for
as long as the unit's process runs, until readiness SERVING (or HTTP 2xx) comes
from that process. No count of attempts ends the wait, and no clock; facts do:

  serves     The address answers SERVING, and before and after that read the
             socket table shows that the unit's process, or a child of it,
             listens there, and that nobody else could have answered.
  refused    The unit itself refuses the request: UNAUTHENTICATED,
             PERMISSION_DENIED, UNIMPLEMENTED, NOT_FOUND, INVALID_ARGUMENT or
             HTTP 4xx, or the two sides do not agree about certificates, TLS
             or the protocol.
  gone       The unit's process has ended, and nobody is about to start it.
             That systemd will restart what crashed does not count.
  elsewhere  The unit's process listens, but on other ports only.

It reads again while the unit answers NOT_SERVING, UNAVAILABLE, HTTP 5xx or not
at all, does not listen yet, or while another program answers in its place. All
targets are read at once. When several are refused, the first one given is the
one reported, after all have ended.

Each answer is printed when it differs from the one before, and so is a new
process id. A refusal is the last line, on standard error. While it lasts, the
wait is listed by `credgate-probe waits`.

Exit code: 0 all serve, 1 refused, 130 ended by SIGINT, 143 by SIGTERM.

Name the control listener of a gateway: it opens first. The lookup listener
opens once the store has answered; until then the gateway listens elsewhere.
A restart must have happened before the wait begins (`systemctl restart`
returns after it), or the old process is the one that serves.

Looking at the sockets of another user's process needs root.";

const CLAIM: &str = "\
Claim file: the lines of these units are taken out once all of them serve.

A text file that everybody who replaces something on this host shares. Each
line is a claim: the unit as it is named here, a blank, and who holds it. Empty
lines and lines that begin with # are left alone. Each unit must have its line
when the wait begins.

The release compares and swaps, under a lock on FILE.lock: when the file has
changed since it was read, the release is made again on what stands there now,
if the claims are still the same. Every other failure is reported as it is,
with exit code 1. After a refusal the claims stay.";

const EXAMPLES: &str = "\
Examples:
  systemctl restart credgate
  credgate-probe await --unit credgate --addr 127.0.0.1:7444 --ca ca.pem \\
    --token-file probe.token --cert probe.pem --key probe.key

  Two units; options that say who asks hold for both, or are given twice:
  credgate-probe await --ca ca.pem --token-file probe.token \\
    --unit credgate-a --addr 127.0.0.1:7444 \\
    --unit credgate-b --addr 127.0.0.1:7544

  Without systemd, over HTTP:
  credgate-probe await --pid-file /run/gateway.pid \\
    --addr http://127.0.0.1:9464/healthz/ready

A whole replacement, with the way back: docs/replace.md";

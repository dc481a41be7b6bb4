//! The command line: what there is to type, and what the exit code then says.

mod check;
mod exit;
mod init;
mod lookup;
mod print;
mod proto;
#[cfg(feature = "sql")]
mod schema;
mod token;

pub use check::load;
pub use exit::Exit;
pub(crate) use print::err;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, error::ErrorKind};
use credgate_provider::Kind;

use crate::app;
use print::out;

/// Credential-lookup gateway: registrars ask it over authenticated gRPC for a node's password.
#[derive(Debug, Parser)]
#[command(name = "credgate", version, arg_required_else_help = true, after_help = FIRST_STEPS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway until SIGTERM
    #[command(after_help = SERVE)]
    Serve(Configured),
    /// Judge a configuration and every local file it names, without starting
    #[command(after_help = check::EXAMPLES)]
    CheckConfig(check::CheckConfig),
    /// Bring credgate's own SQL schema to this version
    #[cfg(feature = "sql")]
    #[command(after_help = schema::MIGRATE)]
    Migrate(schema::Migrate),
    /// Write the nodes of a CSV file into credgate's own SQL schema, all or none
    #[cfg(feature = "sql")]
    #[command(after_help = schema::IMPORT)]
    Import(schema::Import),
    /// Look one node up through a running gateway, as a registrar does
    #[command(after_help = lookup::EXAMPLES)]
    Lookup(lookup::Lookup),
    /// Make tokens
    #[command(subcommand)]
    Token(token::Token),
    /// Make a loopback deployment to try: CA, certificates, tokens, nodes, configuration
    #[command(after_help = init::EXAMPLES)]
    Init(init::Init),
    /// Print the gRPC protocol for clients in other languages
    #[command(after_help = proto::EXAMPLES)]
    Proto(proto::Proto),
    /// Print the version
    Version,
}

const FIRST_STEPS: &str = "\
First steps:
  credgate init gate                            a CA, tokens, sample nodes, a configuration
  credgate serve --config gate/credgate.toml    and `init` has printed how to ask it

Each command has a --help with examples.";

const SERVE: &str = "\
The log goes to standard error. SIGTERM and SIGINT stop it: lookups under way finish first, a second signal cuts them.
Changes of the configuration, of certificates and of tokens take a restart.

Exit codes:
  0   stopped, also during start
  1   an address that cannot be listened on, wrong usage
  69  the store is unreachable, refuses us, has the wrong schema, or did not open in time
  75  a lookup was cut, or provider work still ran, at the end of the drain
  78  configuration, certificates, CSV content, plugin import";

/// Where the configuration is.
#[derive(Args, Debug)]
struct Configured {
    /// Configuration file
    #[arg(long, value_name = "FILE", env = "CREDGATE_CONFIG")]
    config: PathBuf,
}

/// The command line itself, for manual pages and completions.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Reads the command line and does what it says.
pub fn run(kinds: &[Box<dyn Kind>]) -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell when standard error is closed.
            let _ = error.print();
            // clap's own 2 means "not found" here.
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Clean,
                _ => Exit::Failure,
            };
        }
    };
    match cli.command {
        Command::Serve(Configured { config }) => app::serve(&config, kinds),
        Command::CheckConfig(check) => check.run(kinds),
        #[cfg(feature = "sql")]
        Command::Migrate(migrate) => migrate.run(),
        #[cfg(feature = "sql")]
        Command::Import(import) => import.run(),
        Command::Lookup(lookup) => lookup.run(),
        Command::Token(token) => token.run(),
        Command::Init(init) => init.run(),
        Command::Proto(proto) => proto.run(),
        Command::Version => {
            out!("credgate {}", env!("CARGO_PKG_VERSION"));
            Exit::Clean
        }
    }
}

//! Writes manual pages and shell completions of `credgate` and `credgate-probe`, for packages:
//! `cargo run --example man -- target/man`.

use std::{env, ffi::OsString, fs, io, path::Path};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

#[path = "../probe/src/cli.rs"]
#[expect(dead_code, reason = "only the description is wanted")]
mod probe;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).unwrap_or_else(|| OsString::from("target/man"));
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for command in [credgate::cli::command(), probe::Arguments::command()] {
        clap_mangen::generate_to(plain(command.clone()), folder)?;
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            clap_complete::generate_to(shell, &mut command.clone(), command.get_name().to_owned(), folder)?;
        }
    }
    Ok(())
}

/// Without `help` as a command: nobody needs a page of it.
fn plain(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(plain)
}

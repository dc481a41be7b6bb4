//! Where processes and sockets are looked up.

use clap::ValueEnum;

use super::{Process, Table, Trouble, lsof, proc_net, procfs, ps, ss};

/// One way to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tables {
    /// /proc (Linux)
    Proc,
    /// the program ss, with /proc for the processes (Linux)
    Ss,
    /// the programs lsof and ps
    Lsof,
}

impl Tables {
    /// What suits this system.
    pub const DEFAULT: Self = if cfg!(target_os = "linux") { Self::Proc } else { Self::Lsof };

    /// The process of this number, unless it has ended.
    pub async fn find(self, id: u32) -> Result<Option<Process>, Trouble> {
        match self {
            Self::Proc | Self::Ss => procfs::find(id),
            Self::Lsof => Ok(ps::find(&ps::all().await?, id)),
        }
    }

    /// The sockets, marked for a process and its descendants.
    pub async fn sockets(self, process: &Process, connections: bool) -> Result<Table, Trouble> {
        match self {
            Self::Proc => proc_net::read(process, connections),
            Self::Ss => {
                let tree = procfs::tree(process.id)?;
                if !procfs::is_ours(process.id) {
                    return Err(procfs::needs_root(process.id));
                }
                ss::read(&tree, connections).await
            }
            Self::Lsof => {
                let rows = ps::all().await?;
                if !ps::may_look(&rows, process.id, rustix::process::geteuid().as_raw()) {
                    return Err(procfs::needs_root(process.id));
                }
                lsof::read(&ps::tree(&rows, process.id), connections).await
            }
        }
    }
}

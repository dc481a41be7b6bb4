//! Processes as Linux shows them under `/proc` (proc_pid_stat(5), proc_pid_task(5)).

use std::{fs, io, path::Path};

use super::{Process, Trouble};

/// The process of this number, unless there is none or it has ended and only waits to be reaped.
pub fn find(id: u32) -> Result<Option<Process>, Trouble> {
    let path = format!("/proc/{id}/stat");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let stat = Stat::parse(&text).ok_or_else(|| Trouble::Failed(format!("{path}: not as proc(5) says")))?;
            Ok((!stat.is_over()).then(|| Process { id, start: stat.start.to_owned() }))
        }
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(trouble(&path, id, &error)),
    }
}

/// The process and its descendants, those that ended meanwhile left out.
pub fn tree(root: u32) -> Result<Vec<u32>, Trouble> {
    let mut all = vec![root];
    let mut next = 0;
    while next < all.len() {
        let id = all[next];
        next += 1;
        match children(id) {
            Ok(children) => all.extend(children),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(trouble(&format!("/proc/{id}/task"), id, &error)),
        }
    }
    Ok(all)
}

/// Each thread has its own (CONFIG_PROC_CHILDREN); without that the parent of every process is read.
fn children(id: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{id}/task"))? {
        let path = thread?.path();
        match fs::read_to_string(path.join("children")) {
            Ok(text) => children.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok())),
            Err(error) if is_gone(&error) && path.exists() => return by_parent(id),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

fn by_parent(id: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(child) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(text) = fs::read_to_string(format!("/proc/{child}/stat")) else { continue };
        if Stat::parse(&text).is_some_and(|stat| stat.parent == id) {
            children.push(child);
        }
    }
    Ok(children)
}

/// Whether the error means that the process has ended.
pub fn is_gone(error: &io::Error) -> bool {
    // ESRCH: it ended between open and read.
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// What an unreadable file of a process means.
pub fn trouble(path: &str, id: u32, error: &io::Error) -> Trouble {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return needs_root(id);
    }
    Trouble::Failed(format!("{path}: {error}"))
}

/// Another user's process.
pub fn needs_root(id: u32) -> Trouble {
    Trouble::Refused(format!(
        "process {id} belongs to another user, and looking at its sockets needs root (CAP_SYS_PTRACE) or that user"
    ))
}

/// Whether we may look at a process of this number: root may, and its own user.
pub fn is_ours(id: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid();
    user.is_root() || Path::new(&format!("/proc/{id}")).metadata().is_ok_and(|data| data.uid() == user.as_raw())
}

/// The fields of `stat` that matter.
struct Stat<'a> {
    state: &'a str,
    parent: u32,
    threads: u32,
    /// In clock ticks since the boot.
    start: &'a str,
}

impl<'a> Stat<'a> {
    /// The second field is the name in parentheses, which may hold anything, parentheses and blanks included.
    fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // Fields 20 and 22; 4 was the last one read.
        let threads = fields.nth(15)?.parse().ok()?;
        let start = fields.nth(1)?;
        Some(Self { state, parent, threads, start })
    }

    /// Until its last thread has ended, a process still holds its sockets, though its first thread is a zombie.
    fn is_over(&self) -> bool {
        matches!(self.state, "Z" | "X" | "x") && self.threads <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text = |state: &str, threads: u32| {
            format!(
                "42 (a) Z 1 (b) {state} 7 42 42 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 {threads} 0 987654 1000 10 184467"
            )
        };
        for (state, threads, is_over) in [("S", 1, false), ("Z", 1, true), ("Z", 2, false), ("X", 1, true)] {
            let text = text(state, threads);
            let stat = Stat::parse(&text).unwrap();
            assert_eq!((stat.state, stat.parent, stat.start, stat.is_over()), (state, 7, "987654", is_over));
        }
        assert!(Stat::parse("42 (a").is_none() && Stat::parse("42 (a) S 7").is_none());
    }

    #[test]
    fn this_process_and_one_that_cannot_be() {
        let process = find(std::process::id()).unwrap().unwrap();
        assert!(process.start != "0" && is_ours(process.id));
        assert_eq!(find(u32::MAX), Ok(None));
    }
}

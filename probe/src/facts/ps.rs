//! Processes as `ps` shows them, where there is no `/proc`.

use super::{Process, Trouble, program};

/// One process.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    id: u32,
    parent: u32,
    user: u32,
    is_over: bool,
    /// `Mon Nov 30 00:06:45 2026`: to the second.
    start: String,
}

/// All processes of the host.
pub async fn all() -> Result<Vec<Row>, Trouble> {
    // An option each: elsewhere than on Linux the rest of a word behind `=` would be a heading.
    let columns = ["-A", "-o", "pid=", "-o", "ppid=", "-o", "uid=", "-o", "stat=", "-o", "lstart="];
    let output = program::run("ps", &columns, "install procps").await?;
    if !output.is_success {
        return Err(output.failure("ps"));
    }
    Ok(output.stdout.lines().filter_map(parse).collect())
}

/// The process of this number, unless it has ended.
pub fn find(rows: &[Row], id: u32) -> Option<Process> {
    let row = rows.iter().find(|row| row.id == id && !row.is_over)?;
    Some(Process { id, start: row.start.clone() })
}

/// The process and its descendants.
pub fn tree(rows: &[Row], root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while next < all.len() {
        let parent = all[next];
        next += 1;
        // A process may be its own parent: number 0.
        let children = rows.iter().filter(|row| row.parent == parent && row.id != parent).map(|row| row.id);
        all.extend(children);
    }
    all
}

/// Whether `user` may look at the process.
pub fn may_look(rows: &[Row], id: u32, user: u32) -> bool {
    user == 0 || rows.iter().all(|row| row.id != id || row.user == user)
}

fn parse(line: &str) -> Option<Row> {
    let mut fields = line.split_whitespace();
    let mut number = || fields.next()?.parse().ok();
    let (id, parent, user) = (number()?, number()?, number()?);
    let is_over = fields.next()?.starts_with('Z');
    let start: Vec<_> = fields.collect();
    Some(Row { id, parent, user, is_over, start: start.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_linux_and_darwin() {
        for text in [include_str!("fixtures/ps-linux"), include_str!("fixtures/ps-darwin")] {
            let rows: Vec<Row> = text.lines().filter_map(parse).collect();
            assert_eq!(rows.len(), text.lines().count());
            let process = find(&rows, 501).unwrap();
            assert_eq!(process.start, "Mon Nov 30 00:06:45 2026");
            assert_eq!(tree(&rows, 501), [501, 502, 504, 503]);
            assert_eq!(find(&rows, 504), None, "it has ended");
            assert_eq!(find(&rows, 9), None);
            assert!(may_look(&rows, 501, 0) && may_look(&rows, 501, 33) && !may_look(&rows, 501, 34));
        }
    }

    #[tokio::test]
    async fn the_real_ps() {
        let rows = all().await.unwrap();
        let id = std::process::id();
        assert!(find(&rows, id).is_some_and(|process| process.start.len() > 20));
        assert!(tree(&rows, id).contains(&id));
    }
}

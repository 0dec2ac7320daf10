//! Who started which process.

use std::fs;

/// The processes whose parent is `pid`, because it started them or took them over: their numbers and names. A name has 15 bytes at most.
/// Processes that ended and were not waited for are among them.
///
/// ```
/// use ringway_lab::program::children;
/// let mut child = std::process::Command::new("sleep").arg("3600").spawn()?;
/// let found = children(std::process::id());
/// child.kill()?;
/// child.wait()?;
/// assert!(found.iter().any(|(number, _)| *number == child.id()));
/// assert!(children(child.id()).is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn children(pid: u32) -> Vec<(u32, String)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = processes.filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read(entry.path().join("stat")).ok()?; // it may have ended by now
        let (name, parent) = name_and_parent(&String::from_utf8_lossy(&stat))?;
        (parent == pid).then_some((number, name))
    });
    found.collect()
}

/// The two words in the text of `/proc/PID/stat`. The name, in brackets, may hold anything. The parent is the second word behind it.
fn name_and_parent(stat: &str) -> Option<(String, u32)> {
    let (before, behind) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name.to_owned(), behind.split_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_hold_anything() {
        assert_eq!(name_and_parent("7 (a) b) (c) S 42 7 7 0"), Some(("a) b) (c".into(), 42)));
        assert_eq!(name_and_parent("7 (a"), None);
    }
}

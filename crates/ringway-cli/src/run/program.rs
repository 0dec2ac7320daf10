//! The program's file: where it is, and whether the dynamic linker puts libraries under it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

use crate::failure::Failure;

/// Scripts whose interpreter is a script, and so on: as deep as the kernel goes.
const DEPTH: u32 = 4;

/// The file that a shell would start.
pub(super) fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.as_bytes().contains(&b'/') {
        return Ok(name.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| is_executable(file));
    file.ok_or_else(|| Failure::Other(format!("{}: there is no such program in PATH", name.display())))
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Refuses a program that the libraries can't be put under.
pub(super) fn check(file: &Path) -> Result<(), Failure> {
    check_at(file, DEPTH)
}

fn check_at(file: &Path, depth: u32) -> Result<(), Failure> {
    let refuse = |what: &str| Err(Failure::Other(format!("{}: {what}", file.display())));
    let Ok(mut open) = File::open(file) else {
        // One that may be run but not read is judged by its rights only.
        return if file.exists() { check_rights(file) } else { refuse("there is no such file") };
    };
    if file.is_dir() {
        return refuse("it is a directory");
    }
    if !is_executable(file) {
        return refuse("it may not be executed; see its permissions");
    }
    check_rights(file)?;
    let mut head = [0; 256];
    let got = open.read(&mut head).unwrap_or(0);
    let head = &head[..got];
    if let Some(script) = head.strip_prefix(b"#!") {
        return match depth {
            0 => refuse("its interpreter is a script too often"),
            _ => interpreters(script).iter().try_for_each(|i| check_at(i, depth - 1)),
        };
    }
    match interpreter(&open, head) {
        Some(true) => Ok(()),
        Some(false) => refuse(
            "it is linked statically: there is no dynamic linker to put libraries under it; use a dynamically linked build",
        ),
        None => {
            refuse("it is neither a program of this machine's architecture nor a script that starts with #!")
        }
    }
}

/// A program that gains rights is started without `LD_PRELOAD`, so that its caller can't misuse them.
fn check_rights(file: &Path) -> Result<(), Failure> {
    let Ok(meta) = fs::metadata(file) else { return Ok(()) };
    let mode = meta.permissions().mode();
    let other_user = mode & 0o4000 != 0 && meta.uid() != geteuid().as_raw();
    let other_group = mode & 0o2000 != 0 && meta.gid() != getegid().as_raw();
    let capabilities = !geteuid().is_root()
        && rustix::fs::getxattr(file, "security.capability", &mut [0u8; 64]).is_ok_and(|n| n > 0);
    let how = match (other_user, other_group, capabilities) {
        (true, ..) => "setuid",
        (_, true, _) => "setgid",
        (.., true) => "file capabilities",
        _ => return Ok(()),
    };
    Err(Failure::Other(format!(
        "{}: it gains rights when it is started ({how}), and then no library is put under it; run it as a user who has them, such as root",
        file.display()
    )))
}

/// The interpreter that the first line names, and what `env` is told to start.
fn interpreters(line: &[u8]) -> Vec<PathBuf> {
    let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut words = line.split(|b| b" \t".contains(b)).filter(|w| !w.is_empty()).map(OsStr::from_bytes);
    let Some(first) = words.next().map(PathBuf::from) else { return Vec::new() };
    let behind = words.next().filter(|_| first.ends_with("env")).and_then(|name| find(name).ok());
    std::iter::once(first).chain(behind).collect()
}

/// Whether an ELF file asks for a dynamic linker; `None` when it is none of this machine. Offsets are those of elf(5) for 64 bits.
fn interpreter(file: &File, head: &[u8]) -> Option<bool> {
    const SEGMENT: usize = 56;
    const INTERPRETER: u32 = 3;
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    if !head.starts_with(b"\x7fELF\x02") || head.get(18..20)? != machine.to_le_bytes() {
        return None;
    }
    let offset = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?);
    let count = u16::from_le_bytes(head.get(56..58)?.try_into().ok()?);
    let mut segments = vec![0; SEGMENT * usize::from(count)];
    file.read_exact_at(&mut segments, offset).ok()?;
    Some(segments.chunks(SEGMENT).any(|s| s.starts_with(&INTERPRETER.to_le_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_programs_and_scripts_pass() {
        assert!(check(Path::new("/bin/sh")).is_ok());
        assert!(find(OsStr::new("sh")).is_ok_and(|f| f.ends_with("sh")));
        assert!(find(OsStr::new("no-such-program-here")).is_err());
        assert!(check(Path::new("/no/such/file")).unwrap_err().to_string().contains("no such file"));
        let why = |file| check(Path::new(file)).unwrap_err().to_string();
        assert!(why("/etc/passwd").contains("may not be executed"));
        assert!(why("/etc").contains("a directory"));
    }

    #[test]
    fn interpreters_of_scripts() {
        assert_eq!(interpreters(b" /bin/sh -e\nexit"), [PathBuf::from("/bin/sh")]);
        let env = interpreters(b"/usr/bin/env sh\n");
        assert!(env.len() == 2 && env[1].ends_with("sh"), "{env:?}");
        assert!(interpreters(b"\n").is_empty());
    }
}

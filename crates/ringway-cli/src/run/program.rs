//! The program's file: where it is, and whether the dynamic linker puts libraries under it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

use crate::errors;
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
    file.ok_or_else(|| {
        Failure::Other(
            errors::processes::NO_PROGRAM,
            format!("{}: there is no such program in PATH", name.display()),
        )
    })
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// What is known of a program that libraries can be put under.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Program {
    /// Whether it is compiled by Go, whose runtime makes system calls without libc.
    pub(super) is_go: bool,
}

/// Looks at a program, and refuses one that the library can't be put under.
pub(super) fn check(file: &Path) -> Result<Program, Failure> {
    check_at(file, DEPTH)
}

fn check_at(file: &Path, depth: u32) -> Result<Program, Failure> {
    let refuse = |what: &str| {
        Err(Failure::Other(errors::processes::PROGRAM_REFUSED, format!("{}: {what}", file.display())))
    };
    let Ok(mut open) = File::open(file) else {
        // One that may be run but not read is judged by its rights only.
        return if file.exists() {
            check_rights(file).map(|()| Program::default())
        } else {
            refuse("there is no such file")
        };
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
            _ => interpreters(script).iter().try_fold(Program::default(), |_, i| check_at(i, depth - 1)),
        };
    }
    let Some(segments) = segments(&open, head) else {
        return refuse(
            "it is neither a program of this machine's architecture nor a script that starts with #!",
        );
    };
    if !segments.iter().any(|s| s.kind == INTERPRETER) {
        return refuse(
            "it is linked statically: there is no dynamic linker to put libraries under it; use a dynamically linked build",
        );
    }
    Ok(Program { is_go: segments.iter().any(|s| s.is_of_go(&open)) })
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
    Err(Failure::Other(
        errors::processes::PROGRAM_REFUSED,
        format!(
            "{}: it gains rights when it is started ({how}), and then no library is put under it; run it as a user who has them, such as root",
            file.display()
        ),
    ))
}

/// The interpreter that the first line names, and the program that `env` starts.
fn interpreters(line: &[u8]) -> Vec<PathBuf> {
    let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut words = line.split(|b| b" \t".contains(b)).filter(|w| !w.is_empty()).map(OsStr::from_bytes);
    let Some(first) = words.next().map(PathBuf::from) else { return Vec::new() };
    let behind = words.next().filter(|_| first.ends_with("env")).and_then(|name| find(name).ok());
    std::iter::once(first).chain(behind).collect()
}

/// Kinds of [`Segment`]s.
const INTERPRETER: u32 = 3;
const NOTE: u32 = 4;

/// A part of an ELF file.
struct Segment {
    kind: u32,
    offset: u64,
    size: u64,
}

impl Segment {
    /// Whether it has the note that Go's linker writes.
    fn is_of_go(&self, file: &File) -> bool {
        let mut notes = vec![0; self.size.min(4096) as usize];
        self.kind == NOTE && file.read_exact_at(&mut notes, self.offset).is_ok() && has_note(&notes, b"Go\0")
    }
}

/// Whether one of the notes has that name. Each is the sizes of its name and of what follows, a type, then both, padded to words.
fn has_note(mut notes: &[u8], name: &[u8]) -> bool {
    while let Some((head, rest)) = notes.split_at_checked(12) {
        let size = |at: usize| head[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        if rest.get(..size(0)) == Some(name) {
            return true;
        }
        let skip = size(0).next_multiple_of(4) + size(4).next_multiple_of(4);
        notes = rest.get(skip..).unwrap_or_default();
    }
    false
}

/// The segments of an ELF file; `None` when it is none of this machine. elf(5) has the offsets, for 64 bits.
fn segments(file: &File, head: &[u8]) -> Option<Vec<Segment>> {
    const SIZE: usize = 56;
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    if !head.starts_with(b"\x7fELF\x02") || head.get(18..20)? != machine.to_le_bytes() {
        return None;
    }
    let offset = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?);
    let count = u16::from_le_bytes(head.get(56..58)?.try_into().ok()?);
    let mut table = vec![0; SIZE * usize::from(count)];
    file.read_exact_at(&mut table, offset).ok()?;
    let segment = |s: &[u8]| {
        let kind = u32::from_le_bytes(s.get(..4)?.try_into().ok()?);
        let word = |at: usize| Some(u64::from_le_bytes(s.get(at..at + 8)?.try_into().ok()?));
        Some(Segment { kind, offset: word(8)?, size: word(32)? })
    };
    table.chunks(SIZE).map(segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_programs_and_scripts_pass() {
        assert_eq!(check(Path::new("/bin/sh")).unwrap(), Program { is_go: false });
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
    #[test]
    fn notes_are_found_behind_others() {
        let note = |name: &[u8], rest: &[u8]| {
            let sizes = [name.len() as u32, rest.len() as u32, 4].map(u32::to_le_bytes).concat();
            let padded =
                |bytes: &[u8]| [bytes, &[0; 3][..bytes.len().next_multiple_of(4) - bytes.len()]].concat();
            [sizes, padded(name), padded(rest)].concat()
        };
        let notes = [note(b"GNU\0", &[7; 5]), note(b"Go\0", &[1; 83])].concat();
        assert!(has_note(&notes, b"Go\0"));
        assert!(
            !has_note(&notes[..38], b"Go\0")
                && !has_note(&notes, b"Rust\0")
                && !has_note(&[0xff; 40], b"Go\0")
        );
    }
}

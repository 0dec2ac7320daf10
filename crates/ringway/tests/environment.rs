//! A process that has more rights than its user does not let that user choose its files: its variables are
//! not believed.
#![allow(unsafe_code, reason = "it changes the rights and the environment of its process")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const CHILD: &str = "RINGWAY_TEST_CHILD";
const NOBODY: u32 = 65534;
const CAP_NET_RAW: u32 = 13;

/// Says what it believes; does nothing in an ordinary run of the tests.
#[test]
fn child_says_what_it_believes() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let rights = status.lines().find_map(|line| line.strip_prefix("CapPrm:\t")).unwrap();
    let [dir, home, child] =
        ["RINGWAY_DIR", "XDG_RUNTIME_DIR", CHILD].map(|name| ringway::environment(name).is_some());
    println!("rights={rights} dir={dir} home={home} child={child} used={:?}", ringway::dirs::run_directory());
    println!("switches={:?}", ringway::pinned::root());
    println!("ports={:?}", ringway::environment("RINGWAY_MAP"));
    println!("bound={:?}", ringway::environment("RINGWAY_BATCH_US"));
}

/// A directory that everybody may look at, and that goes away with its test.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Gives a file a capability, as `setcap cap_net_raw+ep` does (`struct vfs_cap_data` of linux/capability.h,
/// revision 2).
fn give_capability(file: &Path) -> std::io::Result<()> {
    let words = [0x0200_0001_u32, 1 << CAP_NET_RAW, 0, 0, 0];
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = std::ffi::CString::new(file.as_os_str().as_bytes()).unwrap();
    let name = c"security.capability".as_ptr();
    // SAFETY: a NUL-terminated path and name, and a value with its length.
    let set = unsafe { libc::setxattr(path.as_ptr(), name, value.as_ptr().cast(), value.len(), 0) };
    if set < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// What the child says as a user without rights, of a program that is `file`.
fn ask(file: &Path) -> String {
    let mut command = Command::new(file);
    command.args(["--exact", "child_says_what_it_believes", "--nocapture"]).uid(NOBODY).gid(NOBODY);
    command.env(CHILD, "1").env("RINGWAY_DIR", "/tmp/theirs").env("XDG_RUNTIME_DIR", "/tmp/theirs");
    command
        .env("RINGWAY_BPFFS", "/tmp/theirs")
        .env("RINGWAY_MAP", "eth0=null:")
        .env("RINGWAY_BATCH_US", "77");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_program_with_capabilities_does_not_believe_its_user() {
    // SAFETY: no arguments, can't fail.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("SKIP: giving a file capabilities needs root; run these tests with sudo");
    }
    let place = Place(std::env::temp_dir().join(format!("ringway-secure-{}", std::process::id())));
    fs::DirBuilder::new().mode(0o755).create(&place.0).unwrap();
    fs::set_permissions(&place.0, fs::Permissions::from_mode(0o755)).unwrap();
    let file = place.0.join("child");
    fs::copy(std::env::current_exe().unwrap(), &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();

    let said = ask(&file);
    for word in [
        "dir=true home=true child=true used=Some(\"/tmp/theirs\")",
        "switches=\"/tmp/theirs\"",
        "ports=Some(\"eth0=null:\")",
        "bound=Some(\"77\")",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    if let Err(e) = give_capability(&file) {
        return eprintln!("SKIP: {} takes no capabilities of files: {e}", place.0.display());
    }
    let said = ask(&file);
    if said.contains("rights=0000000000000000") {
        return eprintln!(
            "SKIP: {} is mounted nosuid: capabilities of files have no effect there",
            place.0.display()
        );
    }
    for word in [
        "dir=false home=false child=false used=None",
        "switches=\"/sys/fs/bpf/ringway\"",
        "ports=None",
        "bound=None",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

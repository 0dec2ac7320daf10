//! What other users try on a router's directories and files, and that root ends no process but the router's.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bed::Bed;
use crate::support::room::{NOBODY, Room};
use crate::support::{LIMIT, spawn};

const NAME: &str = "vale0";
const ADD: [&str; 3] = ["router", "add", NAME];
const DEL: [&str; 3] = ["router", "del", NAME];

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A command of the room with a umask that takes no right away.
fn without_umask(room: &Room, args: &[&str]) -> Command {
    let mut command = room.command(args);
    let environment: Vec<_> =
        command.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
    let program = command.get_program().to_owned();
    command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(program).args(args).envs(environment);
    command.stdin(Stdio::null());
    command
}

/// All that lies below a directory: path and mode.
fn below(dir: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        found.push((entry.path().display().to_string(), mode(entry.path())));
        if entry.file_type().unwrap().is_dir() {
            found.extend(below(&entry.path()));
        }
    }
    found
}

/// Whether a user without rights gets the lock on a directory: what `flock` says when not.
fn lock_as_nobody(dir: &str) -> Result<(), String> {
    let tried = Command::new("flock").args(["-n", dir, "true"]).uid(NOBODY).gid(NOBODY).output().unwrap();
    if tried.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&tried.stderr).into_owned()) }
}

fn end(bed: &Bed) {
    let pid = nix::unistd::Pid::from_raw(bed.pid(NAME).unwrap() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).unwrap();
    bed.room.until(|| bed.pid(NAME).is_none());
}

#[test]
fn nothing_of_a_router_is_open_to_others() {
    let Some(bed) = Bed::new() else { return };
    let made = spawn(&mut without_umask(&bed.room, &[&ADD[..], &["--json"]].concat())).end().json();
    assert_eq!(made["members"].as_array().unwrap().len(), 2);
    let router = bed.room.path("bpf/ringway/vale0");
    let mut all = below(Path::new(&router));
    assert!(
        ["control", "tables/fib4", "member/ra/tcx", "taken"]
            .iter()
            .all(|name| { all.iter().any(|(path, _)| *path == format!("{router}/{name}")) })
    );
    all.extend(below(Path::new(&bed.room.path("run"))));
    all.retain(|(_, mode)| mode & 0o077 != 0);
    assert!(all.is_empty(), "{all:?}");

    let control = format!("{router}/control");
    let seen = Command::new("stat").arg(&control).uid(NOBODY).gid(NOBODY).output().unwrap();
    assert!(seen.status.success(), "the user gets as far as that directory: {seen:?}");
    let refused = lock_as_nobody(&control).unwrap_err();
    assert!(refused.contains("Permission denied"), "{refused}");
    end(&bed);
    assert!(lock_as_nobody(&control).is_err(), "nor when no process has it");

    // as an earlier version made them
    for (dir, before) in [("control", 0o755), ("member", 0o755), ("taken", 0o777)] {
        fs::set_permissions(format!("{router}/{dir}"), fs::Permissions::from_mode(before)).unwrap();
    }
    lock_as_nobody(&control).unwrap();
    assert_eq!(bed.room.json(&ADD)["taken_over"], true);
    assert_eq!(["control", "member", "taken"].map(|dir| mode(format!("{router}/{dir}"))), [0o700; 3]);
    bed.room.json(&DEL);
}

/// A process that ends with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

/// A process that has the lock on a directory, taken by another one, which ended: that one's number.
fn lock_by_heir(dir: &str) -> (Killed, u32) {
    let script =
        "exec 9<\"$1\"; flock -x 9 & taker=$!; wait $taker && echo $taker && exec sleep 100000 >/dev/null";
    let mut heir = Command::new("sh");
    heir.args(["-c", script, "sh", dir]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut heir = Killed(heir.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(heir.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (heir, line.trim().parse().unwrap())
}

/// A process of root's with this number, which no process has; `None` where numbers can't be chosen.
fn with_number(pid: u32) -> Option<Killed> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        let child = Killed(Command::new("sleep").arg("100000").stdin(Stdio::null()).spawn().unwrap());
        if child.0.id() == pid {
            return Some(child);
        }
    }
    None
}

#[test]
fn only_the_router_s_own_process_is_ended() {
    let Some(bed) = Bed::new() else { return };
    bed.room.json(&ADD);
    end(&bed);
    let control = bed.room.path("bpf/ringway/vale0/control");
    let (mut heir, taker) = lock_by_heir(&control);
    let setup = bed.room.path("run/vale0.json");
    let refused = |heir: &mut Killed| {
        let begun = Instant::now();
        let tried = bed.room.run(&DEL);
        let said = tried.error(1);
        assert!(begun.elapsed() < LIMIT);
        for word in
            [&format!("process {} (sleep)", heir.0.id()), &format!("`fuser -v {control}`"), "try again"]
        {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert!(heir.lives(), "it was not ended: {said}");
        assert!(Path::new(&setup).exists(), "nothing was removed: {said}");
    };
    refused(&mut heir);
    match with_number(taker) {
        Some(mut innocent) if bed.pid(NAME) == Some(u64::from(taker)) => {
            refused(&mut heir);
            assert!(innocent.lives(), "a process that only has the number of the one that took the lock");
        }
        _ => eprintln!("SKIP: the number of a process can't be chosen here"),
    }
    assert!(bed.room.run(&ADD).error(1).contains("vale0"), "a router whose lock is held is not taken over");
    drop(heir);
    bed.room.json(&DEL);
    assert!(!Path::new(&setup).exists());
}

/// Where another user may write, links lie under the names of a router's files.
fn plant(dir: &str, canary: &str) -> Vec<String> {
    let names =
        ["log", "pid", "pid.new", "json", "json.new", "sock"].map(|suffix| format!("{dir}/{NAME}.{suffix}"));
    names.iter().for_each(|name| symlink(canary, name).unwrap());
    symlink(canary, format!("{dir}/ports")).unwrap();
    names.to_vec()
}

#[test]
fn run_directories_of_others_are_refused() {
    let Some(bed) = Bed::new() else { return };
    let canary = bed.room.path("canary");
    fs::write(&canary, "alive").unwrap();
    fs::set_permissions(&canary, fs::Permissions::from_mode(0o600)).unwrap();
    for (name, owner, rights, word) in [
        ("theirs", NOBODY, 0o755, "the directory belongs to user 65534"),
        ("shared", 0, 0o777, "others may write: the directory has mode 0777"),
        ("sticky", 0, 0o1777, "others may write: the directory has mode 1777"),
    ] {
        let dir = bed.room.path(name);
        fs::create_dir(&dir).unwrap();
        let planted = plant(&dir, &canary);
        fs::set_permissions(&dir, fs::Permissions::from_mode(rights)).unwrap();
        chown(&dir, Some(owner), None).unwrap();
        let run = |args: &[&str]| spawn(bed.room.command(args).env("RINGWAY_DIR", &dir)).end();
        let foreground = [&ADD[..], &["--foreground"]].concat();
        let pipe = ["pkt-gen", "-i", "pipe:x{1", "-f", "tx", "-n", "1"];
        for args in [&ADD[..], &foreground, &pipe] {
            let tried = run(args);
            assert!(tried.code == Some(1) && tried.stderr.contains(word), "{args:?}: {tried:?}");
            assert!(tried.stderr.contains("RINGWAY_DIR"), "the cure is there: {tried:?}");
        }
        let listed = run(&["stats"]);
        assert!(
            listed.stderr.contains("open ports are not listed") && listed.stderr.contains(word),
            "{listed:?}"
        );
        run(&DEL);
        assert!(
            planted.iter().all(|link| fs::symlink_metadata(link).unwrap().is_symlink()),
            "nothing was removed"
        );
        assert_eq!((fs::read_to_string(&canary).unwrap(), mode(&canary)), ("alive".into(), 0o600), "{name}");
        assert!(!Path::new(&bed.room.path("bpf/ringway/vale0")).exists());
    }
    let link = bed.room.path("link");
    symlink(bed.room.path("run"), &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(NOBODY), None).unwrap();
    let tried = spawn(bed.room.command(&ADD).env("RINGWAY_DIR", &link)).end();
    assert!(tried.error(1).contains("symbolic link of user 65534"), "{tried:?}");
    assert_eq!(fs::read_dir(bed.room.path("run")).unwrap().count(), 0);
}

//! Switches and ports that are made, opened and removed: by those who may not, twice, by several at once, and by processes
//! that are killed on the way. Needs root; says so and passes without.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringway::switch::{PortAccess, Switch, SwitchSpec, switches};
use ringway::{Error, ErrorKind, OpenOptions, Port, Waiter};

use support::eventually;
use support::switch::{Temporary, files, unused_name};
use support::{Random, Running, assert_clear, child, child_command, cpu_time, role};

fn small() -> SwitchSpec {
    SwitchSpec { slots: 64, ..SwitchSpec::default() }
}

/// Names under the directory of all switches that speak of this one.
fn left_of(name: &str) -> Vec<String> {
    let all = fs::read_dir("/sys/fs/bpf/ringway").unwrap().flatten();
    all.filter_map(|e| e.file_name().into_string().ok())
        .filter(|n| n.trim_start_matches('~') == name)
        .collect()
}

fn status(mut child: Running) -> i32 {
    child.0.wait().unwrap().code().unwrap()
}

/// A child that ends well when the errors of one who may nothing are clear.
#[test]
fn has_no_rights() {
    let Some(words) = role() else { return };
    // SAFETY: no pointers.
    assert_eq!(unsafe { [libc::setgid(65534), libc::setuid(65534)] }, [0, 0]);
    let (switch, name) = (&words[0], format!("{}:p1", words[0]));
    assert_clear(&Port::open(&name).unwrap_err(), ErrorKind::Denied, &name, "access");
    let other = format!("{switch}:other");
    assert_clear(&Port::open(&other).unwrap_err(), ErrorKind::NotFound, &other, "root");
    for e in [Switch::open(switch).unwrap_err(), Switch::create("valenobody", &small()).unwrap_err()] {
        assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
    }
    Port::open(&format!("{switch}:mine")).unwrap();
}

#[test]
fn errors_are_clear_and_leave_nothing() {
    let Some(switch) = Temporary::new(&small()) else { return };
    let name = switch.name();
    let port = |p: &str| format!("{name}:{p}");
    switch.add(&["p1"]);
    switch.add_port("mine", &PortAccess { uid: Some(65534), ..PortAccess::default() }).unwrap();
    let passable =
        fs::metadata("/sys/fs/bpf").is_ok_and(|m| std::os::unix::fs::MetadataExt::mode(&m) & 1 != 0);
    if passable {
        assert_eq!(status(child("has_no_rights", name)), 0);
    } else {
        eprintln!("SKIP: only root may look into /sys/fs/bpf here");
    }
    assert_clear(&Switch::create(name, &small()).unwrap_err(), ErrorKind::Busy, name, "vale");
    let twice = switch.add_port("p1", &PortAccess::default()).unwrap_err();
    assert_clear(&twice, ErrorKind::Busy, &port("p1"), "another name");
    for bad in ["", "a b", "a/b", "..", "~a", &"x".repeat(32)] {
        assert_eq!(
            switch.add_port(bad, &PortAccess::default()).unwrap_err().kind(),
            ErrorKind::BadName,
            "{bad}"
        );
        assert!(Port::open(&port(bad)).is_err(), "{bad}");
    }
    for bad in ["vale/x", "..", "switch", "vale0123456789ab"] {
        assert_eq!(Switch::create(bad, &small()).unwrap_err().kind(), ErrorKind::BadName, "{bad}");
    }
    assert_clear(
        &Port::open("valenone:p1").unwrap_err(),
        ErrorKind::NotFound,
        "valenone",
        "ringway switch add",
    );
    let open = switch.open("p1");
    assert_clear(&Port::open(&port("p1")).unwrap_err(), ErrorKind::Busy, &port("p1"), "");
    assert_eq!(switch.del_port("p1", false).unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(Switch::open(name).unwrap().delete().unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(switch.ports().len(), 2, "nothing was done");
    assert_eq!(OpenOptions::new().slots(512).open(&port("p1")).unwrap_err().kind(), ErrorKind::Unsupported);
    drop(open);
    assert_eq!(switch.del_port("p9", false).unwrap_err().kind(), ErrorKind::NotFound);
    let mut open = switch.open("p1");
    switch.del_port("p1", true).unwrap();
    let gone = std::iter::repeat_with(|| {
        thread::sleep(Duration::from_millis(1));
        open.rx[0].sync().err()
    });
    assert_eq!(gone.take(2000).flatten().next().map(|e| e.kind()), Some(ErrorKind::Gone));
    drop(open);
    assert_eq!(switch.ports().len(), 1);
    assert_eq!(left_of(name), [name]);
}

/// A child that ends well when a plain directory is refused as one for switches.
#[test]
fn finds_no_bpffs() {
    let Some(words) = role() else { return };
    let e = Switch::create("valenone", &small()).unwrap_err();
    assert_clear(&e, ErrorKind::Unfit, &words[0], "RINGWAY_BPFFS");
    assert_eq!(Switch::open("valenone").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::read_dir(&words[0]).unwrap().count(), 0, "nothing was made in it");
}

#[test]
fn a_plain_directory_is_refused() {
    let Some(name) = unused_name() else { return };
    let dir = std::env::temp_dir().join(name);
    fs::create_dir(&dir).unwrap();
    let mut command = child_command("finds_no_bpffs", dir.to_str().unwrap());
    let ended = command.env("RINGWAY_BPFFS", &dir).status();
    fs::remove_dir_all(&dir).unwrap();
    assert!(ended.unwrap().success());
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()
}

/// A child that makes something at a given moment: ends with 0 when it did, with 3 when another one was first.
#[test]
fn makes_at_a_moment() {
    let Some(words) = role() else { return };
    let when: u128 = words[2].parse().unwrap();
    while now_ms() < when {
        std::hint::spin_loop();
    }
    let made: Result<(), Error> = match words[0].as_str() {
        "switch" => Switch::create(&words[1], &small()).map(drop),
        "port" => Switch::open(&words[1]).and_then(|s| s.add_port("same", &PortAccess::default())).map(drop),
        _ => Port::open(&format!("{}:same", words[1])).map(|p| {
            // Until the other one has ended.
            let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
            drop(p);
        }),
    };
    match made {
        Ok(()) => std::process::exit(0),
        Err(e) if e.kind() == ErrorKind::Busy => std::process::exit(3),
        Err(e) => panic!("{e}"),
    }
}

/// Two children do the same at once; exactly one succeeds.
fn race(what: &str, switch: &str) {
    let when = now_ms() + 300;
    let mut children = [(); 2].map(|()| child("makes_at_a_moment", &format!("{what} {switch} {when}")));
    if what == "open" {
        eventually("one is refused", || {
            match children.iter_mut().any(|c| c.0.try_wait().unwrap().is_some()) {
                true => Ok(()),
                false => Err("both are there".into()),
            }
        });
    }
    let mut ends = children.map(status);
    ends.sort_unstable();
    assert_eq!(ends, [0, 3], "{what}");
}

/// A directory in which a BPF file system is to be mounted; what is mounted goes away with the test.
struct Bare(std::path::PathBuf);

impl Bare {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }

    /// How many are mounted there, one over the other.
    fn mounts(&self) -> usize {
        let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
        all.lines().filter(|l| l.split(' ').nth(4) == self.0.to_str()).count()
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        for _ in 0..self.mounts() {
            let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// Neither mounts over the other's switch, or fails because the other one was faster.
#[test]
fn two_make_the_first_ones_at_once() {
    for _ in 0..8 {
        let Some(name) = unused_name() else { return };
        let bare = Bare::new(&name);
        let when = now_ms() + 300;
        let ends = ["valea", "valeb"]
            .map(|switch| {
                let mut command = child_command("makes_at_a_moment", &format!("switch {switch} {when}"));
                Running(command.env("RINGWAY_BPFFS", bare.0.join("ringway")).spawn().unwrap())
            })
            .map(status);
        assert_eq!((ends, bare.mounts()), ([0, 0], 1));
        assert!(["valea", "valeb"].iter().all(|switch| bare.0.join("ringway").join(switch).is_dir()));
    }
}

#[test]
fn two_make_the_same_at_once() {
    for round in 0..20 {
        let Some(name) = unused_name() else { return };
        race("switch", &name);
        let switch = Switch::open(&name).unwrap();
        race("port", &name);
        assert_eq!(switch.ports().len(), 1);
        switch.del_port("same", false).unwrap();
        if round < 5 {
            race("open", &name);
            assert_eq!(switch.ports(), []);
        }
        switch.delete().unwrap();
        assert!(left_of(&name).is_empty());
    }
}

/// A child: makes and removes a switch and its ports, until it is killed.
#[test]
fn makes_and_removes() {
    let Some(words) = role() else { return };
    loop {
        let switch = Switch::create(&words[0], &small()).or_else(|_| Switch::open(&words[0])).unwrap();
        for port in ["a", "b"] {
            let _ = switch.add_port(port, &PortAccess::default());
        }
        drop(Port::open(&format!("{}:e", words[0])).unwrap());
        switch.del_port("a", false).unwrap();
        switch.delete().unwrap();
    }
}

/// Removes a switch at the end, also of a test that fails.
struct Remove(String);

impl Drop for Remove {
    fn drop(&mut self) {
        if let Ok(switch) = Switch::open(&self.0) {
            let _ = switch.delete();
        }
    }
}

#[test]
fn makers_are_killed() {
    let Some(name) = unused_name() else { return };
    let removed = Remove(name.clone());
    let mut random = Random(1);
    let kills: u64 = std::env::var("RINGWAY_KILLS").map_or(30, |n| n.parse().unwrap());
    for k in 0..kills {
        let mut running = child("makes_and_removes", &name);
        thread::sleep(Duration::from_micros(20_000 + random.below(1_500_000)));
        assert_eq!(running.kill(), Some(9), "child {k} found something wrong");
        // Whatever there is can be used, and what is not there can be made.
        let switch = match Switch::open(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => Switch::create(&name, &small()).unwrap(),
            r => r.unwrap(),
        };
        for port in ["a", "b"] {
            let there = switch.ports().iter().any(|p| p.name == port);
            assert_eq!(switch.add_port(port, &PortAccess::default()).is_err(), there, "child {k}");
        }
        let [mut a, mut b] = ["a", "b"].map(|p| Port::open(&format!("{name}:{p}")).unwrap());
        assert!(a.tx[0].push(&[[0xff; 6], [2; 6]].concat().into_iter().chain([0; 50]).collect::<Vec<u8>>()));
        a.tx[0].sync().unwrap();
        assert_eq!(b.rx[0].sync().unwrap(), 1, "child {k}");
        b.rx[0].burst(1).for_each(drop);
        b.rx[0].sync().unwrap();
        drop((a, b));
        assert_eq!(switch.ports().len(), 2);
        let dirs = fs::read_dir(files(&name, "")).unwrap().count();
        assert_eq!(dirs, 2, "child {k}");
        if k % 2 == 0 {
            switch.delete().unwrap();
        }
        if !switches().contains(&name) {
            // Its maker cleans up what is left of an earlier removal.
            Switch::create(&name, &small()).unwrap().delete().unwrap();
            assert!(left_of(&name).is_empty(), "child {k}: {:?}", left_of(&name));
        }
    }
    drop(removed);
    assert!(!Path::new("/sys/fs/bpf/ringway").join(&name).exists());
}

/// There is no daemon, so a switch costs what those who have its ports open cost.
#[test]
fn an_idle_switch_costs_no_cpu() {
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    switch.add(&["p1", "p2"]);
    let (mut port, mut other) = (switch.open("p1"), switch.open("p2"));
    let mut waiter = Waiter::new(Duration::from_micros(20)).unwrap();
    let (cpu, start) = (cpu_time(), Instant::now());
    while start.elapsed() < Duration::from_secs(1) {
        assert!(!waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(250)).unwrap());
    }
    let (used, wall) = (cpu_time() - cpu, start.elapsed());
    assert!(used.as_secs_f64() < 0.01 * wall.as_secs_f64(), "{used:?} of {wall:?}");
    // It waited where frames arrive.
    assert!(other.tx[0].push(&[0xff; 60]));
    other.tx[0].sync().unwrap();
    assert!(waiter.wait(&mut [&mut port.rx[0]], Duration::from_secs(5)).unwrap());
}

//! A namespace with the veth a0-a1, a switch, and programs that run there.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ringway::switch::{PortAccess, Switch, SwitchSpec};
use ringway::{OpenOptions, Port};
use ringway_lab::{AnyError, Lab};

pub(crate) const ROLE: &str = "RINGWAY_TEST_CHILD";

/// Address of a0.
pub(crate) const OWN: [u8; 6] = [2, 0, 0, 0, 0, 0xa0];

/// No wait may take longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Run {
    /// What it printed.
    pub(crate) lines: Vec<String>,
    /// What arrived at the far end, by [`ringway`]'s own receive.
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) errors: String,
}

pub(crate) struct Host {
    lab: Lab,
    switch: Option<Switch>,
    other: Mutex<Option<Switch>>,
}

impl Drop for Host {
    fn drop(&mut self) {
        let other = self.other.lock().unwrap().take();
        for s in self.switch.take().into_iter().chain(other) {
            s.delete().unwrap();
        }
    }
}

impl Host {
    pub(crate) fn new() -> Option<Self> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        if !ringway_lab::is_root() {
            eprintln!("SKIP: packet sockets need root; run the tests with sudo");
            return None;
        }
        let lab = Lab::new().unwrap();
        lab.ip("link set lo up").unwrap();
        lab.veth("a0", "a1").unwrap();
        lab.ip("link set a0 address 02:00:00:00:00:a0").unwrap();
        let name = format!("vale-s{}-{}", std::process::id() % 100_000, SERIAL.fetch_add(1, Relaxed));
        let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
        let host = Self { lab, switch: Some(switch), other: Mutex::new(None) };
        // Made once: each time that a port is made its program is verified.
        for port in ["p1", "p2"] {
            host.switch.as_ref().unwrap().add_port(port, &PortAccess::default()).unwrap();
        }
        Some(host)
    }

    pub(crate) fn port(&self, name: &str) -> String {
        format!("{}:{name}", self.switch.as_ref().map_or("", Switch::name))
    }

    /// Runs the program on the kernel's sockets; it gets `frames` once it is ready.
    pub(crate) fn plain(&self, words: &str, frames: &[Vec<u8>]) -> Run {
        let far = self.lab.run(|| Ok::<_, AnyError>(Port::open("packet:a1")?)).unwrap();
        self.run(far, self.program(words), frames)
    }

    /// Runs it with the library before libc, with a port of the switch in place of a0 if `map`.
    pub(crate) fn shimmed(&self, words: &str, frames: &[Vec<u8>], map: bool, more: &[(&str, &str)]) -> Run {
        let mut program = self.program(words);
        program.env("LD_PRELOAD", library()).env("RINGWAY_VERBOSE", "1").envs(more.iter().copied());
        let far = if map {
            program.env("RINGWAY_MAP", format!("a0={}", self.port("p1")));
            Port::open(&self.port("p2")).unwrap()
        } else {
            // Not by XDP: the far end of a veth then gets what it would get without.
            let open = || Ok::<_, AnyError>(OpenOptions::new().open("packet:a1")?);
            self.lab.run(open).unwrap()
        };
        self.run(far, program, frames)
    }

    /// Runs it with the library before libc, and `far` at the far end of the veth.
    pub(crate) fn streamed(&self, words: &str, far: &str) -> Run {
        let mut program = self.program(words);
        program.env("LD_PRELOAD", library()).env("RINGWAY_VERBOSE", "1");
        let far = self.lab.run(|| Ok::<_, AnyError>(OpenOptions::new().slots(8192).open(far)?)).unwrap();
        self.run(far, program, &[])
    }

    /// Kills the program after a while. The next one gets the port, and nothing is attached to the interface.
    pub(crate) fn kill(&self, words: &str, map: bool, more: &[(&str, &str)]) {
        let mut program = self.program(words);
        program.env("LD_PRELOAD", library()).envs(more.iter().copied());
        if map {
            program.env("RINGWAY_MAP", format!("a0={}", self.port("p1")));
        }
        let mut running = Running(program.spawn().unwrap());
        let mut out = BufReader::new(running.0.stdout.take().unwrap());
        read_lines(&mut out, &mut Vec::new(), Some("ready"));
        std::thread::sleep(Duration::from_millis(50));
        running.0.kill().unwrap();
        running.0.wait().unwrap();
        drop(Port::open(&self.port("p1")).unwrap());
        let out =
            Command::new("ip").args(["-d", "-n", self.lab.name(), "link", "show", "a0"]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && !text.contains("xdp"), "{text}");
    }

    fn program(&self, words: &str) -> Command {
        // Not `ip netns exec`, which mounts a new /sys, so that the switches are not seen.
        let mut c = Command::new("nsenter");
        c.arg(format!("--net=/run/netns/{}", self.lab.name())).arg(std::env::current_exe().unwrap());
        c.args(["--exact", "program", "--nocapture", "--test-threads=1"]).env(ROLE, words);
        c.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        c
    }

    pub(crate) fn ip(&self, words: &str) {
        self.lab.ip(words).unwrap();
    }

    pub(crate) fn exec(&self, program: &str, words: &[&str]) {
        self.lab.exec(program, words).unwrap();
    }

    /// Runs a program that is installed while `answer` plays who is at the far end: it gets each frame. With `us` the library is
    /// before libc; with `map` a port stands for a0.
    pub(crate) fn answered_program(
        &self,
        words: &[&str],
        map: bool,
        us: Option<&str>,
        answer: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Run {
        let mut program = self.inside(words);
        if let Some(us) = us {
            program.env("LD_PRELOAD", library()).env("RINGWAY_VERBOSE", "1").env("RINGWAY_BATCH_US", us);
        }
        let mut far = if map {
            program.env("RINGWAY_MAP", format!("a0={}", self.port("p1")));
            Port::open(&self.port("p2")).unwrap()
        } else {
            self.lab.run(|| Ok::<_, AnyError>(Port::open("packet:a1")?)).unwrap()
        };
        let mut running = Running(program.spawn().unwrap());
        let mut out = BufReader::new(running.0.stdout.take().unwrap());
        let mut err = running.0.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut said = Vec::new();
            err.read_to_end(&mut said).unwrap();
            String::from_utf8_lossy(&said).into_owned()
        });
        let start = Instant::now();
        let (mut frames, mut spoke) = (Vec::new(), start);
        while !errors.is_finished() {
            // A link is never silent; some programs look whether they are to end when a frame comes.
            if spoke.elapsed() > Duration::from_millis(50) {
                spoke = Instant::now();
                let other = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], &[0x88, 0xb5], &[0; 46]].concat();
                assert!(far.tx[0].push(&other));
            }
            far.rx[0].sync().unwrap();
            let got = far.rx[0].burst(u32::MAX).map(|f| f.bytes().to_vec()).collect::<Vec<_>>();
            for f in got.iter().filter_map(|f| answer(f)) {
                assert!(far.tx[0].push(&f));
            }
            far.tx[0].sync().unwrap();
            frames.extend(got);
            assert!(start.elapsed() < LIMIT, "the program does not end: {words:?}");
        }
        let mut lines = Vec::new();
        read_lines(&mut out, &mut lines, None);
        let errors = errors.join().unwrap();
        assert!(running.0.wait().unwrap().success(), "{errors}");
        Run { lines, frames, errors }
    }

    /// Runs a program that is installed, on the kernel's sockets.
    pub(crate) fn plain_program(&self, words: &[&str]) -> Run {
        let far = self.lab.run(|| Ok::<_, AnyError>(Port::open("packet:a1")?)).unwrap();
        self.run(far, self.inside(words), &[])
    }

    /// The same with the library before libc.
    pub(crate) fn shimmed_program(&self, words: &[&str], map: bool, more: &[(&str, &str)]) -> Run {
        let mut program = self.inside(words);
        program.env("LD_PRELOAD", library()).env("RINGWAY_VERBOSE", "1").envs(more.iter().copied());
        if map {
            program.env("RINGWAY_MAP", format!("a0={}", self.port("p1")));
            return self.run(Port::open(&self.port("p2")).unwrap(), program, &[]);
        }
        let far = self.lab.run(|| Ok::<_, AnyError>(Port::open("packet:a1")?)).unwrap();
        self.run(far, program, &[])
    }

    /// Runs a program on a port in place of a0, which gets `frames` once it says `ready` on standard error; returns what
    /// it says there.
    pub(crate) fn fed_program(&self, words: &[&str], ready: &str, frames: &[Vec<u8>]) -> String {
        let mut program = self.mapped(self.inside(words), &[("a0", "p1")]);
        let mut far = Port::open(&self.port("p2")).unwrap();
        let mut running = Running(program.stdout(Stdio::null()).spawn().unwrap());
        let mut out = BufReader::new(running.0.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains(ready) {
            assert!(out.read_line(&mut said).unwrap() > 0, "{said}");
        }
        for f in frames {
            assert!(far.tx[0].push(f));
        }
        far.tx[0].sync().unwrap();
        out.read_to_string(&mut said).unwrap();
        assert!(running.0.wait().unwrap().success(), "{said}");
        said
    }

    /// A command in the namespace with the library before libc, and ports in place of interfaces.
    pub(crate) fn mapped(&self, program: Command, map: &[(&str, &str)]) -> Command {
        let other = self.other.lock().unwrap();
        let name = |port: &str| match &*other {
            Some(s) if port.starts_with('q') => format!("{}:{port}", s.name()),
            _ => self.port(port),
        };
        let map: Vec<_> = map.iter().map(|(i, p)| format!("{i}={}", name(p))).collect();
        let mut c = if program.get_program() == "nsenter" { program } else { self.enter(&program) };
        c.env("LD_PRELOAD", library()).env("RINGWAY_MAP", map.join(","));
        c
    }

    /// A second switch with the ports `q1` and `q2`.
    pub(crate) fn another_port(&self, port: &str) -> Named {
        let name = format!("{}q", self.switch.as_ref().map_or("", Switch::name));
        let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
        switch.add_port(port, &PortAccess::default()).unwrap();
        *self.other.lock().unwrap() = Some(switch);
        Named(name)
    }

    /// The same command, in the namespace.
    fn enter(&self, program: &Command) -> Command {
        let words: Vec<_> = std::iter::once(program.get_program()).chain(program.get_args()).collect();
        let mut c = Command::new("nsenter");
        c.arg(format!("--net=/run/netns/{}", self.lab.name())).args(words);
        c.envs(program.get_envs().filter_map(|(k, v)| Some((k, v?))));
        c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        c
    }

    fn inside(&self, words: &[&str]) -> Command {
        let mut c = Command::new("nsenter");
        c.arg(format!("--net=/run/netns/{}", self.lab.name())).args(words);
        c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        c
    }

    fn run(&self, mut far: Port, mut program: Command, frames: &[Vec<u8>]) -> Run {
        let mut running = Running(program.spawn().unwrap());
        let mut out = BufReader::new(running.0.stdout.take().unwrap());
        let mut lines = Vec::new();
        if !frames.is_empty() {
            let wanted = if words_of(&program).contains("ring") { "ring" } else { "ready" };
            // Some want them twice.
            for wanted in
                [Some(wanted), words_of(&program).contains("twice").then_some("again")].into_iter().flatten()
            {
                read_lines(&mut out, &mut lines, Some(wanted));
                for f in frames {
                    assert!(far.tx[0].push(f));
                }
                far.tx[0].sync().unwrap();
                // Says that all have come; some look, others have ended.
                if let Some(stdin) = &mut running.0.stdin {
                    let _ = stdin.write_all(b"\n");
                }
            }
        }
        let mut got = Vec::new();
        let reader = std::thread::spawn(move || {
            read_lines(&mut out, &mut lines, None);
            lines
        });
        let start = Instant::now();
        while !reader.is_finished() {
            take(&mut far, &mut got);
            assert!(start.elapsed() < LIMIT, "the program does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
        take(&mut far, &mut got);
        // Gives back what was taken: who opens the port next begins behind it.
        far.rx[0].sync().unwrap();
        let mut errors = String::new();
        running.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let ended = running.0.wait().unwrap();
        let lines = reader.join().unwrap();
        assert!(ended.success(), "{ended}: {errors}\n{}", lines.join("\n"));
        Run { lines, frames: got, errors }
    }
}

fn words_of(program: &Command) -> String {
    let role = program.get_envs().find(|(k, _)| *k == ROLE).and_then(|(_, v)| v);
    role.map(|w| w.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Lines of the program, without the lines of the test runner, up to one that is `last`.
fn read_lines(out: &mut impl BufRead, lines: &mut Vec<String>, last: Option<&str>) {
    let mut line = String::new();
    while out.read_line(&mut line).unwrap() > 0 {
        // The runner puts the name of the test before the first line.
        let text = line.trim_end().rsplit("program ... ").next().unwrap_or_default().to_owned();
        line.clear();
        let noise = ["running ", "test ", "ok"].iter().any(|n| text.starts_with(n)) || text.is_empty();
        if !noise {
            lines.push(text.clone());
        }
        if last == Some(&text) {
            return;
        }
    }
}

/// Takes what arrived of the program; the host of the interface may send something of its own.
fn take(far: &mut Port, got: &mut Vec<Vec<u8>>) {
    far.rx[0].sync().unwrap();
    for f in far.rx[0].burst(u32::MAX) {
        let mut bytes = vec![0; f.len()];
        f.copy_to(&mut bytes);
        if bytes[6..12] == [2, 0, 0, 0, 0, 1] || bytes[6..12] == OWN && bytes[12..14] == [0x88, 0xb5] {
            got.push(bytes);
        }
    }
}

/// The name of a switch.
pub(crate) struct Named(String);

impl Named {
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

/// The library that was built beside the test.
pub(crate) fn library() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let found = exe.ancestors().skip(1).take(2).map(|d| d.join("libringway_preload.so")).find(|p| p.exists());
    found.expect("build the workspace first: cargo build --workspace")
}

/// A child that is killed when dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

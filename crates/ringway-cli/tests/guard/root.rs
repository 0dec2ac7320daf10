//! What root does meanwhile, by the command as it is installed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

use crate::support::room::{NOBODY, Room};
use crate::support::{Ended, Running, spawn};
use crate::{PORT, Random, SWITCH};

/// Root at work.
pub(crate) struct Root<'a> {
    room: &'a Room,
    random: Random,
    count: u32,
    exporter: Option<(Running, String)>,
}

impl<'a> Root<'a> {
    /// Makes the switch, with an interface and a port for the hostile client, in a network namespace of the calling thread's own.
    pub(crate) fn new(room: &'a Room) -> Self {
        let mut root = Self { room, random: Random(5), count: 0, exporter: None };
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        // The host of w1 sends nothing of its own, which the switch would give to all ports.
        for which in ["all", "default"] {
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1"); // absent: there is no IPv6
        }
        for arguments in
            ["link set lo up", "link add w0 type veth peer name w1", "link set w0 up", "link set w1 up"]
        {
            assert!(
                Command::new("ip").args(arguments.split(' ')).status().unwrap().success(),
                "ip {arguments}"
            );
        }
        root.does(&["switch", "add", SWITCH]);
        root.does(&["switch", "add", &format!("{SWITCH}:w0")]);
        root.gives_port();
        let exporter = spawn(&mut room.command(&["exporter", "--listen", "127.0.0.1:0"]));
        exporter.wait_said("/metrics", 1);
        let said = exporter.said();
        let address = said.split("http://").nth(1).and_then(|s| s.split('/').next()).unwrap().to_owned();
        root.exporter = Some((exporter, address));
        root
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Runs a command, which succeeds.
    #[track_caller]
    fn does(&mut self, args: &[&str]) -> Ended {
        let ended = self.room.run(args);
        assert_eq!(ended.code, Some(0), "ringway {}: {}{}", args.join(" "), ended.stdout, ended.stderr);
        self.count += 1;
        ended
    }

    fn gives_port(&mut self) {
        let (port, user) = (format!("{SWITCH}:{PORT}"), NOBODY.to_string());
        self.does(&["switch", "port", "add", &port, "--owner", &user, "--group", &user, "--mode", "600"]);
    }

    /// One thing of what root does all day.
    pub(crate) fn acts(&mut self) {
        let (port, user) = (format!("{SWITCH}:{PORT}"), NOBODY.to_string());
        match self.random.below(12) {
            0 => self.lists(),
            1 => drop(self.does(&["switch", "stats", SWITCH])),
            2 => drop(self.does(&["switch", "stats", SWITCH, "--json"])),
            3 => drop(self.does(&["stats"])),
            4 => drop(self.does(&["switch", "fdb", "list", SWITCH])),
            5 => drop(self.does(&["switch", "reload", SWITCH])),
            6 => drop(self.does(&["switch", "port", "set", &port, "--owner", &user, "--mode", "600"])),
            7 => {
                self.does(&["switch", "port", "set", &port, "--owner", "0"]);
                self.does(&["switch", "port", "set", &port, "--owner", &user]);
            }
            8 => {
                self.does(&["switch", "port", "del", &port, "--force"]);
                self.gives_port();
            }
            9 => {
                self.does(&["switch", "port", "conf", &port, "--storm", "broadcast=100"]);
            }
            10 => {
                self.does(&["switch", "add", "vale9"]);
                self.does(&["switch", "port", "add", "vale9:p"]);
                self.does(&["switch", "del", "vale9"]);
            }
            _ => self.scrapes(),
        }
    }

    /// What is listed is what root made.
    fn lists(&mut self) {
        let listed: Value = self.does(&["switch", "list", "--json"]).json();
        let switches = listed["switches"].as_array().unwrap();
        let names: Vec<&str> = switches.iter().map(|s| s["name"].as_str().unwrap()).collect();
        assert_eq!(names, [SWITCH]);
        let ports = switches[0]["ports"].as_array().unwrap();
        let mut names: Vec<&str> = ports.iter().map(|p| p["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, [PORT, "n1", "n2", "w0"]);
        let evil = ports.iter().find(|p| p["name"] == PORT).unwrap();
        assert_eq!((&evil["uid"], &evil["mode"]), (&NOBODY.into(), &"600".into()), "{evil}");
    }

    fn scrapes(&mut self) {
        let (exporter, address) = self.exporter.as_mut().unwrap();
        assert!(exporter.running(), "the exporter ended: {}", exporter.said());
        let mut stream = TcpStream::connect(address.as_str()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        assert!(page.starts_with("HTTP/1.1 200") && page.contains(SWITCH), "{page}");
        self.count += 1;
    }

    /// At rest, all accounts of the switch close.
    pub(crate) fn finds_all_closed(&mut self) {
        let found: Value = self.does(&["switch", "stats", SWITCH, "--json"]).json();
        eprintln!("totals {}", found["switches"][0]["totals"]);
        self.does(&["stats", "--check"]);
    }

    /// All goes, and leaves nothing.
    pub(crate) fn removes_all(&mut self) {
        self.exporter = None;
        self.does(&["switch", "del", SWITCH]);
        let left: Vec<_> = std::fs::read_dir(self.room.path("bpf/ringway"))
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        assert_eq!(left, ["lock"]);
    }
}

//! A host with containers, and the plugin as a runtime calls it there.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::net::if_::if_nameindex;
use ringway_lab::{AnyError, Lab};
use serde_json::{Value, json};

use crate::support::room::Room;
use crate::support::{Ended, LIMIT, Running, spawn};

pub(crate) const PLUGINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cni/plugins");

/// A host with containers: all of it are network namespaces.
pub(crate) struct Host {
    pub(crate) room: Room,
    pub(crate) lab: Lab,
    pub(crate) containers: Vec<Lab>,
}

impl Host {
    /// With so many containers, `c1` and on.
    pub(crate) fn new(containers: usize) -> Option<Self> {
        let room = Room::new()?;
        let containers = (0..containers).map(|_| Lab::new().unwrap()).collect();
        Some(Self { room, lab: Lab::new().unwrap(), containers })
    }

    pub(crate) fn netns(&self, container: usize) -> String {
        format!("/run/netns/{}", self.containers[container - 1].name())
    }

    /// The plugin, called for a container. The variables replace others of their names.
    pub(crate) fn start(
        &self,
        command: &str,
        container: usize,
        conf: &Value,
        variables: &[(&str, &str)],
    ) -> Running {
        let mut plugin = self.room.command(&["--netns", self.lab.name(), "cni"]);
        plugin.env("CNI_COMMAND", command).env("CNI_CONTAINERID", format!("c{container}"));
        plugin.env("CNI_NETNS", self.netns(container)).env("CNI_IFNAME", "eth0").env("CNI_PATH", PLUGINS);
        plugin.env("FAKE_IPAM_LOG", self.room.path("ipam.log")).envs(variables.iter().copied());
        with_input(plugin, &conf.to_string())
    }

    pub(crate) fn call(&self, command: &str, container: usize, conf: &Value) -> Ended {
        self.start(command, container, conf, &[]).end()
    }

    pub(crate) fn add(&self, container: usize, conf: &Value) -> Value {
        self.call("ADD", container, conf).json()
    }

    /// A command that prints nothing.
    pub(crate) fn quiet(&self, command: &str, container: usize, conf: &Value) {
        let ended = self.call(command, container, conf);
        assert_eq!(
            (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
            (Some(0), "", ""),
            "{ended:?}"
        );
    }

    /// Whether a container answers another by that address, before `patience` is over.
    pub(crate) fn answers(&self, to: usize, from: usize, address: &str, patience: Duration) -> bool {
        let at: SocketAddr = address.parse().unwrap();
        let [to, from] = [to, from].map(|container| &self.containers[container - 1]);
        let listener = to.run(|| Ok::<_, AnyError>(TcpListener::bind(at)?)).unwrap();
        let at = listener.local_addr().unwrap();
        from.run(|| Ok::<_, AnyError>(TcpStream::connect_timeout(&at, patience).is_ok())).unwrap()
    }

    pub(crate) fn reaches(&self, from: usize, to: usize) -> bool {
        self.answers(to, from, &format!("10.0.0.{to}:0"), LIMIT)
    }

    pub(crate) fn is_cut_off(&self, from: usize, to: usize) -> bool {
        !self.answers(to, from, &format!("10.0.0.{to}:0"), Duration::from_secs(1))
    }

    pub(crate) fn ipam_log(&self) -> String {
        fs::read_to_string(self.room.path("ipam.log")).unwrap_or_default()
    }

    /// Neither a switch nor an interface is left, on the host or in a container that lives.
    pub(crate) fn assert_empty(&self) {
        assert_eq!(self.room.json(&["switch", "list"])["switches"], json!([]));
        for lab in self.containers.iter().chain([&self.lab]) {
            assert_eq!(interfaces(lab), ["lo"]);
        }
    }
}

/// Names of the interfaces in a namespace.
pub(crate) fn interfaces(lab: &Lab) -> Vec<String> {
    let names = || -> Result<_, AnyError> {
        Ok(if_nameindex()?.iter().map(|one| one.name().to_str().unwrap().to_owned()).collect())
    };
    lab.run(names).unwrap()
}

pub(crate) fn with_input(mut command: Command, input: &str) -> Running {
    let (reader, mut writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::from(reader));
    let running = spawn(&mut command);
    writer.write_all(input.as_bytes()).unwrap();
    running
}

/// A configuration for layer 2.
pub(crate) fn plain() -> Value {
    json!({ "cniVersion": "1.1.0", "name": "net", "type": "ringway", "switch": "vale0", "added by": ["a", "runtime"] })
}

/// With the plugin for addresses of the tests.
pub(crate) fn with_addresses() -> Value {
    with(plain(), "ipam", json!({ "type": "fake-ipam" }))
}

pub(crate) fn with(mut conf: Value, key: &str, value: Value) -> Value {
    conf[key] = value;
    conf
}

/// The code of the error object on standard output, and its words.
pub(crate) fn refusal(ended: &Ended) -> (u64, String) {
    ended.error(1);
    let object: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(object["cniVersion"].is_string() && object["details"].is_string(), "{object}");
    (object["code"].as_u64().unwrap(), object["msg"].as_str().unwrap().to_owned())
}

/// Bytes that one container sends to another arrive.
pub(crate) fn transfer(from: &Lab, to: &Lab, address: &str) {
    let bytes: Vec<u8> = (0..8_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let at: SocketAddr = address.parse().unwrap();
    let listener = to.run(|| Ok::<_, AnyError>(TcpListener::bind(at)?)).unwrap();
    let at = listener.local_addr().unwrap();
    let mut sender = from.run(|| Ok::<_, AnyError>(TcpStream::connect_timeout(&at, LIMIT)?)).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    receiver.set_read_timeout(Some(LIMIT)).unwrap();
    let mut got = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            sender.write_all(&bytes).unwrap();
            sender.shutdown(Shutdown::Write).unwrap();
        });
        receiver.read_to_end(&mut got).unwrap();
    });
    assert!(got == bytes, "{} of {} bytes", got.len(), bytes.len());
}

//! A machine of its own: a room for switches, a network namespace with veths that forward, and a folder of files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ringway_lab::Lab;
use serde_json::Value;

use crate::support::Ended;
use crate::support::room::Room;
use crate::support::schema::Schema;

/// Small switches, so that many ports take little memory.
const SMALL: &str = "slots = 64\nbuffers = 256\n";

pub(crate) struct Bed {
    pub(crate) room: Room,
    pub(crate) lab: Lab,
    pub(crate) folder: String,
}

impl Bed {
    /// With so many veths `e0`, `e1` and so on, whose far ends are `f0`, `f1` and so on. `None` without root.
    pub(crate) fn new(veths: usize) -> Option<Self> {
        if !ringway_lab::is_root() {
            eprintln!("SKIP: switches and routers need root (eBPF, namespaces); run these tests with sudo");
            return None;
        }
        let lab = Lab::new().unwrap();
        lab.exec("sysctl", &["-qew", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]).unwrap();
        for n in 0..veths {
            lab.veth(&format!("e{n}"), &format!("f{n}")).unwrap();
        }
        let room = Room::new()?;
        lab.enter().unwrap();
        let folder = room.path("etc");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { room, lab, folder })
    }

    /// Writes a file of the folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = format!("{}/{name}", self.folder);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }

    /// `ringway apply` with these options.
    pub(crate) fn apply(&self, options: &[&str]) -> Ended {
        self.room.run(&[&["apply", "--config", &self.folder], options].concat())
    }

    /// What it prints with `--json`, which is what docs/json.md says.
    pub(crate) fn applied(&self, options: &[&str]) -> Value {
        let object = self.apply(&[options, &["--json"]].concat()).json();
        Schema::read().check("apply", &object);
        object
    }

    /// What exists is what the files say, and what `export` writes of it.
    pub(crate) fn assert_nothing_to_do(&self) {
        let again = self.apply(&["--prune"]);
        assert_eq!((again.code, again.stdout.as_str()), (Some(0), "nothing to do\n"), "{again:?}");
        let exported = self.room.run(&["export"]);
        assert_eq!(exported.code, Some(0), "{exported:?}");
        let other = self.room.path("exported");
        fs::create_dir_all(&other).unwrap();
        fs::write(format!("{other}/all.toml"), &exported.stdout).unwrap();
        let same = self.room.run(&["apply", "--config", &other, "--prune"]);
        assert_eq!(
            (same.code, same.stdout.as_str()),
            (Some(0), "nothing to do\n"),
            "{same:?}\n{}",
            exported.stdout
        );
    }

    /// Names of switches and routers.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.room.path("bpf/ringway")).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "lock");
        names.sort();
        names
    }

    /// Names of the ports of a switch.
    pub(crate) fn ports(&self, switch: &str) -> Vec<String> {
        let ports = self.room.switch(switch)["ports"].clone();
        let mut names: Vec<_> =
            ports.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Bed {
    /// Ends the processes of routers and of ports, before the namespaces go.
    fn drop(&mut self) {
        for name in self.names() {
            let _ = self.room.run(&["router", "del", &name]);
        }
        fs::remove_dir_all(&self.folder).unwrap();
        fs::create_dir(&self.folder).unwrap();
        let listed = self.room.run(&["switch", "list", "--json"]);
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap_or_default();
        for switch in listed["switches"].as_array().into_iter().flatten() {
            for port in switch["ports"].as_array().into_iter().flatten() {
                let name =
                    [&switch["name"], &port["name"]].map(|name| name.as_str().unwrap_or_default()).join(":");
                let _ = self.room.run(&["switch", "port", "del", &name, "--force"]);
            }
        }
    }
}

/// A file with small switches `vale0` and so on, each with ports `p0` and so on of VLANs and limits.
pub(crate) fn switches(switches: usize, ports: usize) -> String {
    let mut text = String::new();
    for switch in 0..switches {
        text += &format!("[switch.vale{switch}]\n{SMALL}");
        for port in 0..ports {
            let vid = 10 + port;
            text += &format!(
                "[switch.vale{switch}.port.p{port}]\nvlan = \"access:{vid}\"\nstorm = \"broadcast=1000\"\n"
            );
        }
    }
    text
}

/// A file with routers `r0` and so on, each with two members from `e0` on.
pub(crate) fn routers(routers: usize) -> String {
    let one = |n: usize| format!("[router.r{n}]\nmembers = [\"e{}\", \"e{}\"]\n", 2 * n, 2 * n + 1);
    (0..routers).map(one).collect()
}

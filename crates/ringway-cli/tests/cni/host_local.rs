//! Addresses of `host-local`, the plugin that most runtimes use, with the configuration that docs/containers.md shows.
//! It comes with Debian's package containernetworking-plugins; a line says when it is missing.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::host::{Host, interfaces, refusal, with};
use crate::support::Ended;

/// Where the package has its plugins.
const PLUGINS: &str = "/usr/lib/cni";
const PAGE: &str = include_str!("../../../../docs/containers.md");

/// A host whose containers get addresses of `host-local`.
struct Addressed {
    host: Host,
}

impl Addressed {
    fn new(containers: usize) -> Option<Self> {
        if !Path::new(PLUGINS).join("host-local").is_file() {
            eprintln!("SKIP: there is no {PLUGINS}/host-local; scripts/setup --test installs it");
            return None;
        }
        Host::new(containers).map(|host| Self { host })
    }

    /// The configuration of the page with other ranges, and the records in a folder that goes away with the test.
    fn conf(&self, ranges: &Value) -> Value {
        let block = PAGE.split("\n```json\n").nth(1).unwrap().split("\n```").next().unwrap();
        let mut conf: Value = serde_json::from_str(block).unwrap();
        assert_eq!((&conf["name"], &conf["ipam"]["type"]), (&json!("tenants"), &json!("host-local")));
        conf["ipam"]["ranges"] = ranges.clone();
        conf["ipam"]["dataDir"] = json!(self.host.room.path("addresses"));
        conf
    }

    fn start(&self, command: &str, container: usize, conf: &Value, variables: &[(&str, &str)]) -> Ended {
        self.host.start(command, container, conf, &[&[("CNI_PATH", PLUGINS)], variables].concat()).end()
    }

    /// `ADD`; returns the result.
    fn add(&self, container: usize, conf: &Value) -> Value {
        self.start("ADD", container, conf, &[]).json()
    }

    /// `ADD` that fails; returns the words of the error.
    fn add_fails(&self, container: usize, conf: &Value) -> String {
        refusal(&self.start("ADD", container, conf, &[])).1
    }

    /// A command that prints nothing.
    fn quiet(&self, command: &str, container: usize, conf: &Value, variables: &[(&str, &str)]) {
        let ended = self.start(command, container, conf, variables);
        let is = (ended.code, ended.stdout.as_str(), ended.stderr.as_str());
        assert_eq!(is, (Some(0), "", ""), "{ended:?}");
    }

    /// Addresses in the plugin's records, each with its container.
    fn held(&self) -> Vec<(String, String)> {
        let files = fs::read_dir(self.host.room.path("addresses/tenants")).unwrap().map(Result::unwrap);
        let names = files.map(|file| (file.file_name().into_string().unwrap(), file.path()));
        let owner = |path| fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();
        let addresses = names.filter(|(name, _)| name != "lock" && !name.starts_with("last_reserved_ip"));
        let mut held: Vec<_> = addresses.map(|(name, path)| (name, owner(path))).collect();
        held.sort();
        held
    }

    fn assert_held(&self, expected: &[(&str, &str)]) {
        let held = self.held();
        let held: Vec<_> = held.iter().map(|(ip, of)| (ip.as_str(), of.as_str())).collect();
        assert_eq!(held, expected);
    }

    /// Interfaces of the host, and ports of the switch, by their names.
    fn state(&self) -> (Vec<String>, Vec<Value>) {
        let ports = self.host.room.switch("vale0")["ports"].as_array().unwrap().clone();
        (interfaces(&self.host.lab), ports.iter().map(|port| port["name"].clone()).collect())
    }
}

fn range(first: &str, last: &str) -> Value {
    json!({ "subnet": "10.0.0.0/24", "rangeStart": first, "rangeEnd": last, "gateway": "10.0.0.254" })
}

#[test]
fn addresses_come_in_order_and_go_back() {
    let Some(on) = Addressed::new(3) else { return };
    let conf = on.conf(&json!([[range("10.0.0.1", "10.0.0.4")]]));
    let results = [1, 2, 3].map(|n| on.add(n, &conf));
    for (n, result) in (1..).zip(&results) {
        let ip = json!({ "address": format!("10.0.0.{n}/24"), "gateway": "10.0.0.254", "interface": 1 });
        assert_eq!(result["ips"], json!([ip]));
        assert_eq!(result["routes"], json!([{ "dst": "0.0.0.0/0" }]));
        on.quiet("CHECK", n, &with(conf.clone(), "prevResult", result.clone()), &[]);
    }
    on.assert_held(&[("10.0.0.1", "c1"), ("10.0.0.2", "c2"), ("10.0.0.3", "c3")]);
    assert!(on.host.reaches(1, 2) && on.host.reaches(3, 1));
    // A second question for the same interface is refused, and its address stays.
    assert!(on.add_fails(1, &conf).contains("eth0"));
    on.assert_held(&[("10.0.0.1", "c1"), ("10.0.0.2", "c2"), ("10.0.0.3", "c3")]);
    on.quiet("DEL", 2, &conf, &[]);
    on.assert_held(&[("10.0.0.1", "c1"), ("10.0.0.3", "c3")]);
    on.quiet("DEL", 2, &conf, &[]);
    // It goes on behind the last that it gave.
    assert_eq!(on.add(2, &conf)["ips"][0]["address"], "10.0.0.4/24");
    // CHECK asks the plugin too.
    fs::remove_file(on.host.room.path("addresses/tenants/10.0.0.1")).unwrap();
    let checked = on.start("CHECK", 1, &with(conf.clone(), "prevResult", results[0].clone()), &[]);
    let words = refusal(&checked).1;
    assert!(words.starts_with("ipam host-local: CHECK failed: ") && words.contains("c1"), "{words}");
    // A runtime names no namespace when that of the container is gone.
    (1..=3).for_each(|n| on.quiet("DEL", n, &conf, &[("CNI_NETNS", "")]));
    on.assert_held(&[]);
    on.host.assert_empty();
}

#[test]
fn a_range_without_a_free_address_leaves_nothing() {
    let Some(on) = Addressed::new(3) else { return };
    let conf = on.conf(&json!([[range("10.0.0.1", "10.0.0.2")]]));
    on.add(1, &conf);
    on.add(2, &conf);
    let before = on.state();
    assert_eq!(before.1.len(), 2);
    let words = on.add_fails(3, &conf);
    assert!(words.starts_with("ipam host-local: ADD failed: "), "{words}");
    assert!(words.contains("no IP addresses available in range set: 10.0.0.1-10.0.0.2"), "{words}");
    assert_eq!(on.state(), before, "no interface, no port");
    assert_eq!(interfaces(&on.host.containers[2]), ["lo"]);
    on.assert_held(&[("10.0.0.1", "c1"), ("10.0.0.2", "c2")]);
    // Nor does a switch stay that this container would have been the first in.
    on.add_fails(3, &with(conf.clone(), "switch", json!("vale1")));
    assert_eq!(on.host.room.json(&["switch", "list"])["switches"].as_array().unwrap().len(), 1);
    // A runtime calls DEL after an ADD that failed. Others keep their addresses.
    on.quiet("DEL", 3, &conf, &[]);
    on.assert_held(&[("10.0.0.1", "c1"), ("10.0.0.2", "c2")]);
    assert!(on.host.reaches(1, 2));
    on.quiet("DEL", 1, &conf, &[]);
    assert_eq!(on.add(3, &conf)["ips"][0]["address"], "10.0.0.1/24");
    (2..=3).for_each(|n| on.quiet("DEL", n, &conf, &[]));
    on.assert_held(&[]);
    on.host.assert_empty();
}

#[test]
fn addresses_of_an_add_that_fails_go_back() {
    let Some(on) = Addressed::new(2) else { return };
    let one = json!({ "subnet": "fd00::/64", "rangeStart": "fd00::5", "rangeEnd": "fd00::5" });
    let both = on.conf(&json!([[range("10.0.0.1", "10.0.0.9")], [one]]));
    let result = on.add(1, &both);
    assert_eq!(result["ips"].as_array().unwrap().len(), 2, "{result}");
    // IPv4 has a free address, and IPv6 has none.
    let words = on.add_fails(2, &both);
    assert!(words.contains("no IP addresses available in range set: fd00::5-fd00::5"), "{words}");
    on.assert_held(&[("10.0.0.1", "c1"), ("fd00::5", "c1")]);
    on.quiet("DEL", 1, &both, &[]);
    on.assert_held(&[]);
    // The plugin gives an address, and the kernel refuses the route.
    let mut conf = on.conf(&json!([[range("10.0.0.1", "10.0.0.9")]]));
    conf["ipam"]["routes"] = json!([{ "dst": "10.9.0.0/16", "gw": "192.0.2.1" }]);
    let words = on.add_fails(2, &conf);
    assert!(words.contains("192.0.2.1"), "{words}");
    on.assert_held(&[]);
    on.host.assert_empty();
}

//! The matrix of `OpenOptions` holds: each kind of port serves, passes over or refuses each option as the matrix says.
//! The rows of interfaces and switches need root; without, they are skipped with a message.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeMap;

use ringway::switch::{Switch, SwitchSpec};
use ringway::{ErrorKind, Filter, Gso, OpenOptions, Port, Region, RegionSpec};
use ringway_lab::{AnyError, Lab};

use support::{new_pair, when_free};

/// The marks of each option, kind by kind.
type Matrix = BTreeMap<String, Vec<(String, String)>>;

/// The matrix in the documentation of `OpenOptions`.
fn matrix() -> Matrix {
    let rows = include_str!("../src/port/options.rs").lines().filter_map(|line| line.strip_prefix("/// | "));
    let cells = |row: &str| -> Vec<String> {
        row.trim_end_matches(" |").split(" | ").map(|cell| cell.trim_matches('`').to_owned()).collect()
    };
    let mut rows = rows.map(cells);
    let kinds = rows.next().unwrap();
    let marks = rows.filter(|row| row[0] != "---").map(|row| {
        let option = row[0].split('`').nth(1).unwrap_or_else(|| panic!("{} is no link", row[0])).to_owned();
        assert_eq!(row.len(), kinds.len(), "{option}");
        (option, kinds.iter().cloned().zip(row).skip(1).collect())
    });
    marks.collect()
}

/// Where ports of each kind are: an interface, a switch, a directory for pipes and files.
struct Place {
    lab: Option<Lab>,
    switch: Option<Switch>,
    /// Whether DPDK's plugin is there.
    dpdk: bool,
    file: std::path::PathBuf,
}

impl Place {
    fn new() -> Self {
        let id = std::process::id();
        let lab = new_pair();
        let switch =
            lab.is_some().then(|| Switch::create(&format!("valeopt{id}"), &SwitchSpec::default()).unwrap());
        let file = std::env::temp_dir().join(format!("ringway-options-{id}.pcap"));
        let dpdk = support::dpdk::new_lab().is_some();
        Self { lab, switch, dpdk, file }
    }

    /// The name of a port of the kind; `None` when it takes root and there is none.
    fn name(&self, kind: &str) -> Option<String> {
        Some(match kind.trim_end_matches("IF^").trim_end_matches("IF") {
            "valeX:P" => format!("{}:p", self.switch.as_ref()?.name()),
            "pipe:" => format!("pipe:options-{}{{1", std::process::id()),
            "pcap:" => format!("pcap:{}@write", self.file.display()),
            "memif:" => format!("memif:@ringway-options-{}", std::process::id()),
            "dpdk:" => self.dpdk.then(|| "dpdk:net_af_packet0,iface=a0".to_owned())?,
            alone @ ("null:" | "loop:") => alone.to_owned(),
            scheme => {
                self.lab.as_ref()?;
                format!("{scheme}a0{}", if kind.ends_with('^') { "^" } else { "" })
            }
        })
    }

    fn open(&self, options: &OpenOptions, name: &str) -> ringway::Result<Port> {
        match &self.lab {
            Some(lab) => lab.run(|| Ok::<_, AnyError>(options.open(name))).unwrap(),
            None => options.open(name),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.switch.take().map(Switch::delete);
        let _ = std::fs::remove_file(&self.file);
    }
}

/// A region with room for any of the ports, of the memory that the kind needs.
fn region(kind: &str) -> Region {
    let spec = RegionSpec { interfaces: 2, rings: 64, slots: 2048, buffers: 32_768, buf_size: 2112 };
    if kind.starts_with("ebpf:") { Region::bpf_array(&spec) } else { Region::memfd(&spec) }.unwrap()
}

const SLOTS: u32 = 64;

/// The option, set to something that is not its default.
fn set(option: &str, region: &Region) -> OpenOptions {
    let options = OpenOptions::new();
    match option {
        "slots" => options.slots(SLOTS),
        "region" => options.region(region),
        "extra_bufs" => options.extra_bufs(3),
        "gso" => options.gso(Gso::Carry),
        "take" => options.take(Filter::compile("arp").unwrap()),
        "copy" => options.copy(true),
        "send_only" => options.send_only(true),
        "promiscuous" => options.promiscuous(false),
        "raw" => options.raw(true),
        _ => panic!("{option} is in the matrix and not in this test"),
    }
}

/// Whether the option can be seen to have had its effect on the port, where it can be seen at all.
fn took_effect(option: &str, port: &Port, region: &Region) -> Option<bool> {
    let slots = port.rx.first().map_or_else(|| port.tx[0].slots(), |rx| rx.slots());
    match option {
        "slots" => Some(slots == SLOTS),
        "region" => Some(port.region().ptr_eq(region)),
        "extra_bufs" => Some(port.region().take_buf().is_some()),
        _ => None,
    }
}

fn check(place: &Place, option: &str, kind: &str, mark: &str) {
    let Some(name) = place.name(kind) else { return eprintln!("SKIP: {kind} needs root, or its plugin") };
    let region = region(if place.lab.is_some() { kind } else { "" });
    let options = set(option, &region);
    if mark == "no" {
        let refused = place.open(&options, &name).expect_err(&format!("{option} on {kind}"));
        assert!(
            matches!(refused.kind(), ErrorKind::Unsupported | ErrorKind::Invalid),
            "{option} on {kind}: {refused}"
        );
        let text = refused.to_string();
        assert!(text.starts_with(&name) && text.contains("; "), "{option} on {kind} names no cure: {text}");
        return;
    }
    let port = when_free(|| place.open(&options, &name));
    let expected = match mark {
        "yes" => true,
        "-" => false,
        other => panic!("{option} on {kind}: {other} is no mark"),
    };
    if let Some(effect) = took_effect(option, &port, &region) {
        assert_eq!(effect, expected, "{option} on {kind}");
    }
}

#[test]
fn each_kind_does_what_the_matrix_says_of_each_option() {
    let (place, matrix) = (Place::new(), matrix());
    assert_eq!(matrix.len(), 9, "an option has no row");
    for (option, marks) in &matrix {
        for (kind, mark) in marks {
            check(&place, option, kind, mark);
        }
    }
}

/// Ports around another one leave the options to it.
#[test]
fn wrappers_hand_options_on() {
    for around in ["tap:file=/dev/null,port=", "trace:file=/dev/null,port=", "fault:port="] {
        let port = OpenOptions::new().slots(SLOTS).open(&format!("{around}loop:")).unwrap();
        assert_eq!(port.rx[0].slots(), SLOTS, "{around}");
        for options in [OpenOptions::new().send_only(true), OpenOptions::new().copy(true)] {
            let refused = options.open(&format!("{around}loop:")).unwrap_err();
            assert!(
                matches!(refused.kind(), ErrorKind::Unsupported | ErrorKind::Invalid),
                "{around}{refused}"
            );
        }
    }
}

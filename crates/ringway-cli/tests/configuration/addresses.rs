//! Addresses of the forwarding table that stay.

use serde_json::{Value, json};

use crate::bed::Bed;

const PORTS: &str =
    "[switch.vale0]\n[switch.vale0.port.p1]\n[switch.vale0.port.p2]\n[switch.vale0.member.e0]\n";

/// An address of a file, in the words for its place.
fn address(station: &str, place: &str) -> String {
    format!("[switch.vale0.fdb.\"{station}\"]\n{place}\n")
}

/// The addresses of the switch that stay, each with its VLAN and its port.
fn fixed(bed: &Bed) -> Vec<Value> {
    let entries = bed.room.json(&["switch", "fdb", "list", "vale0"])["entries"].clone();
    let fixed = entries.as_array().unwrap().iter().filter(|e| e["static"] == true);
    fixed.map(|e| json!([e["mac"], e["vlan"], e["port"]])).collect()
}

#[test]
fn addresses_are_set_moved_and_removed() {
    let Some(bed) = Bed::new(1) else { return };
    let one = |port: &str| address("02:00:00:00:00:01", &format!("port = \"{port}\""));
    let other = address("02:00:00:00:00:01@20", "port = \"e0\"");
    let hole = address("02:00:00:00:00:66", "blackhole = true");
    bed.write("a.toml", &format!("{PORTS}{}{other}{hole}", one("p1")));
    let made = bed.apply(&[]);
    let lines = "+ switch vale0\n+ member vale0:e0\n+ port vale0:p1\n+ port vale0:p2\n\
        + address vale0 02:00:00:00:00:01 port=\"p1\"\n+ address vale0 02:00:00:00:00:66 blackhole=true\n\
        + address vale0 02:00:00:00:00:01@20 port=\"e0\"\n";
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!((made.code, sorted(&made.stdout)), (Some(0), sorted(lines)), "{made:?}");
    let all = |port: &str| {
        vec![
            json!(["02:00:00:00:00:01", 0, port]),
            json!(["02:00:00:00:00:66", 0, null]),
            json!(["02:00:00:00:00:01", 20, "e0"]),
        ]
    };
    assert_eq!(fixed(&bed), all("p1"));
    bed.assert_nothing_to_do();

    bed.write("a.toml", &format!("{PORTS}{}{other}{hole}", one("p2")));
    let moved = bed.apply(&[]);
    let lines = "~ address vale0 02:00:00:00:00:01\n-   port=\"p1\"\n+   port=\"p2\"\n";
    assert_eq!((moved.code, moved.stdout.as_str()), (Some(0), lines), "{moved:?}");
    assert_eq!(fixed(&bed), all("p2"));

    // A step that fails takes all back.
    let fails = "[switch.vale0.port.m1]\nmemif = \"/nowhere/m.sock\"\n";
    let new = address("02:00:00:00:00:07", "port = \"p1\"");
    bed.write("a.toml", &format!("{PORTS}{}{other}{hole}{new}{fails}", one("p1")));
    assert_eq!(bed.apply(&[]).code, Some(1));
    assert_eq!(
        (fixed(&bed), bed.ports("vale0")),
        (all("p2"), ["e0", "p1", "p2"].map(str::to_owned).to_vec())
    );

    // An interface that comes back has its address again.
    bed.lab.ip("link del e0").unwrap();
    bed.lab.veth("e0", "f0").unwrap();
    bed.write("a.toml", &format!("{PORTS}{}{other}{hole}", one("p2")));
    let back = bed.apply(&[]);
    assert_eq!(
        back.stdout, "+ member vale0:e0\n+ address vale0 02:00:00:00:00:01@20 port=\"e0\"\n",
        "{back:?}"
    );
    bed.assert_nothing_to_do();

    // One goes with its port, and one alone.
    bed.write("a.toml", &PORTS.replace("[switch.vale0.port.p2]\n", ""));
    assert_eq!(bed.apply(&[]).stdout, "nothing to do\n");
    let pruned = bed.apply(&["--prune"]);
    let lines = "- address vale0 02:00:00:00:00:01 port=\"p2\"\n- address vale0 02:00:00:00:00:66 blackhole=true\n\
        - address vale0 02:00:00:00:00:01@20 port=\"e0\"\n- port vale0:p2\n";
    assert_eq!((pruned.code, sorted(&pruned.stdout)), (Some(0), sorted(lines)), "{pruned:?}");
    assert_eq!(fixed(&bed), Vec::<Value>::new());
    bed.assert_nothing_to_do();
}

/// An address of a port that goes away with its user goes with it, and so does one that was learned.
#[test]
fn addresses_that_pass_are_left_alone() {
    let Some(bed) = Bed::new(0) else { return };
    bed.write("a.toml", "[switch.vale0.port.p1]\n");
    bed.applied(&[]);
    let user =
        bed.room.start(&["pkt-gen", "-i", "vale0:watch", "-f", "tx", "-S", "02:00:00:00:00:05", "-R", "100"]);
    bed.room.wait_open("vale0", "watch");
    bed.room.json(&["switch", "fdb", "add", "vale0", "02:00:00:00:00:09", "watch"]);
    let entries = || bed.room.json(&["switch", "fdb", "list", "vale0"])["entries"].as_array().unwrap().len();
    bed.room.until(|| entries() == 2);
    bed.assert_nothing_to_do();
    assert_eq!((entries(), fixed(&bed).len()), (2, 1));
    user.interrupt();
}

//! Members and routers of other network namespaces.

use std::fs::File;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ringway_lab::Lab;
use serde_json::json;

use crate::bed::Bed;

/// Namespaces in which `eth0` is up, and `far0` at its other end has an address. `None` without root.
fn labs() -> Option<[Lab; 2]> {
    ringway_lab::is_root().then(|| {
        [1, 2].map(|n| {
            let lab = Lab::new().unwrap();
            lab.veth("eth0", "far0").unwrap();
            lab.ip(&format!("address add 10.9.0.{n}/24 dev far0")).unwrap();
            lab
        })
    })
}

/// A name of `ip netns` that goes away with the test.
struct Name(String);

impl Name {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(900);
        // Labs delete what is called so, should this process be killed.
        Self(format!("rwb-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed)))
    }

    fn ip(&self, words: &[&str]) {
        let done = Command::new("ip").args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }

    fn add(&self) {
        self.ip(&["netns", "add", &self.0]);
        self.ip(&["-n", &self.0, "link", "add", "eth0", "type", "veth", "peer", "name", "far0"]);
        ["eth0", "far0"].into_iter().for_each(|link| self.ip(&["-n", &self.0, "link", "set", link, "up"]));
    }

    fn delete(&self) {
        self.ip(&["netns", "del", &self.0]);
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

/// Two interfaces of one name, by a name of `ip netns` and by a path.
#[test]
fn members_are_made_and_removed_where_they_are() {
    let labs = labs();
    let Some(bed) = Bed::new(0) else { return };
    let [a, b] = labs.as_ref().unwrap();
    let web = format!(
        "[switch.vale0]\n[switch.vale0.member.web]\ninterface = \"eth0\"\nnetns = \"{}\"\nvlan = \"access:7\"\n",
        a.name()
    );
    let path = format!("/run/netns/{}", b.name());
    let other = format!("[switch.vale0.member.eth0]\nnetns = \"{path}\"\nvlan = \"access:7\"\n");
    bed.write("a.toml", &format!("{web}{other}"));
    let dry = bed.apply(&["--dry-run"]);
    let lines = format!(
        "+ switch vale0\n+ member vale0:eth0 netns=\"{path}\" vlan=\"access:7\"\n\
         + member vale0:web interface=\"eth0\" netns=\"{}\" vlan=\"access:7\"\n",
        a.name()
    );
    assert_eq!((dry.code, dry.stdout.as_str()), (Some(0), lines.as_str()), "{dry:?}");
    let made = bed.applied(&[]);
    assert_eq!(made["changes"][1]["to"]["netns"], format!("\"{path}\""), "{made}");
    bed.assert_nothing_to_do();
    let exported = bed.room.run(&["export"]).stdout;
    assert!(exported.contains(&format!("netns = \"{}\"", b.name())), "{exported}");
    a.exec("ping", &["-c", "1", "-W", "10", "10.9.0.2"]).unwrap();

    bed.write("a.toml", &format!("{web}host = true\n"));
    let ended = bed.apply(&[]);
    let says = format!(
        "vale0:web: a member stays as it was added (interface eth0 of network namespace {}, host",
        a.name()
    );
    assert!(ended.code == Some(1) && ended.stderr.contains(&says), "{ended:?}");

    bed.write("a.toml", &web);
    let pruned = bed.apply(&["--prune"]);
    assert_eq!(pruned.stdout, format!("- member vale0:eth0 netns=\"{}\"\n", b.name()), "{pruned:?}");
    // It is free, and goes to another switch.
    bed.write("b.toml", &format!("[switch.vale1]\n[switch.vale1.member.eth0]\nnetns = \"{path}\"\n"));
    bed.applied(&[]);
    assert_eq!((bed.ports("vale0"), bed.ports("vale1")), (vec!["web".to_owned()], vec!["eth0".to_owned()]));
    // From within, the same namespace is this one.
    let inside = bed.room.run(&["--netns", b.name(), "apply", "--config", &bed.folder, "--prune"]);
    assert_eq!(inside.stdout, "nothing to do\n", "{inside:?}");
    let inside = bed.room.run(&["--netns", b.name(), "export"]).stdout;
    assert!(inside.contains("[switch.vale1.member.eth0]\n") && !inside.contains(b.name()), "{inside}");
}

/// The switch stays as it was, and others are made.
#[test]
fn a_namespace_that_is_not_there_is_said_with_its_line() {
    let Some(bed) = Bed::new(0) else { return };
    let name = Name::new();
    let text = format!(
        "[switch.vale0]\n[switch.vale0.port.p1]\n[switch.vale0.member.eth0]\nnetns = \"{}\"\n[switch.vale1]\n",
        name.0
    );
    bed.write("a.toml", &text);
    for options in [&["--dry-run"][..], &[]] {
        let ended = bed.apply(options);
        let says = format!(
            "/etc/a.toml:4: network namespace {0}: there is none; `ip netns add {0}` makes one",
            name.0
        );
        assert!(ended.code == Some(1) && ended.stderr.contains(&says), "{ended:?}");
    }
    assert_eq!(bed.names(), ["vale1"]);
    name.add();
    bed.applied(&[]);
    assert_eq!(bed.ports("vale0"), ["eth0", "p1"]);
    bed.assert_nothing_to_do();
    name.delete();
    bed.room
        .until(|| bed.room.switch("vale0")["ports"].as_array().unwrap().iter().any(|p| p["gone"] == true));
    assert!(bed.apply(&[]).stderr.contains("a.toml:4: network namespace"));
    // Another one of that name, with another interface of that name.
    name.add();
    let again = bed.apply(&[]);
    assert_eq!(again.stdout, format!("+ member vale0:eth0 netns=\"{}\"\n", name.0), "{again:?}");
    bed.assert_nothing_to_do();

    // In a folder of another user, that user could put any namespace.
    let theirs = bed.room.path("nobody/netns");
    File::create(&theirs).unwrap();
    bed.write("b.toml", &format!("[switch.vale2.member.eth0]\nnetns = \"{theirs}\"\n"));
    let ended = bed.apply(&[]);
    assert!(
        ended.code == Some(1)
            && ended.stderr.contains("b.toml:2: ")
            && ended.stderr.contains("belongs to user"),
        "{ended:?}"
    );
    assert_eq!(bed.names(), ["vale0", "vale1"]);
}

#[test]
fn a_namespace_without_a_name_is_left_out() {
    let Some(bed) = Bed::new(0) else { return };
    let name = Name::new();
    name.add();
    let held = File::open(format!("/run/netns/{}", name.0)).unwrap();
    let text = format!("[switch.vale0.member.web]\ninterface = \"eth0\"\nnetns = \"{}\"\n", name.0);
    bed.write("a.toml", &text);
    bed.applied(&[]);
    name.delete();
    let exported = bed.room.run(&["export"]);
    assert!(
        exported.stderr.contains("vale0:web: it is left out, as its network namespace has no name"),
        "{exported:?}"
    );
    assert!(
        exported.stdout.contains("\n# [switch.vale0.member.web]\n")
            && exported.stdout.contains("\n[switch.vale0]\n"),
        "{exported:?}"
    );
    bed.write("a.toml", &exported.stdout);
    assert_eq!(bed.apply(&[]).stdout, "nothing to do\n");
    assert_eq!(bed.apply(&["--prune"]).stdout, "- member vale0:web\n");
    drop(held);
}

#[test]
fn routers_are_made_where_their_members_are() {
    let labs = labs();
    let Some(bed) = Bed::new(0) else { return };
    let [a, b] = labs.as_ref().unwrap();
    for lab in [a, b] {
        lab.exec("sysctl", &["-qew", "net.ipv4.ip_forward=1"]).unwrap();
        lab.veth("eth1", "far1").unwrap();
    }
    let file = |members: &str, lab: &Lab| {
        format!("[router.r0]\nmembers = [{members}]\nnetns = \"{}\"\n", lab.name())
    };
    bed.write("a.toml", &file("\"eth0\"", a));
    let made = bed.apply(&[]);
    let line = format!("+ router r0 members=[\"eth0\"] netns=\"{}\"\n", a.name());
    assert_eq!((made.code, made.stdout), (Some(0), line), "{}", made.stderr);
    bed.assert_nothing_to_do();
    bed.write("a.toml", &file("\"eth0\", \"eth1\"", a));
    bed.applied(&[]);
    bed.assert_nothing_to_do();
    let pid = || bed.room.json(&["router", "list", "r0"])["routers"][0]["pid"].as_i64();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid().unwrap() as i32), nix::sys::signal::SIGKILL)
        .unwrap();
    bed.room.until(|| pid().is_none());
    bed.write("a.toml", &file("\"eth0\"", a));
    let back = bed.applied(&["--prune"]);
    assert_eq!(back["failed"], json!([]));
    bed.assert_nothing_to_do();
    bed.write("a.toml", &file("\"eth0\"", b));
    let ended = bed.apply(&[]);
    let says = format!(
        "r0: it is in network namespace {} and the file says network namespace {},",
        a.name(),
        b.name()
    );
    assert!(ended.code == Some(1) && ended.stderr.contains(&says), "{ended:?}");
    bed.write("a.toml", "");
    assert_eq!(bed.apply(&["--prune"]).stdout, "- router r0\n");
}

//! Texts that are read, and texts that are refused.

use proptest::strategy::Strategy;

use super::*;

fn read(texts: &[&str]) -> Result<Wanted, String> {
    let file = |(n, text): (usize, &&str)| File { path: format!("/c/{n}.toml").into(), text: (*text).into() };
    let files: Vec<File> = texts.iter().enumerate().map(file).collect();
    wanted(&files).map_err(|e| e.to_string())
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, says) in [
        ("\n[switch.vale0]\nslot = 64\n", "/c/0.toml:3: `slot` is no key of a switch; did you mean `slots`?"),
        ("[swich.vale0]\n", "/c/0.toml:1: `swich` is no key of a file; did you mean `switch`?"),
        ("[switch.vale0]\nslots = \"64\"\nslots = 1\n", "/c/0.toml:3: duplicate key"),
        ("[switch.vale0]\nslots = 100\n", "/c/0.toml:1: vale0: 100 slots a ring; take a power of two"),
        ("[switch.vale0]\nslots = -1\n", "/c/0.toml:2: `slots` is \"-1\"; accepted: a whole number"),
        (
            "[switch.vale0]\nslots = true\n",
            "/c/0.toml:2: `slots` is of type boolean; write a string, or a number",
        ),
        ("[switch.eth0]\n", "/c/0.toml:1: eth0: "),
        ("[switch]\nvale0 = 3\n", "/c/0.toml:2: `vale0` is of type integer; write a table for each name"),
        (
            "[switch.vale0.port.p1]\n\nvlan = \"access:0\"\n",
            "/c/0.toml:3: `vlan` is \"access:0\"; a VLAN is a number of 1",
        ),
        ("[switch.vale0.port.p1]\nnative = 4\n", "/c/0.toml:1: `native` is for a trunk"),
        ("[switch.vale0.port.p1]\nhost = true\n", "/c/0.toml:2: `host` is no key of a port"),
        ("[switch.vale0.port.'a/b']\n", "/c/0.toml:1: a/b: not the name of a port"),
        (
            "[switch.vale0.port.p1]\nowner = \"no such user\"\n",
            "/c/0.toml:2: `owner` is \"no such user\"; there is no such user",
        ),
        (
            "[switch.vale0.port.p1]\nisolated = 1\n",
            "/c/0.toml:2: `isolated` is of type integer; write true or false",
        ),
        ("[switch.vale0.port.p1]\n[switch.vale0.member.p1]\n", "/c/0.toml:2: vale0:p1 is a port already"),
        (
            "[switch.vale0.member.e]\n\nnetns = \"a/b\"\n",
            "/c/0.toml:3: `netns` is \"a/b\"; it is no path of a file that lasts; take a name",
        ),
        ("[switch.vale0.member.e]\nnetns = \"..\"\n", "/c/0.toml:2: `netns` is \"..\"; it is no name"),
        (
            "[router.r0]\nnetns = \"/proc/7/ns/net\"\n",
            "/c/0.toml:2: `netns` is \"/proc/7/ns/net\"; a process does not",
        ),
        (
            "[switch.vale0.member.e]\ninterface = \"a/b\"\n",
            "/c/0.toml:2: `interface` is \"a/b\"; accepted: the name",
        ),
        ("[router.r0]\npath = \"tc\"\n", "/c/0.toml:1: a router without members"),
        ("[router.r0]\nmembers = [\"a\",\n\"a\"]\n", "/c/0.toml:3: a is named twice"),
        (
            "[router.r0]\nmembers = [\"a\"]\nbudget = \"x\"\n",
            "/c/0.toml:3: `budget` is \"x\"; x: expected plain=",
        ),
        (
            "\n[switch.vale0.port.p1]\nmirror = \"p2\"\n",
            "/c/0.toml:2: vale0:p1: its mirror p2 is no other port",
        ),
        ("[router.vale0]\nmembers = [\"a\"]\n[switch.vale0]\n", "vale0 stands in /c/0.toml:"),
        ("[switch.vale0\n", "/c/0.toml:1: "),
        ("[switch.vale0.fdb.x]\nblackhole = true\n", "/c/0.toml:1: x: accepted: MAC[@VLAN]"),
        (
            "[switch.vale0.fdb.'01:00:00:00:00:01']\nblackhole = true\n",
            "/c/0.toml:1: 01:00:00:00:00:01 is the address of a group",
        ),
        (
            "[switch.vale0.fdb.'02:00:00:00:00:0a']\nblackhole = true\n[switch.vale0.fdb.'02:00:00:00:00:0A@0']\nblackhole = true\n",
            "02:00:00:00:00:0a is named twice",
        ),
        ("[switch.vale0.fdb.'02:00:00:00:00:01']\n", "/c/0.toml:1: 02:00:00:00:00:01: write either port"),
        (
            "[switch.vale0.member.e]\n[switch.vale0.fdb.'02:00:00:00:00:01']\nport = 'e^'\n",
            "/c/0.toml:3: `port` is \"e^\"; it is no port of vale0",
        ),
        (
            "[switch.vale0.port.p1]\n[switch.vale0.fdb.'02:00:00:00:00:01']\nport = 'p1'\nblackhole = true\n",
            "/c/0.toml:2: 02:00:00:00:00:01: write either port",
        ),
    ] {
        let said = read(&[text]).unwrap_err();
        assert!(said.contains(says), "{text}: {said}");
    }
    let twice = read(&["[switch.vale0]", "\n[switch.vale0]"]).unwrap_err();
    assert_eq!(twice, "/c/1.toml:2: vale0 stands in /c/0.toml:1 already; name it once");
}

#[test]
fn what_is_not_named_is_as_commands_have_it() {
    let all = read(&[
        "[switch.vale0]\nslots = 1_024\n[switch.vale0.port.p1]\ngroup = \"root\"",
        "[switch.vale1]\nmodule = \"hub\"\n[router.r0]\nmembers=[\"a\"]\n",
    ])
    .unwrap();
    assert_eq!(all.switches["vale0"].spec, SwitchSpec::default());
    assert_eq!(all.switches["vale0"].ports["p1"].access.mode, 0o660);
    assert_eq!(all.switches["vale1"].spec.module, Module::Hub);
    assert_eq!(all.routers["r0"].options, crate::router::add::Options::default());
    assert_eq!(read(&[]).unwrap(), Wanted::default());
}

#[test]
fn the_place_of_each_namespace_is_known() {
    let text = "[switch.vale0.member.web]\ninterface = \"eth0\"\n\nnetns = \"web\"\n[switch.vale0.member.eth0]\ninterface = \"eth0\"\n";
    let all = read(&[text]).unwrap();
    assert_eq!(all.netns_at["vale0"], [("web".to_owned(), "/c/0.toml:4".to_owned())]);
    let members = &all.switches["vale0"].members;
    let [web, here] = ["web", "eth0"].map(|port| (members[port].interface.as_deref(), &members[port].netns));
    assert_eq!((web, here), ((Some("eth0"), &Netns::Named("web".into())), (None, &Netns::Here)));
}

#[test]
fn modules_are_found_from_the_folder() {
    let all = read(&["[switch.vale0]\nmodule = \"own.o\"\n[switch.vale1]\nmodule = \"/m/own.o\"\n"]).unwrap();
    let module = |name: &str| all.switches[name].spec.module.to_string();
    assert_eq!([module("vale0"), module("vale1")], ["/c/own.o", "/m/own.o"]);
}

proptest::proptest! {
    /// Any text is read, or refused in one line.
    #[test]
    fn any_text_is_read_or_refused_in_a_line(
        parts in proptest::collection::vec(
            proptest::prop_oneof![
                proptest::sample::select(vec![
                    "[switch.vale0]\n", "[switch.vale0.port.p1]\n", "[switch.vale0.member.e]\n", "[router.r0]\n", "slots = ", "vlan = ",
                    "members = [", "\"a\"", "]", "\n", "\"\\n\" = 1\n", "64", "\"trunk:1-9\"", "native = 4\n", "mirror = ", "ageing = ", "'", "{",
                ])
                .prop_map(str::to_owned),
                "\\PC{0,3}",
                ".{0,3}",
            ],
            0..12,
        )
    ) {
        if let Err(why) = read(&[&parts.concat()]) {
            proptest::prop_assert!(why.starts_with("/c/0.toml:") && !why.contains('\n'), "{:?}", why);
        }
    }
}

/// The example of the page has all keys, and what it calls plain is so.
#[test]
fn the_page_has_all_keys() {
    let page = include_str!("../../../../../docs/configuration.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let all = read(&[example]).unwrap();
    let switch = &all.switches["vale0"];
    assert_eq!(switch.spec, SwitchSpec::default());
    assert_eq!(all.routers["r0"].options, crate::router::add::Options::default());
    assert_eq!(switch.ports["p1"].access, Port::default().access);
    for key in SWITCH.iter().chain(PORT).chain(MEMBER).chain(ADDRESS).chain(ROUTER) {
        assert!(example.lines().any(|line| line.starts_with(&format!("{key} = "))), "{key}");
    }
}

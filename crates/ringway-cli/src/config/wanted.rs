//! Reading configuration files: what they want.

use std::collections::BTreeMap;
use std::path::Path;

use ringway::pinned::{check_name, check_router_name};
use ringway::switch::{Module, PortAccess, PortConf, SwitchSpec, VlanMode};
use toml::de::DeTable;

use super::folder::{self, File};
use super::keys::{MEMBER, PORT, ROUTER, SWITCH};
use super::state::{Member, Port, Router, Switch, Wanted};
use super::table::Table;
use crate::failure::Failure;
use crate::switch::values::{self, duration, group, implied_mode, mode, user};

/// What the files of a folder want.
pub(super) fn read(folder: &Path) -> Result<Wanted, Failure> {
    wanted(&folder::read(folder)?)
}

/// What files want. Each name stands in one file.
pub(super) fn wanted(files: &[File]) -> Result<Wanted, Failure> {
    let mut all = Wanted::default();
    let mut places = BTreeMap::new();
    for file in files {
        let parsed = DeTable::parse(&file.text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            file.wrong(at, e.message().lines().collect::<Vec<_>>().join(" "))
        })?;
        let table = Table::whole(file, parsed.get_ref());
        table.check_keys(&["switch", "router"])?;
        for (name, table) in table.tables("switch", "a switch")? {
            first(&mut places, name, &table)?;
            check_name(name).map_err(|e| table.wrong(e))?;
            all.switches.insert(name.to_owned(), switch(name, &table)?);
        }
        for (name, table) in table.tables("router", "a router")? {
            first(&mut places, name, &table)?;
            check_router_name(name).map_err(|e| table.wrong(e))?;
            all.routers.insert(name.to_owned(), router(&table)?);
        }
    }
    Ok(all)
}

/// Refuses a name that stands elsewhere.
fn first(places: &mut BTreeMap<String, String>, name: &str, table: &Table<'_>) -> Result<(), Failure> {
    match places.insert(name.to_owned(), table.place()) {
        Some(before) => Err(table.wrong(format!("{name} stands in {before} already; name it once"))),
        None => Ok(()),
    }
}

fn switch(name: &str, table: &Table<'_>) -> Result<Switch, Failure> {
    table.check_keys(&[&SWITCH[..], &["port", "member"]].concat())?;
    let spec = spec(table)?;
    spec.validate(name).map_err(|e| table.wrong(e))?;
    let mut switch = Switch { spec, ..Switch::default() };
    for (port_name, table) in table.tables("port", "a port")? {
        values::check_port(port_name).map_err(|e| table.wrong(e))?;
        switch.ports.insert(port_name.to_owned(), port(&table)?);
    }
    for (interface, table) in table.tables("member", "a member")? {
        values::check_port(interface).map_err(|e| table.wrong(e))?;
        if switch.ports.contains_key(interface) {
            return Err(
                table.wrong(format!("{name}:{interface} is a port already; take another name for the port"))
            );
        }
        switch.members.insert(interface.to_owned(), member(&table)?);
    }
    check_mirrors(name, &switch, table)?;
    Ok(switch)
}

/// Refuses copies to a port that the switch does not have.
fn check_mirrors(name: &str, switch: &Switch, table: &Table<'_>) -> Result<(), Failure> {
    let ports = switch.ports.iter().map(|(port, is)| (port, &is.conf));
    let members = switch.members.iter().map(|(port, is)| (port, &is.conf));
    for (port, conf) in ports.chain(members) {
        if let Some(mirror) = &conf.mirror
            && (mirror.to == *port
                || !(switch.ports.contains_key(&mirror.to) || switch.members.contains_key(&mirror.to)))
        {
            let what = format!(
                "{name}:{port}: its mirror {} is no other port of the switch in this file",
                mirror.to
            );
            return Err(table.wrong(format!("{what}; name one that is, or add it")));
        }
    }
    Ok(())
}

fn spec(table: &Table<'_>) -> Result<SwitchSpec, Failure> {
    let plain = SwitchSpec::default();
    let module = table.parsed("module", |text| Ok(module(text, table.folder())))?;
    Ok(SwitchSpec {
        slots: table.number("slots")?.unwrap_or(plain.slots),
        rings: table.number("rings")?.unwrap_or(plain.rings),
        buf_size: table.number("buffers")?.unwrap_or(plain.buf_size),
        ageing: table.parsed("ageing", duration)?.unwrap_or(plain.ageing),
        quota: table.number("quota")?.unwrap_or(plain.quota),
        module: module.unwrap_or(plain.module),
    })
}

/// The file of a module is found from the folder of the configuration.
fn module(text: &str, folder: &Path) -> Module {
    match text.parse() {
        Ok(Module::Object(path)) => Module::Object(folder.join(path)),
        Ok(named) => named,
    }
}

fn port(table: &Table<'_>) -> Result<Port, Failure> {
    table.check_keys(PORT)?;
    let plain = Port::default();
    let group = table.parsed("group", group)?;
    let mode = table.parsed("mode", mode)?.unwrap_or_else(|| implied_mode(plain.access.mode, group));
    let uid = table.parsed("owner", user)?.or(plain.access.uid);
    let access = PortAccess { uid, gid: group.or(plain.access.gid), mode };
    Ok(Port { access, conf: conf(table)?, memif: table.parsed("memif", values::memif)? })
}

fn member(table: &Table<'_>) -> Result<Member, Failure> {
    table.check_keys(MEMBER)?;
    let path = table.parsed("path", str::parse)?.unwrap_or_default();
    Ok(Member { host: table.flag("host")?, path, conf: conf(table)? })
}

fn conf(table: &Table<'_>) -> Result<PortConf, Failure> {
    let mut vlan = table.parsed("vlan", values::vlan)?.unwrap_or_default();
    if let Some(vid) = table.parsed("native", values::vid)? {
        let VlanMode::Trunk { allowed, native } = &mut vlan else {
            return Err(table.wrong("`native` is for a trunk; add vlan = \"trunk:VIDS\""));
        };
        // A native VLAN is one of the trunk's.
        allowed.extend([vid]);
        *native = Some(vid);
    }
    Ok(PortConf {
        vlan,
        isolated: table.flag("isolated")?,
        storm: table.parsed("storm", values::storm)?.unwrap_or_default(),
        mirror: table.parsed("mirror", values::mirror)?.flatten(),
    })
}

fn router(table: &Table<'_>) -> Result<Router, Failure> {
    table.check_keys(&[&["members"], ROUTER].concat())?;
    let mut router = Router::default();
    for (interface, at) in table.list("members")? {
        if !router.members.insert(interface.clone()) {
            return Err(table.wrong_at(at, format!("{interface} is named twice; name it once")));
        }
    }
    if router.members.is_empty() {
        return Err(table.wrong("a router without members; add members = [\"IF\", ...]"));
    }
    for key in ROUTER {
        table.parsed(key, |text| router.options.set(key, text))?;
    }
    Ok(router)
}

#[cfg(test)]
mod tests {
    use proptest::strategy::Strategy;

    use super::*;

    fn read(texts: &[&str]) -> Result<Wanted, String> {
        let file =
            |(n, text): (usize, &&str)| File { path: format!("/c/{n}.toml").into(), text: (*text).into() };
        let files: Vec<File> = texts.iter().enumerate().map(file).collect();
        wanted(&files).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, says) in [
            (
                "\n[switch.vale0]\nslot = 64\n",
                "/c/0.toml:3: `slot` is no key of a switch; did you mean `slots`?",
            ),
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
    fn modules_are_found_from_the_folder() {
        let all =
            read(&["[switch.vale0]\nmodule = \"own.o\"\n[switch.vale1]\nmodule = \"/m/own.o\"\n"]).unwrap();
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
        let page = include_str!("../../../../docs/configuration.md");
        let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let all = read(&[example]).unwrap();
        let switch = &all.switches["vale0"];
        assert_eq!(switch.spec, SwitchSpec::default());
        assert_eq!(all.routers["r0"].options, crate::router::add::Options::default());
        assert_eq!(switch.ports["p1"].access, Port::default().access);
        for key in SWITCH.iter().chain(PORT).chain(MEMBER).chain(ROUTER) {
            assert!(example.lines().any(|line| line.starts_with(&format!("{key} = "))), "{key}");
        }
    }
}

//! The keys of configuration files, and values as files have them.

use ringway::switch::{Mirror, Module, PortConf, StormLimits, SwitchSpec, VlanMode};

use super::state::{Member, Netns, Port, Router, Switch};
use crate::router::add::Options;
use crate::switch::values::{group_name, implied_mode, user_name};

pub(super) const SWITCH: [&str; 6] = ["slots", "rings", "buffers", "ageing", "quota", "module"];
pub(super) const PORT: &[&str] =
    &["owner", "group", "mode", "vlan", "native", "isolated", "storm", "mirror", "memif"];
pub(super) const MEMBER: &[&str] =
    &["interface", "netns", "host", "path", "vlan", "native", "isolated", "storm", "mirror"];
pub(super) const ADDRESS: &[&str] = &["port", "blackhole"];
pub(super) const ROUTER: &[&str] = &Options::KEYS;

/// Keys and their values, in the words of a file.
pub(super) type Keys = Vec<(&'static str, String)>;

/// How a switch is made, to be compared. Of a module the file's name alone: a switch may not know more of it.
pub(super) fn of_spec(spec: &SwitchSpec) -> Keys {
    of_spec_with(
        spec,
        &match &spec.module {
            Module::Object(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            named => named.to_string(),
        },
    )
}

fn of_spec_with(spec: &SwitchSpec, module: &str) -> Keys {
    vec![
        ("slots", spec.slots.to_string()),
        ("rings", spec.rings.to_string()),
        ("buffers", spec.buf_size.to_string()),
        ("ageing", quoted(&time(spec.ageing.as_millis()))),
        ("quota", spec.quota.to_string()),
        ("module", quoted(module)),
    ]
}

fn time(ms: u128) -> String {
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

/// A port.
pub(super) fn of_port(port: &Port) -> Keys {
    let access = &port.access;
    let mut keys = vec![
        ("owner", quoted(&user_name(access.uid.unwrap_or(0)))),
        ("group", quoted(&group_name(access.gid.unwrap_or(0)))),
        ("mode", quoted(&format!("{:03o}", access.mode))),
    ];
    keys.extend(of_conf(&port.conf));
    keys.extend(port.memif.as_ref().map(|memif| ("memif", quoted(memif))));
    keys
}

/// The port of which a file need not say more than that it is there, and who its group is.
fn plain_port(port: &Port) -> Port {
    let mut plain = Port::default();
    let group = port.access.gid.filter(|gid| *gid != 0);
    plain.access.mode = implied_mode(plain.access.mode, group);
    plain
}

/// A member.
pub(super) fn of_member(member: &Member) -> Keys {
    let mut keys = of_place(member);
    keys.extend([("host", member.host.to_string()), ("path", quoted(&member.path.to_string()))]);
    keys.extend(of_conf(&member.conf));
    keys
}

/// Which interface a member is, where its port does not say so.
pub(super) fn of_place(member: &Member) -> Keys {
    let interface = member.interface.as_ref().map(|name| ("interface", quoted(name)));
    interface.into_iter().chain(of_netns(&member.netns)).collect()
}

fn of_netns(netns: &Netns) -> Option<(&'static str, String)> {
    match netns {
        Netns::Named(name) => Some(("netns", quoted(name))),
        Netns::Here | Netns::Nameless => None,
    }
}

/// Where an address is.
pub(super) fn of_address(port: Option<&String>) -> Keys {
    vec![port.map_or_else(|| ("blackhole", true.to_string()), |port| ("port", quoted(port)))]
}

fn of_conf(conf: &PortConf) -> Keys {
    let (vlan, native) = match &conf.vlan {
        VlanMode::Access(vid) => (format!("access:{vid}"), None),
        VlanMode::Trunk { allowed, native } => (format!("trunk:{allowed}"), *native),
        _ => ("transparent".to_owned(), None),
    };
    let mut keys = vec![("vlan", quoted(&vlan))];
    keys.extend(native.map(|vid| ("native", vid.to_string())));
    keys.extend([
        ("isolated", conf.isolated.to_string()),
        ("storm", quoted(&storm(&conf.storm))),
        ("mirror", quoted(&mirror(conf.mirror.as_ref()))),
    ]);
    keys
}

fn storm(limits: &StormLimits) -> String {
    let kinds =
        [("broadcast", limits.broadcast), ("multicast", limits.multicast), ("unknown", limits.unknown)];
    let given: Vec<_> =
        kinds.iter().filter_map(|(kind, rate)| Some(format!("{kind}={}", (*rate)?))).collect();
    if given.is_empty() { "none".into() } else { given.join(",") }
}

fn mirror(mirror: Option<&Mirror>) -> String {
    match mirror {
        Some(Mirror { to, rx: true, tx: true }) => to.clone(),
        Some(Mirror { to, rx: true, .. }) => format!("{to}:rx"),
        Some(Mirror { to, tx: true, .. }) => format!("{to}:tx"),
        _ => "none".into(),
    }
}

/// A router.
pub(super) fn of_router(router: &Router) -> Keys {
    let members: Vec<_> = router.members.iter().map(|name| quoted(name)).collect();
    let mut keys = vec![("members", format!("[{}]", members.join(", ")))];
    keys.extend(of_netns(&router.netns));
    keys.extend(of_options(&router.options));
    keys
}

/// How a router is made.
pub(super) fn of_options(options: &Options) -> Keys {
    let written = |(key, text): (&'static str, String)| {
        let is_number = matches!(key, "tables" | "groups" | "check");
        (key, if is_number { text } else { quoted(&text) })
    };
    options.keys().into_iter().map(written).collect()
}

/// Keys of a port that a file has to name.
pub(super) fn port_keys(port: &Port) -> Keys {
    beyond(of_port(port), &of_port(&plain_port(port)))
}

/// Keys of a member that a file has to name.
pub(super) fn member_keys(member: &Member) -> Keys {
    beyond(of_member(member), &of_member(&Member::default()))
}

/// Keys of a router that a file has to name.
pub(super) fn router_keys(router: &Router) -> Keys {
    beyond(of_router(router), &of_router(&Router::default()))
}

/// Keys of a switch that a file has to name.
pub(super) fn spec_keys(switch: &Switch) -> Keys {
    beyond(of_spec_with(&switch.spec, &switch.spec.module.to_string()), &of_spec(&SwitchSpec::default()))
}

/// The keys that have other values than `plain` has.
pub(super) fn beyond(keys: Keys, plain: &Keys) -> Keys {
    keys.into_iter().filter(|key| !plain.contains(key)).collect()
}

/// A string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A name as a key of TOML.
pub(super) fn name(text: &str) -> String {
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    if bare { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    #[test]
    fn strings_are_read_as_they_were() {
        for text in ["", "a b", "say \"no\"\\", "é\u{1}\n\u{7f}"] {
            let line = format!("{} = {}", name(text), quoted(text));
            let table = DeTable::parse(&line).unwrap();
            let (key, value) = table.get_ref().iter().next().unwrap();
            assert_eq!((key.get_ref().as_ref(), value.get_ref().as_str()), (text, Some(text)), "{line}");
        }
        assert_eq!((name("eth0"), name("eth0.7")), ("eth0".to_owned(), "\"eth0.7\"".to_owned()));
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!([0, 32, 1500, 300_000].map(time), ["0s", "32ms", "1500ms", "300s"]);
    }
}

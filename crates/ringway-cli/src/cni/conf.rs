//! The network configuration: keys that the plugin knows. Runtimes and other plugins add their own, which it leaves alone.

use ringway::switch::{PortConf, VlanMode};
use serde_json::Value;

use super::error::{Code, Error, Result};
use super::keys::{Keys, is_mac, wrong};
use super::request::is_identifier;
use crate::switch::values;

/// The versions of the specification whose results the plugin writes.
pub(super) const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];
/// The one of answers to a configuration without any.
pub(super) const NEWEST: &str = "1.1.0";

/// Keys of the plugin `bridge` that promise more than a switch does, and the cure.
const PROMISES: [(&str, &str); 4] = [
    ("isGateway", "give the host a veth of its own as a port, as docs/containers.md does"),
    ("isDefaultGateway", "name the gateway in the routes of `ipam`"),
    ("ipMasq", "have the host's firewall translate addresses"),
    ("bridge", "name the switch in the key `switch`"),
];

/// A configuration whose values are all understood.
#[derive(Debug)]
pub(super) struct Conf {
    pub(super) version: String,
    /// Of the network.
    pub(super) name: String,
    pub(super) switch: String,
    pub(super) mtu: Option<u32>,
    /// VLAN and isolation of the port.
    pub(super) port: PortConf,
    pub(super) mac: Option<String>,
    /// The plugin for addresses.
    pub(super) ipam: Option<String>,
    pub(super) dns: Option<Value>,
    /// The result of `ADD`.
    pub(super) previous: Option<Value>,
    /// Containers and interfaces that are in use, for `GC`.
    pub(super) in_use: Vec<(String, String)>,
}

/// The object on standard input.
pub(super) fn object(input: &[u8]) -> Result<Value> {
    let wrong =
        |why: String| Error::new(Code::Decode, format!("standard input: no network configuration: {why}"));
    let value: Value = serde_json::from_slice(input).map_err(|e| wrong(e.to_string()))?;
    if value.is_object() { Ok(value) } else { Err(wrong("it is JSON, but no object".into())) }
}

impl Conf {
    pub(super) fn read(object: &Value) -> Result<Self> {
        let keys = Keys::of(object);
        let version = keys.text("cniVersion")?.unwrap_or("0.1.0");
        if !VERSIONS.contains(&version) {
            let what = format!("cniVersion {version}: not supported; write {}", VERSIONS.join(" or "));
            return Err(Error::new(Code::Version, what));
        }
        refuse_promises(object)?;
        let name = keys.needed("name")?;
        if !is_identifier(name) {
            return Err(wrong(
                "name",
                "it begins with a letter or digit, and has letters, digits, _ . and - only",
            ));
        }
        let vlan = vlan(&object["vlan"])?;
        let isolated = keys.boolean("isolated")?.unwrap_or(false);
        Ok(Self {
            version: version.to_owned(),
            name: name.to_owned(),
            switch: switch(keys.needed("switch")?)?,
            mtu: keys.number("mtu", 68..=65_535)?,
            port: PortConf { vlan, isolated, ..PortConf::default() },
            mac: mac(&keys)?,
            ipam: ipam(&keys)?,
            dns: keys.inner("dns")?.is_there().then(|| object["dns"].clone()),
            previous: keys.inner("prevResult")?.is_there().then(|| object["prevResult"].clone()),
            in_use: in_use(&object["cni.dev/valid-attachments"])?,
        })
    }
}

fn refuse_promises(object: &Value) -> Result<()> {
    for (key, cure) in PROMISES {
        let value = &object[key];
        if !matches!(value, Value::Null | Value::Bool(false)) {
            return Err(Error::new(Code::Unsupported, format!("{key}: {value}: not supported; {cure}")));
        }
    }
    Ok(())
}

fn switch(name: &str) -> Result<String> {
    match format!("{name}:p").parse() {
        Ok(ringway::PortName::Vale { .. }) => Ok(name.to_owned()),
        _ => Err(wrong("switch", "a switch is called vale and up to 11 letters, digits, _ or -")),
    }
}

/// The number of a VLAN, or the words of `ringway switch port set --vlan`.
fn vlan(value: &Value) -> Result<VlanMode> {
    let read = match value {
        Value::Null => Ok(VlanMode::Transparent),
        Value::Number(number) => values::vid(&number.to_string()).map(VlanMode::Access),
        Value::String(text) => values::vlan(text),
        _ => Err("accepted: a number, or text such as \"access:10\" or \"trunk:10-20\"".into()),
    };
    read.map_err(|e| wrong("vlan", &e))
}

/// What the runtime wants, by the capability `mac`.
fn mac(keys: &Keys) -> Result<Option<String>> {
    match keys.inner("runtimeConfig")?.text("mac")? {
        Some(mac) if !is_mac(mac) => Err(wrong("runtimeConfig.mac", "write it as 02:00:00:00:00:01")),
        mac => Ok(mac.map(str::to_owned)),
    }
}

fn ipam(keys: &Keys) -> Result<Option<String>> {
    let ipam = keys.inner("ipam")?;
    match ipam.text("type")? {
        Some(name) if name.is_empty() || name.contains('/') || name.starts_with('.') => {
            Err(wrong("ipam.type", "it is the name of a file in CNI_PATH"))
        }
        None if !ipam.is_empty() => {
            Err(wrong("ipam.type", "name the plugin, or leave `ipam` out for layer 2"))
        }
        name => Ok(name.map(str::to_owned)),
    }
}

fn in_use(list: &Value) -> Result<Vec<(String, String)>> {
    let bad = || wrong("cni.dev/valid-attachments", "it is a list of objects with containerID and ifname");
    let one = |entry: &Value| {
        Some((entry["containerID"].as_str()?.to_owned(), entry["ifname"].as_str()?.to_owned()))
    };
    match list {
        Value::Null => Ok(Vec::new()),
        Value::Array(entries) => entries.iter().map(|entry| one(entry).ok_or_else(bad)).collect(),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(key: &str, value: Value) -> Result<Conf> {
        let mut object =
            json!({ "cniVersion": "1.0.0", "name": "net", "type": "ringway", "switch": "vale0" });
        object[key] = value;
        Conf::read(&object)
    }

    #[test]
    fn values_are_understood() {
        assert_eq!(with("vlan", json!(10)).unwrap().port.vlan, VlanMode::Access(10));
        assert!(matches!(with("vlan", json!("trunk:1-3")).unwrap().port.vlan, VlanMode::Trunk { .. }));
        assert_eq!(with("ipam", json!({})).unwrap().ipam, None);
        assert_eq!(
            with("ipam", json!({ "type": "host-local" })).unwrap().ipam.as_deref(),
            Some("host-local")
        );
        assert!(with("somebody's", json!([1])).is_ok(), "unknown keys are left alone");
    }

    #[test]
    fn wrong_values_are_refused_by_code() {
        for (key, value, code) in [
            ("cniVersion", json!("0.4.0"), 1),
            ("ipMasq", json!(true), 2),
            ("bridge", json!("cni0"), 2),
            ("name", json!("a/b"), 7),
            ("name", Value::Null, 7),
            ("switch", Value::Null, 7),
            ("switch", json!("br0"), 7),
            ("mtu", json!("1500"), 7),
            ("mtu", json!(67), 7),
            ("vlan", json!(4095), 7),
            ("vlan", json!("access"), 7),
            ("isolated", json!("yes"), 7),
            ("ipam", json!("dhcp"), 7),
            ("ipam", json!({ "type": "../x" }), 7),
            ("ipam", json!({ "ranges": [] }), 7),
            ("runtimeConfig", json!({ "mac": "1" }), 7),
            ("prevResult", json!(1), 7),
            ("cni.dev/valid-attachments", json!([1]), 7),
        ] {
            let e = with(key, value.clone()).unwrap_err();
            assert_eq!(e.code, code, "{key}: {value}: {e:?}");
            assert!(e.message.contains(key), "{e:?}");
        }
    }

    #[test]
    fn other_text_is_no_configuration() {
        assert!(["", "{", "[]", "7"].iter().all(|text| object(text.as_bytes()).unwrap_err().code == 6));
    }
}

//! What the runtime asks for, in variables of the environment.

use ringway::environment;

use super::error::{Code, Error, Result};
use super::keys::is_mac;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Add,
    Del,
    Check,
    Gc,
    Status,
    Version,
}

/// An interface of a container.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) container: String,
    /// The file of its network namespace. `DEL` may come without.
    pub(super) netns: Option<String>,
    pub(super) ifname: String,
    /// `MAC` of the arguments.
    pub(super) mac: Option<String>,
}

impl Action {
    pub(super) fn read() -> Result<Self> {
        match required("CNI_COMMAND")?.as_str() {
            "ADD" => Ok(Self::Add),
            "DEL" => Ok(Self::Del),
            "CHECK" => Ok(Self::Check),
            "GC" => Ok(Self::Gc),
            "STATUS" => Ok(Self::Status),
            "VERSION" => Ok(Self::Version),
            other => Err(wrong("CNI_COMMAND", other, "accepted: ADD, DEL, CHECK, GC, STATUS and VERSION")),
        }
    }
}

impl Attachment {
    pub(super) fn read(action: Action) -> Result<Self> {
        let container = required("CNI_CONTAINERID")?;
        if !is_identifier(&container) {
            let cure = "it begins with a letter or digit, and has letters, digits, _ . and - only";
            return Err(wrong("CNI_CONTAINERID", &container, cure));
        }
        let ifname = required("CNI_IFNAME")?;
        if !is_interface(&ifname) {
            let cure = "the name of an interface has 1 to 15 characters without / : and spaces";
            return Err(wrong("CNI_IFNAME", &ifname, cure));
        }
        let netns = match action {
            Action::Del => variable("CNI_NETNS"),
            _ => Some(required("CNI_NETNS")?),
        };
        if let Some(path) = netns.iter().find(|path| !path.starts_with('/')) {
            return Err(wrong(
                "CNI_NETNS",
                path,
                "name the file of a network namespace, as /proc/PID/ns/net",
            ));
        }
        let mac = argument(&variable("CNI_ARGS").unwrap_or_default(), "MAC")?;
        if let Some(mac) = mac.iter().find(|mac| !is_mac(mac)) {
            return Err(wrong("CNI_ARGS", mac, "write the MAC address as 02:00:00:00:00:01"));
        }
        Ok(Self { container, netns, ifname, mac })
    }
}

/// What the specification allows for containers and networks.
pub(super) fn is_identifier(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(inner)
}

/// Whether the kernel takes it as the name of an interface, and no program takes it for an option.
fn is_interface(text: &str) -> bool {
    let fits =
        (1..16).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic() && !"/:%".contains(c));
    fits && !matches!(text, "." | "..") && !text.starts_with('-')
}

/// A variable that is there and not empty.
pub(super) fn variable(name: &str) -> Option<String> {
    environment(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
}

fn required(name: &str) -> Result<String> {
    let missing = || format!("{name} is missing; the runtime that calls the plugin sets it");
    variable(name).ok_or_else(|| Error::new(Code::Environment, missing()))
}

fn wrong(name: &str, value: &str, cure: &str) -> Error {
    Error::new(Code::Environment, format!("{name}={value}: wrong value; {cure}"))
}

/// The value of a key in `KEY=VALUE;KEY=VALUE`. Keys of others are theirs.
fn argument(all: &str, key: &str) -> Result<Option<String>> {
    let mut found = None;
    for pair in all.split(';').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((name, value)) if name == key => found = Some(value.to_owned()),
            Some(_) => {}
            None => return Err(wrong("CNI_ARGS", all, "accepted: KEY=VALUE;KEY=VALUE")),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_pairs() {
        assert_eq!(
            argument("IgnoreUnknown=1;MAC=02:00:00:00:00:01", "MAC"),
            Ok(Some("02:00:00:00:00:01".into()))
        );
        assert_eq!(argument("", "MAC"), Ok(None));
        assert_eq!(argument("MAC", "MAC").unwrap_err().code, 4);
    }

    #[test]
    fn names_are_checked() {
        assert!(["a", "0.b_c-d"].iter().all(|name| is_identifier(name)));
        assert!(["", "-a", "a/b", "a b"].iter().all(|name| !is_identifier(name)));
        assert!(["eth0", "a.b", "123456789012345"].iter().all(|name| is_interface(name)));
        assert!(
            ["", "..", "a/b", "a:1", "-x", "a b", "1234567890123456"].iter().all(|name| !is_interface(name))
        );
    }
}

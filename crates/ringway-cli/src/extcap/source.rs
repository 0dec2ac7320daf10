//! Where the frames of an entry come from.

use ringway::switch::{Mirror, PortConf, Switch, VlanMode};
use ringway::{OpenOptions, Port};

use crate::console::note;
use crate::errors;
use crate::failure::Failure;

/// The word with which all entries begin.
pub(super) const PREFIX: &str = "ringway";

/// A VLAN of its own keeps what the switch floods away from a port for copies.
const ASIDE: u16 = 4094;

/// Where frames come from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Copies of the frames of an interface.
    Interface(String),
    /// Copies of what a port of a switch sends and receives.
    Mirror { switch: String, port: String },
    /// Any port, which gives its frames away.
    Named(String),
}

/// A port that is open, and the mirror behind it.
pub(super) struct Opened {
    pub(super) port: Port,
    /// Ends with the capture.
    pub(super) _mirror: Option<Mirrored>,
}

/// A port of a switch that copies its frames, until this is dropped.
pub(super) struct Mirrored {
    switch: Switch,
    port: String,
    to: String,
}

impl Source {
    /// The source of an entry of the list. `port` is the one that the entry for all ports names.
    pub(super) fn named(entry: &str, port: &str) -> Result<Self, Failure> {
        let Some(rest) = entry.strip_prefix(PREFIX) else { return Err(unknown(entry)) };
        if rest.is_empty() {
            return Ok(Self::Named(port.to_owned()));
        }
        match rest.strip_prefix(':').map(|name| (name, name.split_once(':'))) {
            Some((_, Some((switch, port)))) if !switch.is_empty() && !port.is_empty() => {
                Ok(Self::Mirror { switch: switch.to_owned(), port: port.to_owned() })
            }
            Some((interface, None)) if !interface.is_empty() => Ok(Self::Interface(interface.to_owned())),
            _ => Err(unknown(entry)),
        }
    }

    /// Opens it.
    pub(super) fn open(&self) -> Result<Opened, Failure> {
        let plain = |port| Opened { port, _mirror: None };
        match self {
            Self::Interface(name) => Ok(plain(OpenOptions::new().copy(true).open(name)?)),
            Self::Named(name) if name.is_empty() => Err(Failure::Usage(
                errors::command::MISSING,
                "no port is named; set the option Port, or type --port PORT".into(),
            )),
            Self::Named(name) => Ok(plain(Port::open(name)?)),
            Self::Mirror { switch, port } => mirror(switch, port),
        }
    }
}

fn unknown(entry: &str) -> Failure {
    Failure::Usage(
        errors::ports::NOT_FOUND,
        format!("{entry}: no such entry; `ringway extcap --extcap-interfaces` lists them"),
    )
}

/// Opens a port for copies, and asks the switch for them.
fn mirror(name: &str, port: &str) -> Result<Opened, Failure> {
    let switch = Switch::open(name)?;
    let conf = switch.conf(port)?;
    if let Some(other) = &conf.mirror {
        let what =
            format!("{name}:{port}: {} has its copies already; capture there, or end that mirror", other.to);
        return Err(Failure::Other(errors::switches::MIRROR_TAKEN, what));
    }
    let to = format!("cap-{}", std::process::id());
    let copies = Port::open(&format!("{name}:{to}"))?;
    switch.set_conf(&to, &PortConf { vlan: VlanMode::Access(ASIDE), ..PortConf::default() })?;
    switch
        .set_conf(port, &PortConf { mirror: Some(Mirror { to: to.clone(), rx: true, tx: true }), ..conf })?;
    let mirrored = Mirrored { switch, port: port.to_owned(), to };
    Ok(Opened { port: copies, _mirror: Some(mirrored) })
}

impl Drop for Mirrored {
    fn drop(&mut self) {
        let Self { switch, port, to } = self;
        // Somebody may have changed it meanwhile, or removed the port.
        let Ok(conf) = switch.conf(port) else { return };
        if conf.mirror.as_ref().is_some_and(|mirror| mirror.to == *to)
            && let Err(e) = switch.set_conf(port, &PortConf { mirror: None, ..conf })
        {
            note(&format!("ringway: {e}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_their_source() {
        let named = |entry| Source::named(entry, "null:").ok();
        assert_eq!(named("ringway"), Some(Source::Named("null:".into())));
        assert_eq!(named("ringway:eth0"), Some(Source::Interface("eth0".into())));
        let mirror = Source::Mirror { switch: "vale0".into(), port: "p1".into() };
        assert_eq!(named("ringway:vale0:p1"), Some(mirror));
        for wrong in ["", "eth0", "ringway:", "ringway::p", "ringway:vale0:", "ringwayeth0"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}

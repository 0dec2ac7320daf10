//! How a port of a switch behaves: `struct rw_switch_port_conf` from and to values of Rust.

use ringway::switch::{Mirror, PortConf, StormLimits, VlanMode, VlanSet};
use ringway::{Error, ErrorKind, Result};

use crate::types::{PORT_NAME, SwitchPortConf};

/// Members of enum rw_vlan_mode.
const TRANSPARENT: u32 = 0;
const ACCESS: u32 = 1;
const TRUNK: u32 = 2;
/// Bits of `mirror`.
const MIRROR_RX: u8 = 1;
const MIRROR_TX: u8 = 2;
/// `RW_STORM_NONE`: no frame at all.
const STORM_NONE: u32 = u32::MAX;

/// What a program asks for.
pub(crate) fn read(from: &SwitchPortConf) -> Result<PortConf> {
    let storm = |rate| match rate {
        0 => None,
        STORM_NONE => Some(0),
        rate => Some(rate),
    };
    let [broadcast, multicast, unknown] = from.storm.map(storm);
    if from.mirror & !(MIRROR_RX | MIRROR_TX) != 0 {
        let what = format!("mirror is {}", from.mirror);
        return Err(
            Error::new(ErrorKind::Invalid, "switch", what).cure("pass RW_MIRROR_RX, RW_MIRROR_TX or both")
        );
    }
    Ok(PortConf {
        vlan: vlan_mode(from)?,
        isolated: from.isolated != 0,
        storm: StormLimits { broadcast, multicast, unknown },
        mirror: (from.mirror != 0).then(|| Mirror {
            to: mirror_name(&from.mirror_to),
            rx: from.mirror & MIRROR_RX != 0,
            tx: from.mirror & MIRROR_TX != 0,
        }),
    })
}

fn vlan_mode(from: &SwitchPortConf) -> Result<VlanMode> {
    let allowed = |vid: &u16| from.trunk[usize::from(*vid) / 8] >> (vid % 8) & 1 != 0;
    match from.vlan_mode {
        TRANSPARENT => Ok(VlanMode::Transparent),
        ACCESS => Ok(VlanMode::Access(from.vlan)),
        TRUNK => Ok(VlanMode::Trunk {
            allowed: (0..4096).filter(allowed).collect::<VlanSet>(),
            native: (from.vlan != 0).then_some(from.vlan),
        }),
        other => {
            let what = format!("vlan_mode is {other}");
            Err(Error::new(ErrorKind::Invalid, "switch", what).cure("pass one of enum rw_vlan_mode"))
        }
    }
}

/// The text up to its NUL; without one it is too long to be a name.
fn mirror_name(bytes: &[u8; PORT_NAME]) -> String {
    String::from_utf8_lossy(bytes.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
}

/// What a program sees. A mode that this version of the header has no name for shows as a number behind its own.
pub(crate) fn show(conf: &PortConf) -> SwitchPortConf {
    let mut shown = SwitchPortConf { isolated: conf.isolated.into(), ..SwitchPortConf::default() };
    match &conf.vlan {
        VlanMode::Transparent => shown.vlan_mode = TRANSPARENT,
        VlanMode::Access(vid) => (shown.vlan_mode, shown.vlan) = (ACCESS, *vid),
        VlanMode::Trunk { allowed, native } => {
            (shown.vlan_mode, shown.vlan) = (TRUNK, native.unwrap_or_default());
            for vid in allowed.iter() {
                shown.trunk[usize::from(vid) / 8] |= 1 << (vid % 8);
            }
        }
        _ => shown.vlan_mode = TRUNK + 1,
    }
    let rates = [conf.storm.broadcast, conf.storm.multicast, conf.storm.unknown];
    shown.storm = rates.map(|rate| rate.map_or(0, |rate| if rate == 0 { STORM_NONE } else { rate }));
    if let Some(mirror) = &conf.mirror {
        shown.mirror = (u8::from(mirror.rx) * MIRROR_RX) | (u8::from(mirror.tx) * MIRROR_TX);
        let name = mirror.to.as_bytes();
        let len = name.len().min(PORT_NAME - 1);
        shown.mirror_to[..len].copy_from_slice(&name[..len]);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_as_it_was() {
        let trunk = VlanMode::Trunk { allowed: "1,10-20,4094".parse().unwrap(), native: Some(10) };
        let storm = StormLimits { broadcast: Some(1000), multicast: None, unknown: Some(0) };
        let mirror = |rx, tx| Some(Mirror { to: "monitor".into(), rx, tx });
        for conf in [
            PortConf::default(),
            PortConf { vlan: VlanMode::Access(7), isolated: true, ..PortConf::default() },
            PortConf { vlan: trunk, storm, mirror: mirror(true, false), ..PortConf::default() },
            PortConf { mirror: mirror(true, true), ..PortConf::default() },
        ] {
            assert_eq!(read(&show(&conf)).unwrap(), conf);
        }
    }

    #[test]
    fn modes_and_directions_that_are_none_are_refused() {
        for wrong in [
            SwitchPortConf { vlan_mode: 9, ..SwitchPortConf::default() },
            SwitchPortConf { mirror: 4, ..SwitchPortConf::default() },
        ] {
            assert_eq!(read(&wrong).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}

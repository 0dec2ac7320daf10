//! Stations, their frames, and settings of ports. Used by the tests of NICs in switches, too.

use ringway::switch::{Mirror, PortConf, VlanMode, VlanSet};

pub(crate) const BROADCAST: u8 = 0;
pub(crate) const MULTICAST: u8 = 200;

/// The address of a station.
pub(crate) fn mac(station: u8) -> [u8; 6] {
    match station {
        BROADCAST => [0xff; 6],
        MULTICAST => [1, 0, 0x5e, 0, 0, 1],
        s => [2, 0, 0, 0, 0, s],
    }
}

/// A frame of EtherType `kind` with 802.1Q tags, cut or filled to `len` bytes.
pub(crate) fn frame(kind: u16, [to, from]: [u8; 2], tags: &[u16], len: usize, serial: u8) -> Vec<u8> {
    let mut f = [mac(to), mac(from)].concat();
    for tci in tags {
        f.extend([0x81, 0]);
        f.extend(tci.to_be_bytes());
    }
    f.extend(kind.to_be_bytes());
    let fill = f.len()..len.max(f.len());
    f.extend(fill.map(|i| (i * 31 + i / 251) as u8 ^ serial));
    f.truncate(len);
    f
}

pub(crate) fn access(vid: u16) -> PortConf {
    PortConf { vlan: VlanMode::Access(vid), ..PortConf::default() }
}

pub(crate) fn trunk(allowed: &[u16], native: Option<u16>) -> PortConf {
    let mut set: VlanSet = allowed.iter().copied().collect();
    set.extend(native);
    PortConf { vlan: VlanMode::Trunk { allowed: set, native }, ..PortConf::default() }
}

pub(crate) fn mirrored(to: usize, rx: bool, tx: bool) -> PortConf {
    PortConf { mirror: Some(Mirror { to: format!("p{to}"), rx, tx }), ..PortConf::default() }
}

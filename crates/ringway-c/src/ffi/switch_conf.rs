//! How the ports of a switch behave, who may open them, and the table of addresses.

use std::ffi::{c_char, c_int};

use ringway::switch::{PortAccess, Switch};
use ringway_wire::MacAddr;

use super::arrays::give_array;
use super::{check, invalid, shared, status, store, text, text_or_none};
use crate::types::{FdbEntry, SwitchPortConf};
use crate::{convert, port_conf};

/// What a program passes where it has no wish.
const AS_IT_IS: u32 = u32::MAX;

#[unsafe(no_mangle)]
extern "C" fn rw_switch_set_access(
    sw: *const Switch,
    port: *const c_char,
    uid: u32,
    gid: u32,
    mode: u32,
) -> c_int {
    status(|| {
        let wish = |id: u32| (id != AS_IT_IS).then_some(id);
        let access = PortAccess { uid: wish(uid), gid: wish(gid), mode };
        shared(sw, "the switch")?.set_access(text(port, "the name of the port")?, &access)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_get_conf(sw: *const Switch, port: *const c_char, conf: *mut SwitchPortConf) -> c_int {
    status(|| {
        check(conf, "the place for the settings")?;
        let found = shared(sw, "the switch")?.conf(text(port, "the name of the port")?)?;
        store(conf, port_conf::show(&found));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_set_conf(
    sw: *const Switch,
    port: *const c_char,
    conf: *const SwitchPortConf,
) -> c_int {
    status(|| {
        let conf = port_conf::read(shared(conf, "the settings")?)?;
        shared(sw, "the switch")?.set_conf(text(port, "the name of the port")?, &conf)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_reload(sw: *const Switch) -> c_int {
    status(|| {
        shared(sw, "the switch")?.reload()?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_fdb(sw: *const Switch, entries: *mut *mut FdbEntry) -> c_int {
    status(|| {
        let table = shared(sw, "the switch")?.fdb();
        let shown: Vec<_> = table.iter().map(|entry| ([], convert::fdb_entry(entry))).collect();
        give_array(entries, &shown, |_, []| {})
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_fdb_set(
    sw: *const Switch,
    mac: *const [u8; 6],
    vlan: u32,
    port: *const c_char,
) -> c_int {
    status(|| {
        let (mac, vlan) = (MacAddr(*shared(mac, "the address")?), vid(vlan)?);
        shared(sw, "the switch")?.fdb_set(mac, vlan, text_or_none(port, "the name of the port")?)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_fdb_del(sw: *const Switch, mac: *const [u8; 6], vlan: u32) -> c_int {
    status(|| {
        let (mac, vlan) = (MacAddr(*shared(mac, "the address")?), vid(vlan)?);
        Ok(shared(sw, "the switch")?.fdb_del(mac, vlan).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_fdb_flush(sw: *const Switch) -> c_int {
    status(|| Ok(shared(sw, "the switch")?.fdb_flush() as c_int))
}

fn vid(vlan: u32) -> ringway::Result<u16> {
    u16::try_from(vlan).map_err(|_| invalid(format!("{vlan} is no VLAN"), "pass 0 to 4094"))
}

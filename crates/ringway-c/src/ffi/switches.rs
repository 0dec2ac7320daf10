//! Switches.

use std::ffi::{c_char, c_int};

use ringway::switch::{NicOptions, PortAccess, Switch, switches};

use super::arrays::give_array;
use super::{check, free, give, shared, status, store, text, text_or_none};
use crate::convert;
use crate::last_error::c_text;
use crate::types::{SwitchPort, SwitchSpec};

#[unsafe(no_mangle)]
extern "C" fn rw_switch_create(name: *const c_char, spec: *const SwitchSpec, sw: *mut *mut Switch) -> c_int {
    status(|| {
        check(sw, "the place for the switch")?;
        let spec = if spec.is_null() { SwitchSpec::default() } else { *shared(spec, "the spec")? };
        let spec = convert::switch_spec(&spec, text_or_none(spec.module, "the module")?)?;
        store(sw, give(Switch::create(text(name, "the name")?, &spec)?));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_open(name: *const c_char, sw: *mut *mut Switch) -> c_int {
    status(|| {
        check(sw, "the place for the switch")?;
        store(sw, give(Switch::open(text(name, "the name")?)?));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_close(sw: *mut Switch) {
    free(sw);
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_delete(sw: *mut Switch) -> c_int {
    status(|| {
        // `delete` takes the switch; a second handle leaves the program its own until that succeeded.
        Switch::open(shared(sw, "the switch")?.name())?.delete()?;
        free(sw);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_add_port(sw: *const Switch, port: *const c_char) -> c_int {
    status(|| {
        let name = text(port, "the name of the port")?;
        Ok(shared(sw, "the switch")?.add_port(name, &PortAccess::default())? as c_int)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_add_nic(sw: *const Switch, interface: *const c_char, host: c_int) -> c_int {
    status(|| {
        let options = NicOptions { host: host != 0, ..NicOptions::default() };
        let interface = text(interface, "the name of the interface")?;
        Ok(shared(sw, "the switch")?.add_nic_with(interface, &options)? as c_int)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_del_port(sw: *const Switch, port: *const c_char, force: c_int) -> c_int {
    status(|| {
        shared(sw, "the switch")?.del_port(text(port, "the name of the port")?, force != 0)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switch_ports(sw: *const Switch, ports: *mut *mut SwitchPort) -> c_int {
    status(|| {
        let stats = shared(sw, "the switch")?.stats();
        let shown: Vec<_> = stats.iter().map(convert::switch_port).collect();
        give_array(ports, &shown, |port, [name]| port.name = name)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_switches(names: *mut *mut *const c_char) -> c_int {
    status(|| {
        let all: Vec<_> = switches().iter().map(|name| ([Some(c_text(name))], std::ptr::null())).collect();
        give_array(names, &all, |place, [name]| *place = name)
    })
}

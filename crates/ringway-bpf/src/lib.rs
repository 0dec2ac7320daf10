#![doc = include_str!("../README.md")]

mod packed;
mod record;

pub use packed::Packed;
pub use record::Record;

/// An object in two builds, of which a kernel takes one. `bpf/common/loop.h` tells how they differ.
#[derive(Debug, Clone, Copy)]
pub struct Builds {
    /// For Linux 6.15 and later.
    pub new: Packed,
    /// For older kernels.
    pub old: Packed,
}

/// Where things lie in the structures that programs and the library share. The build reads it from the objects' types (BTF).
pub mod layout {
    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

macro_rules! object {
    ($name:literal) => {
        object!($name, "")
    };
    ($name:literal, $build:literal) => {
        Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, $build, ".bpf.o.deflate")))
    };
}

macro_rules! builds {
    ($name:literal) => {
        Builds { new: object!($name), old: object!($name, "_old") }
    };
}

/// The programs of an `ebpf:` port and of its host rings.
pub static PORT: Builds = builds!("port");

/// The program of an `xdp:` port.
pub static XSK: Packed = object!("xsk");

/// Programs that try what the kernel knows.
pub static PROBE: Packed = object!("probe");

/// The program by which a user of a switch's port looks at the state of the port.
pub static SWITCH_LOOK: Packed = object!("switch_look");

/// The program that takes what users of a switch's ports send: of a bridge, a hub, and a switch with a user's module.
pub static SWITCH: [Builds; 3] = [builds!("switch_bridge"), builds!("switch_hub"), builds!("switch_module")];

/// The programs of a switch's NICs, for the same.
pub static NIC: [Builds; 3] = [builds!("nic_bridge"), builds!("nic_hub"), builds!("nic_module")];

/// The programs of a router's members by XDP, and of the process that follows the kernel's tables.
pub static ROUTER: Builds = builds!("router");

/// The program of a router's members by traffic control.
pub static ROUTER_TC: Builds = builds!("router_tc");

/// The same two with counters of their stages, for the time in which somebody watches.
pub static ROUTER_TIMED: Builds = builds!("router_timed");
/// By traffic control.
pub static ROUTER_TC_TIMED: Builds = builds!("router_tc_timed");

#[cfg(test)]
mod tests {
    use super::*;

    /// Machine 247 is eBPF; see `EM_BPF` in elf.h.
    fn is_bpf(object: Packed) -> bool {
        let object = object.unpack();
        object.starts_with(b"\x7fELF") && object[18..20] == 247u16.to_ne_bytes()
    }

    #[test]
    fn all_objects_are_for_the_kernel() {
        assert!([XSK, PROBE, SWITCH_LOOK].into_iter().all(is_bpf));
        let builds =
            SWITCH.iter().chain(&NIC).chain([&PORT, &ROUTER, &ROUTER_TC, &ROUTER_TIMED, &ROUTER_TC_TIMED]);
        for b in builds {
            assert!(is_bpf(b.new) && is_bpf(b.old) && b.new.unpack() != b.old.unpack());
        }
    }
}

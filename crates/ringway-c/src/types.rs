//! The structs of the header that functions of the library read or write. A test below holds both against each other.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

/// `struct rw_ring`: what the program sees of a ring.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RingView {
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) num_slots: u32,
    pub(crate) buf_size: u32,
    pub(crate) num_bufs: u32,
    pub(crate) skipped: u32,
    pub(crate) slots: *mut c_void,
    pub(crate) bufs: *mut u8,
    pub(crate) exchanges_in: *const c_void,
    pub(crate) header: *mut c_void,
    pub(crate) user: *mut c_void,
    pub(crate) number: u32,
    pub(crate) direction: u32,
}

/// `struct rw_buf`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buf {
    pub(crate) data: *mut u8,
    pub(crate) index: u32,
    pub(crate) size: u32,
    pub(crate) exchanges_in: *const c_void,
}

/// `struct rw_options`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) size: usize,
    pub(crate) take: *const c_char,
    pub(crate) region: *const ringway::Region,
    pub(crate) slots: u32,
    pub(crate) extra_bufs: u32,
    pub(crate) gso: u32,
    pub(crate) promiscuous: i32,
    pub(crate) copy: u8,
    pub(crate) send_only: u8,
    pub(crate) raw: u8,
    pub(crate) reserved: [u8; 5],
}

/// `struct rw_engine_options`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EngineOptions {
    pub(crate) size: usize,
    pub(crate) io_cpus: *const u32,
    pub(crate) io_cpu_count: usize,
    pub(crate) threads: u32,
    pub(crate) queue: u32,
    pub(crate) gather_us: u32,
    pub(crate) patience_ms: u32,
    pub(crate) flows: u8,
    pub(crate) drop_received: u8,
    pub(crate) drop_sent: u8,
    pub(crate) reserved: [u8; 5],
}

impl Default for EngineOptions {
    /// What a program gets that passes none.
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            io_cpus: null(),
            io_cpu_count: 0,
            threads: 0,
            queue: 0,
            gather_us: 0,
            patience_ms: 0,
            flows: 0,
            drop_received: 0,
            drop_sent: 0,
            reserved: [0; 5],
        }
    }
}

/// `struct rw_engine_frame`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EngineFrame {
    pub(crate) data: *mut u8,
    pub(crate) len: u32,
    pub(crate) room: u32,
    pub(crate) port: u32,
    pub(crate) to: u32,
}

impl Default for EngineFrame {
    fn default() -> Self {
        Self { data: null_mut(), len: 0, room: 0, port: u32::MAX, to: u32::MAX }
    }
}

/// `struct rw_engine_counts`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EngineCounts {
    pub(crate) delivered: u64,
    pub(crate) taken: u64,
    pub(crate) made: u64,
    pub(crate) sent: u64,
    pub(crate) let_go: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
    pub(crate) held: u64,
    pub(crate) waiting_for_threads: u64,
    pub(crate) waiting_for_ports: u64,
    pub(crate) stuck: u64,
}

/// `struct rw_port_info`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortInfo {
    pub(crate) name: *const c_char,
    pub(crate) backend: *const c_char,
    pub(crate) tx_rings: u32,
    pub(crate) rx_rings: u32,
    pub(crate) slots: u32,
    pub(crate) buf_size: u32,
    pub(crate) max_frame: u32,
    pub(crate) host: u32,
    pub(crate) memory: u64,
}

/// `struct rw_region_spec`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RegionSpec {
    pub(crate) ports: u32,
    pub(crate) rings: u32,
    pub(crate) slots: u32,
    pub(crate) buffers: u32,
    pub(crate) buf_size: u32,
    pub(crate) ebpf: u32,
}

/// Places for drops in `struct rw_counters`.
pub(crate) const MAX_DROPS: usize = 32;

/// `struct rw_counters`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) frames_in: u64,
    pub(crate) frames_out: u64,
    pub(crate) bytes_out: u64,
    pub(crate) syncs: u64,
    pub(crate) busy_syncs: u64,
    pub(crate) resets: u64,
    pub(crate) wakeups: u64,
    pub(crate) wakeups_withheld: u64,
    pub(crate) drops: [u64; MAX_DROPS],
}

/// `struct rw_port_counters`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PortCounters {
    pub(crate) rx: Counters,
    pub(crate) tx: Counters,
}

/// `struct rw_open_port`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenPort {
    pub(crate) name: *const c_char,
    pub(crate) backend: *const c_char,
    pub(crate) interface: *const c_char,
    pub(crate) pid: u32,
    pub(crate) number: u32,
    pub(crate) counters: PortCounters,
}

/// `struct rw_switch_spec`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwitchSpec {
    pub(crate) slots: u32,
    pub(crate) rings: u32,
    pub(crate) buf_size: u32,
    pub(crate) quota: u32,
    pub(crate) ageing_ms: i64,
    pub(crate) module: *const c_char,
}

/// `struct rw_switch_port`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwitchPort {
    pub(crate) name: *const c_char,
    pub(crate) number: u32,
    pub(crate) pid: u32,
    pub(crate) ifindex: u32,
    pub(crate) flags: u32,
    pub(crate) counters: PortCounters,
    pub(crate) copies: u64,
    pub(crate) waiting: u64,
    pub(crate) addresses: u32,
    pub(crate) reserved: u32,
}

/// Bytes of a port's name in a switch, with its NUL.
pub(crate) const PORT_NAME: usize = 32;

/// `struct rw_switch_port_conf`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwitchPortConf {
    pub(crate) vlan_mode: u32,
    pub(crate) vlan: u16,
    pub(crate) isolated: u8,
    pub(crate) mirror: u8,
    /// By kind: enum rw_storm.
    pub(crate) storm: [u32; 3],
    pub(crate) mirror_to: [u8; PORT_NAME],
    pub(crate) trunk: [u8; 512],
}

/// `struct rw_fdb_entry`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FdbEntry {
    pub(crate) mac: [u8; 6],
    pub(crate) vlan: u16,
    pub(crate) port: u32,
    pub(crate) reserved: u32,
    pub(crate) age_ms: i64,
}

impl Default for SwitchPortConf {
    fn default() -> Self {
        Self {
            vlan_mode: 0,
            vlan: 0,
            isolated: 0,
            mirror: 0,
            storm: [0; 3],
            mirror_to: [0; PORT_NAME],
            trunk: [0; 512],
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            take: null(),
            region: null(),
            slots: 0,
            extra_bufs: 0,
            gso: 0,
            promiscuous: 0,
            copy: 0,
            send_only: 0,
            raw: 0,
            reserved: [0; 5],
        }
    }
}

impl Default for SwitchSpec {
    fn default() -> Self {
        Self { slots: 0, rings: 0, buf_size: 0, quota: 0, ageing_ms: 0, module: null() }
    }
}

impl Default for Buf {
    /// No buffer, as a program has it when it gave one back.
    fn default() -> Self {
        Self { data: null_mut(), index: 0, size: 0, exchanges_in: null() }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;
    use std::mem::offset_of;
    use std::process::{Command, Stdio};

    use super::*;

    /// Lines of C that hold only when the struct of the header is as that of Rust.
    macro_rules! assertions {
        ($text:ident, $($type:ident = $name:literal { $($member:ident),* })*) => {$(
            let size = size_of::<$type>();
            writeln!($text, "_Static_assert(sizeof(struct {}) == {size}, \"\");", $name).unwrap();
            $(
                let (member, at) = (stringify!($member), offset_of!($type, $member));
                writeln!($text, "_Static_assert(offsetof(struct {}, {member}) == {at}, \"{member}\");", $name)
                    .unwrap();
            )*
        )*};
    }

    #[test]
    fn structs_are_as_the_header_has_them() {
        let mut text = String::from("#include <ringway.h>\n");
        assertions! { text,
            RingView = "rw_ring" {
                head, tail, num_slots, buf_size, num_bufs, skipped, slots, bufs, exchanges_in, header, user, number, direction
            }
            Buf = "rw_buf" { data, index, size, exchanges_in }
            Options = "rw_options" {
                size, take, region, slots, extra_bufs, gso, promiscuous, copy, send_only, raw, reserved
            }
            EngineOptions = "rw_engine_options" {
                size, io_cpus, io_cpu_count, threads, queue, gather_us, patience_ms, flows, drop_received, drop_sent, reserved
            }
            EngineFrame = "rw_engine_frame" { data, len, room, port, to }
            EngineCounts = "rw_engine_counts" {
                delivered, taken, made, sent, let_go, lost, dropped, held, waiting_for_threads, waiting_for_ports, stuck
            }
            PortInfo = "rw_port_info" {
                name, backend, tx_rings, rx_rings, slots, buf_size, max_frame, host, memory
            }
            RegionSpec = "rw_region_spec" { ports, rings, slots, buffers, buf_size, ebpf }
            Counters = "rw_counters" {
                frames_in, frames_out, bytes_out, syncs, busy_syncs, resets, wakeups, wakeups_withheld, drops
            }
            PortCounters = "rw_port_counters" { rx, tx }
            OpenPort = "rw_open_port" { name, backend, interface, pid, number, counters }
            SwitchSpec = "rw_switch_spec" { slots, rings, buf_size, quota, ageing_ms, module }
            SwitchPort = "rw_switch_port" {
                name, number, pid, ifindex, flags, counters, copies, waiting, addresses, reserved
            }
            SwitchPortConf = "rw_switch_port_conf" { vlan_mode, vlan, isolated, mirror, storm, mirror_to, trunk }
            FdbEntry = "rw_fdb_entry" { mac, vlan, port, reserved, age_ms }
        }
        let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-fsyntax-only", "-I", include, "-x", "c", "-"]).stdin(Stdio::piped());
        let mut compiler = compiler.spawn().unwrap();
        compiler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(compiler.wait().unwrap().success(), "{text}");
    }
}

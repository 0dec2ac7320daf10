//! Frames that pipes and monitors pass or lose are counted. A program without rights binds a pipe on a name that is no interface.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use ringway_abi::Slot;
use ringway_abi::layout::{RING_HEADER, SLOT_SIZE, interface, ring};
use ringway_count::{Counters, DropReason};
use ringway_sys::mmap::Mmap;

use crate::body::Register;
use crate::descriptor::Descriptor;
use crate::memory::Errno;
use crate::numbers::{Kind, NIOCCTRL, NIOCRXSYNC, NIOCTXSYNC, flag};
use crate::sys::own_memory::OwnMemory;

/// A bound descriptor, and its region.
struct Port {
    _socket: OwnedFd,
    descriptor: Descriptor,
    region: Mmap,
    /// What it is listed as.
    listed: String,
    /// Where its tx and its rx ring begin; 0 for one that it has not.
    rings: [usize; 2],
}

fn bind(name: &str, wish: Register) -> Result<Port, Errno> {
    let (socket, descriptor) = Descriptor::create(true)?;
    let mut body = [0u8; 56];
    Register { mode: 1, ..wish }.put(&mut body);
    let mut header = [0u8; 88];
    header[..2].copy_from_slice(&14u16.to_ne_bytes());
    header[2..4].copy_from_slice(&(Kind::Register as u16).to_ne_bytes());
    header[8..8 + name.len()].copy_from_slice(name.as_bytes());
    header[80..].copy_from_slice(&(body.as_mut_ptr().expose_provenance() as u64).to_ne_bytes());
    descriptor.ioctl(NIOCCTRL, header.as_ptr().expose_provenance() as u64, &mut OwnMemory)?;
    let got = Register::of(&body);
    let (fd, size) = descriptor.memory()?;
    let region = Mmap::shared(fd, size, 0, true).unwrap();
    let base = got.offset as usize;
    let rings = [0, usize::from(got.rings[0])].map(|k| {
        let ofs = region.u64(base + interface::RING_OFS + 8 * k).load(Relaxed);
        if ofs == 0 { 0 } else { base.wrapping_add(ofs as usize) }
    });
    let flags = if wish.flags == 0 { "" } else { "/t" };
    Ok(Port { _socket: socket, descriptor, region, listed: format!("netmap:{name}{flags}"), rings })
}

impl Port {
    /// Sends a frame in each slot from the first on, with an index of no buffer where `bad` says so.
    fn send(&self, bad: &[bool]) {
        let begin = self.rings[0];
        for (k, bad) in bad.iter().enumerate() {
            let word = self.region.u64(begin + RING_HEADER + k * SLOT_SIZE);
            let slot = Slot { len: 60, ..Slot::from_word(word.load(Relaxed)) };
            word.store(Slot { buf: if *bad { u32::MAX } else { slot.buf }, ..slot }.word(), Relaxed);
        }
        for at in [ring::HEAD, ring::CUR] {
            self.region.u32(begin + at).store(bad.len() as u32, Relaxed);
        }
        self.descriptor.ioctl(NIOCTXSYNC, 0, &mut OwnMemory).unwrap();
    }

    fn receive(&self) -> u32 {
        self.descriptor.ioctl(NIOCRXSYNC, 0, &mut OwnMemory).unwrap();
        self.region.u32(self.rings[1] + ring::TAIL).load(Relaxed)
    }

    /// What `ringway stats` shows of it, tx and rx.
    fn counters(&self) -> [Counters; 2] {
        let listed = ringway::open_ports();
        let own = listed.iter().find(|port| port.name == self.listed).unwrap();
        [own.counters.tx, own.counters.rx]
    }
}

/// A name that no other test has; `None`, said loudly, without a directory to keep the state of rings in.
fn name(kind: &str) -> Option<String> {
    if ringway_count::make_directory("netmap").is_some_and(|made| made.is_ok()) {
        return Some(format!("{kind}{}", std::process::id()));
    }
    eprintln!("SKIPPED: no run directory");
    None
}

#[test]
fn a_pipe_counts_frames_and_bad_slots() {
    let Some(name) = name("cp") else { return };
    let a = bind(&format!("{name}{{1"), Register::default()).unwrap();
    let b = bind(&format!("{name}}}1"), Register::default()).unwrap();
    a.send(&[false, true, false]);
    assert_eq!(b.receive(), 2);
    let ([tx, _], [_, rx]) = (a.counters(), b.counters());
    assert_eq!((tx.frames_in, tx.frames_out, tx.bytes_out), (3, 2, 120));
    assert_eq!((tx.drops(DropReason::BadSlot), tx.dropped()), (1, 1));
    assert_eq!((rx.frames_in, rx.frames_out, rx.bytes_out, rx.dropped()), (2, 2, 120, 0));
    a.region.u32(a.rings[0] + ring::HEAD).store(u32::MAX, Relaxed);
    a.descriptor.ioctl(NIOCTXSYNC, 0, &mut OwnMemory).unwrap();
    assert_eq!(a.counters()[0].resets, 1);
}

#[test]
fn a_monitor_counts_what_it_misses() {
    let Some(name) = name("cm") else { return };
    let a = bind(&format!("{name}{{1"), Register::default()).unwrap();
    let wish = Register { flags: flag::MONITOR_TX, slots: [3, 3], ..Register::default() };
    let monitor = bind(&format!("{name}{{1"), wish).unwrap();
    a.send(&[false; 5]);
    assert_eq!(monitor.receive(), 2, "as many as its ring holds");
    let [_, rx] = monitor.counters();
    assert_eq!((rx.frames_in, rx.frames_out, rx.drops(DropReason::RingFull)), (5, 2, 3));
}

//! A user of a port with one ring each way: as much of one as tests of this crate need. It sends single frames and reads what came,
//! does nothing for NICs, and takes no claim.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use ringway_abi::layout::{RING_HEADER, SLOT_SIZE, ring};
use ringway_abi::{Layout, Slot, cursor};
use ringway_sys::bpf;
use ringway_sys::mmap::Mmap;

use crate::layout::ctl;
use crate::{Look, Switch, View, objects, pins};

const TX: u32 = 0;
const RX: u32 = 1;
/// `enum answer` in bpf/switch/state.h: another program took the place of this one.
const STALE: u32 = 1;

pub(crate) struct Client {
    dir: PathBuf,
    layout: Layout,
    memory: Arc<Mmap>,
    send: OwnedFd,
    look: Look,
    /// Slots of the two rings up to which frames went.
    sent: u32,
    read: u32,
}

impl Client {
    /// The user of a port that is there.
    pub(crate) fn open(switch: &Switch, port: &str) -> Self {
        let dir = pins::port(&switch.dir, port);
        let layout = switch.shape.region();
        let region = objects::open_map(&dir.join("region"), port).unwrap();
        let memory = objects::map_values(&region, layout.total, true, port).unwrap();
        let look = View::open(&dir, port).unwrap().look(0, port).unwrap();
        let send = objects::open_pin(&pins::send(&dir), true, port).unwrap();
        let index = |position: u32| position & (layout.slots - 1);
        let (sent, read) = (index(look.sent), index(look.head));
        Self { dir, layout, memory, send, look, sent, read }
    }

    fn slot(&self, ring: u32, slot: u32) -> Slot {
        let at = self.layout.ring(ring) + RING_HEADER + slot as usize * SLOT_SIZE;
        Slot::from_word(self.memory.u64(at).load(Acquire))
    }

    /// Sends a frame, which programs of the switch take before this returns.
    pub(crate) fn send(&mut self, frame: &[u8]) {
        let slot = Slot { len: frame.len() as u16, flags: 0, ..self.slot(TX, self.sent) };
        let at = self.layout.ring(TX) + RING_HEADER + self.sent as usize * SLOT_SIZE;
        self.memory.write(self.layout.buf(slot.buf), frame);
        self.memory.u64(at).store(slot.word(), Release);
        self.sent = cursor::next(self.sent, self.layout.slots);
        self.memory.u32(self.layout.ctl(TX) + ctl::HEAD).store(self.sent, Release);
        let taken = self.layout.ring(TX) + ring::KERNEL_PROGRESS;
        for _ in 0..100 {
            let mut request = [u64::from(self.look.port) << 32, self.look.ticket.word()];
            let answer = bpf::run_syscall(self.send.as_fd(), &mut request).unwrap();
            if answer & 0xff == STALE {
                self.send = objects::open_pin(&pins::send(&self.dir), true, "a test").unwrap();
            }
            if self.memory.u32(taken).load(Acquire) & (self.layout.slots - 1) == self.sent {
                return;
            }
        }
        panic!("the switch takes no frame");
    }

    /// The frames that came since the last call.
    pub(crate) fn receive(&mut self) -> Vec<Vec<u8>> {
        let told = self.layout.ring(RX) + ring::KERNEL_PROGRESS;
        let end = self.memory.u32(told).load(Acquire) & (self.layout.slots - 1);
        let mut frames = Vec::new();
        while self.read != end {
            let slot = self.slot(RX, self.read);
            let mut frame = vec![0; slot.len.into()];
            self.memory.read(self.layout.buf(slot.buf), &mut frame);
            frames.push(frame);
            self.read = cursor::next(self.read, self.layout.slots);
        }
        self.memory.u32(self.layout.ctl(RX) + ctl::HEAD).store(self.read, Release);
        frames
    }
}

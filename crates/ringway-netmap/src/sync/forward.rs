//! Frames that a program marked cross from the NIC to its host, or from the host to the NIC.

use std::sync::{Mutex, PoisonError};

use ringway::{OpenOptions, Port};

use crate::bound::Bound;
use crate::internal;
use crate::region::RingWords;

/// Flag of a ring: slots that are marked go on to the host, or to the NIC.
pub(super) const NR_FORWARD: u32 = 0x4;

/// Slot flag: the frame goes on when its slot is given back.
const NS_FORWARD: u16 = 0x4;

/// The ports by which frames of a binding cross, each opened when the first one does. `None`: it could not be opened.
#[derive(Debug, Default)]
pub(crate) struct Crossings(Mutex<Vec<(usize, Option<Port>)>>);

impl Crossings {
    /// Has `f` use the port by which frames of port `served`, called `name`, cross.
    fn with(&self, served: usize, name: &str, f: impl FnOnce(&mut Port)) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.iter().any(|(s, _)| *s == served) {
            open.push((served, internal::track(|| crossing(name))));
        }
        let port = open.iter_mut().find(|(s, _)| *s == served).and_then(|(_, port)| port.as_mut());
        if let Some(port) = port {
            f(port);
        }
    }
}

/// The port of the host for one of a NIC, and the other way round.
fn crossing(name: &str) -> Option<Port> {
    let options = OpenOptions::new().slots(256);
    let opened = match name.strip_suffix('^') {
        Some(nic) => options.send_only(true).open(nic),
        None => {
            let interface = name.split_once(':').map_or(name, |(_, interface)| interface);
            options.copy(true).open(&format!("ebpf:{interface}^"))
        }
    };
    opened.map_err(|e| crate::failure::told(&e)).ok()
}

impl Bound {
    /// Forwards the marked frames in slots `[at, end)` of an rx ring that `served` serves.
    #[cold]
    pub(super) fn forward_marked(&self, served: usize, words: &RingWords<'_>, span: (u32, u32)) {
        let frames = self.marked(words, span);
        if frames.is_empty() {
            return;
        }
        self.crossings.with(served, self.served[served].name(), |port| {
            for frame in &frames {
                if !port.tx[0].push(frame) {
                    let _ = port.tx[0].sync(); // what it refuses it counts
                    port.tx[0].push(frame);
                }
            }
            let _ = port.tx[0].sync(); // as above
        });
    }

    /// The frames of which a slot is marked.
    fn marked(&self, words: &RingWords<'_>, (mut at, end): (u32, u32)) -> Vec<Vec<u8>> {
        let (mut frames, mut frame, mut marked) = (Vec::new(), Vec::new(), false);
        while at != end {
            let slot = words.slot(at);
            marked |= slot.flags & NS_FORWARD != 0;
            if words.valid(slot) {
                self.region().read_slot(slot, &mut frame);
            }
            if !slot.more() {
                let whole = std::mem::take(&mut frame);
                if std::mem::take(&mut marked) {
                    frames.push(whole);
                }
            }
            at = words.next(at);
        }
        frames
    }
}

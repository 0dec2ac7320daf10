//! Monitors. One has as many rx rings as the port has rings, in a region of its own; what serves the port copies frames there.

use crate::body::Register;
use crate::bound::{Bound, Hold};
use crate::failure::told;
use crate::ledger::{BindingFacts, PortKind};
use crate::memory::Errno;
use crate::numbers::{Mode, flag};
use crate::plan::{Plan, RingPlan, Service};
use crate::space::{Space, hold_binding};
use crate::sync::{monitor_bell, monitor_word};

use super::choice::choose;
use super::finish::{enter, numbers};
use super::found::Found;
use super::pipe::own_rings;

/// Binds a monitor of the rings that were found.
pub(super) fn bind(
    space: &Space,
    name: &str,
    mut found: Found,
    mode: Mode,
    wish: &mut Register,
) -> Result<Bound, Errno> {
    let directions = flag::TX_RINGS_ONLY | flag::RX_RINGS_ONLY;
    let chosen = choose(mode, wish.ringid, wish.flags & !directions, found.counts)?;
    let watched = numbers(&found, &chosen);
    let counts = found.counts.map(|n| n.max(1));
    let (tx_rings, rx_rings) = (found.counts[0].max(counts[2]), counts[0].max(counts[2]));
    let slots = if wish.slots[1] > 0 { wish.slots[1].clamp(2, 4096) } else { found.slots.max(2) };
    let made = own_rings(space, &format!("monitor of {name}"), PortKind::Monitor, (0, rx_rings, slots), 0);
    let (region, port) = made.map_err(|e| told(&e))?;
    let bell = monitor_bell(&region).ok_or(Errno(libc::ENOMEM))?;
    // The rings that it looks at stay as long as it does.
    let parent = hold_parent(&found)?;
    let own: Vec<Option<u32>> = region.ledger.port(port).rx().map(Some).collect();
    let facts = BindingFacts {
        ports: [Some(port), None],
        mode: wish.mode,
        ringid: wish.ringid,
        flags: wish.flags,
        ..BindingFacts::default()
    };
    let own_counts = [tx_rings, 0, rx_rings, 0];
    let described = [vec![None; tx_rings as usize], Vec::new(), own, Vec::new()];
    let hold = enter(&region, name, &facts, (own_counts, &described), wish)?;
    wish.slots = [slots; 2];
    watch(&found, &watched, region.ledger.id, wish.flags)?;
    let served: Vec<_> = std::mem::take(&mut found.served).into_iter().flatten().collect();
    let looks = wish.flags & flag::MONITOR_RX != 0 && wish.flags & flag::ZCOPY_MON == 0 && !served.is_empty();
    let rx = region.ledger.port(port).rx().zip(0..).map(|(number, k)| {
        let collects = looks && watched[2].get(k as usize).copied().flatten().is_some();
        let service = Service::Monitor { own_bell: 0, served: collects.then_some((0, k)) };
        RingPlan { number, slots, service }
    });
    let plan = Plan {
        flags: wish.flags | flag::RX_RINGS_ONLY,
        holds: vec![hold.binding, parent.binding],
        served: served.iter().map(|s| (1, s.index)).collect(),
        bells: 1,
        tx: Vec::new(),
        rx: rx.collect(),
    };
    Bound::new(plan, vec![hold, parent], served, vec![bell]).map_err(|e| told(&e))
}

/// Keeps the port that the monitor looks at: a binding to none of its rings.
fn hold_parent(found: &Found) -> Result<Hold, Errno> {
    let ledger = &found.region.ledger;
    let _control = ledger.control().map_err(|e| told(&e))?;
    let record = ledger.free_binding().ok_or(Errno(libc::EBUSY))?;
    let folder = found.region.folder.as_ref().ok_or(Errno(libc::EACCES))?;
    let proof = hold_binding(folder, record.index).map_err(|e| told(&e))?;
    found.region.extra_head(record.index).store(0, std::sync::atomic::Ordering::Relaxed);
    record.begin(&BindingFacts { ports: [found.port, found.host], ..BindingFacts::default() });
    Ok(Hold::new(&found.region, record.index, proof))
}

/// Has the rings tell the monitor what they see: tx ring and rx ring `k` go to its ring `k`.
fn watch(found: &Found, watched: &super::finish::Numbers, id: u16, flags: u64) -> Result<(), Errno> {
    let late = flags & flag::ZCOPY_MON != 0;
    let kinds = [(0, flag::MONITOR_TX), (1, flag::MONITOR_TX), (2, flag::MONITOR_RX), (3, flag::MONITOR_RX)];
    for (kind, wanted) in kinds {
        if flags & wanted == 0 {
            continue;
        }
        for (ring, number) in (0..).zip(&watched[kind]) {
            let Some(number) = number else { continue };
            let record = found.region.ledger.ring(*number);
            let _held = record.lock().ok_or(Errno(libc::EBUSY))?;
            if !record.add_monitor(monitor_word(id, late, ring)) {
                return Err(Errno(libc::EBUSY));
            }
        }
    }
    Ok(())
}

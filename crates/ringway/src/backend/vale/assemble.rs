//! Puts a port together: its rings go on where the last user stopped.

use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

use super::core::Core;
use super::nics::NicTransmitters;
use super::port::ValePort;
use super::rx::ValeRx;
use super::share::Exporter;
use super::tx::ValeTx;
use crate::abi::Slot;
use crate::abi::layout::{FIRST_BUF, MAX_CHAIN};
use crate::count::{Registration, RingStats};
use crate::error::Result;
use crate::port::{Made, OpenOptions};
use crate::ring::{Lease, PortShape, RingParts, RingView, RxRing, TxRing};
use ringway_switch::Look;
use ringway_switch::layout::ctl;
use ringway_wire::offload::Gso;

/// Takes the rings over from where the last user stopped; `now` is what programs know of each.
pub(super) fn assemble(core: &Arc<Core>, now: &[Look], options: &OpenOptions) -> Result<Made> {
    let name = &core.name;
    let (rings, slots) = (core.shape.rings, core.shape.slots);
    let lease = Lease::of(&core.region, 0, (0..2 * rings).collect(), slots, None);
    let views: Vec<RingView> = lease.views().collect();
    repair(&views);
    let registration = Registration::new(name, rings, rings)?;
    if let (Some(id), Some(look)) = (core.view.id(), now.first()) {
        registration.set_switch_port(id, look.tag());
    }
    let mut tx = Vec::new();
    let mut rx = Vec::new();
    for (r, now) in (0..rings).zip(now) {
        let ring = |number: u32| (&views[number as usize], &lease);
        tx.push(tx_ring(core, r, now, ring(r), registration.tx(r))?);
        rx.push(rx_ring(core, r, now, ring(rings + r), registration.rx(r), options)?);
    }
    Ok(made(core, registration, tx, rx, options.raw))
}

/// The port, of its rings. `raw`: received frames keep their bytes as the kernel has them.
pub(super) fn made(
    core: &Arc<Core>,
    registration: Arc<Registration>,
    tx: Vec<TxRing>,
    rx: Vec<RxRing>,
    raw: bool,
) -> Made {
    let (rings, slots) = (core.shape.rings, core.shape.slots);
    let describe = format!(
        "vale: port {} of a switch, {rings} ring{} of {slots} slots each way",
        core.number,
        if rings == 1 { "" } else { "s" }
    );
    Made {
        name: core.name.clone(),
        region: core.region.clone(),
        shape: PortShape { tx_rings: rings, rx_rings: rings, slots, host: false },
        rx,
        tx,
        registration,
        control: Arc::new(ValePort {
            core: Arc::downgrade(core),
            view: core.view.clone(),
            rings,
            name: core.name.clone(),
            describe,
        }),
        share: Some(Box::new(Exporter::new(core, raw))),
        max_frame: (MAX_CHAIN * core.region.buf_size()).min(u32::from(u16::MAX)),
    }
}

/// Frames that were not synced are gone with their process.
fn tx_ring(
    core: &Arc<Core>,
    ring: u32,
    now: &Look,
    (view, lease): (&RingView, &Arc<Lease>),
    stats: RingStats,
) -> Result<TxRing> {
    let sent = core.index(now.sent);
    let nics = NicTransmitters::new(&core.name, &core.dir);
    let side = ValeTx::new(core.clone(), ring, sent, nics)?;
    let tail = view.prev(sent);
    core.ctl(ring, ctl::HEAD).store(sent, Release);
    view.kernel_progress().store(sent, Release);
    view.set_cursors(sent, tail);
    let parts = RingParts { view: view.clone(), first: sent, tail, stats, lease: lease.clone() };
    Ok(TxRing::new(parts, Box::new(side)))
}

/// Frames that were received and not given back are received again.
fn rx_ring(
    core: &Arc<Core>,
    ring: u32,
    now: &Look,
    (view, lease): (&RingView, &Arc<Lease>),
    stats: RingStats,
    options: &OpenOptions,
) -> Result<RxRing> {
    let mut side = ValeRx::new(core.clone(), ring, now.published, options.raw);
    side.set_whole(options.gso == Gso::Carry);
    side.republish_position(view)?;
    side.republish_quiet()?;
    let (first, tail) = side.begin(view, now.head);
    view.set_cursors(first, tail);
    let parts = RingParts { view: view.clone(), first, tail, stats, lease: lease.clone() };
    Ok(RxRing::new(parts, Box::new(side)))
}

/// Gives each slot a buffer of its own again: the last user may have died while it exchanged some.
fn repair(views: &[RingView]) {
    let total: u32 = views.iter().map(RingView::num).sum();
    let mut seen = vec![false; (FIRST_BUF + total) as usize];
    let mut wrong = Vec::new();
    for view in views {
        for i in 0..view.num() {
            match seen.get_mut(view.slot(i).buf as usize) {
                Some(s) if view.slot(i).buf >= FIRST_BUF && !*s => *s = true,
                _ => wrong.push((view, i)),
            }
        }
    }
    let free = (FIRST_BUF..).zip(&seen[FIRST_BUF as usize..]).filter(|(_, seen)| !**seen).map(|(buf, _)| buf);
    for ((view, i), buf) in wrong.into_iter().zip(free) {
        view.set_slot(i, Slot { buf, len: 0, flags: 0 });
    }
}

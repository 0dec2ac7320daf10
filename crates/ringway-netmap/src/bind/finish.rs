//! The last steps of a binding: the book of the region, the interface descriptor, extra buffers.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ringway_sys::error::{Error, ErrorKind};

use super::choice::{Chosen, choose};
use super::found::Found;
use super::make::{file_region, interfaces_region, known_region};
use crate::body::Register;
use crate::bound::{Bound, Hold};
use crate::failure::{out_of_memory, told};
use crate::ledger::{BindingFacts, PortKind, RegionKind, RingSet};
use crate::memory::Errno;
use crate::numbers::{Mode, flag};
use crate::plan::{Plan, RingPlan, Service, Sources};
use crate::region::{InterfaceFacts, RINGS_DESCRIBED, Region};
use crate::space::{INTERFACES, Space, hold_binding, is_alive};
use crate::sweep::sweep;

/// Extra buffers that a region for memory alone has at most.
const NULL_EXTRA: u32 = 1 << 16;

/// Binds to rings that were found.
pub(super) fn bind(name: &str, mut found: Found, mode: Mode, wish: &mut Register) -> Result<Bound, Errno> {
    let chosen = choose(mode, wish.ringid, wish.flags, found.counts)?;
    let has_headers = found.port.is_some_and(|port| found.region.ledger.port(port).header() > 0);
    if has_headers && wish.flags & flag::ACCEPT_VNET_HDR == 0 {
        return Err(Errno(libc::EIO));
    }
    let numbers = numbers(&found, &chosen);
    let bound: RingSet = numbers.iter().flatten().flatten().copied().collect();
    let facts = BindingFacts {
        ports: [found.port, found.host],
        mode: wish.mode,
        ringid: wish.ringid,
        flags: wish.flags,
        exclusive: wish.flags & flag::EXCLUSIVE != 0,
        rings: bound,
    };
    let hold = enter(&found.region, name, &facts, (found.counts, &numbers), wish)?;
    wish.slots = [found.slots; 2];
    let (tx, rx) = plans(&found, &chosen, &numbers);
    let served: Vec<_> = std::mem::take(&mut found.served).into_iter().flatten().collect();
    let plan = Plan {
        flags: wish.flags,
        holds: vec![hold.binding],
        served: served.iter().map(|s| (0, s.index)).collect(),
        bells: found.bells.len() as u32,
        tx,
        rx,
    };
    Bound::new(plan, vec![hold], served, found.bells).map_err(|e| told(&e))
}

/// Memory without rings.
pub(super) fn null(wish: &mut Register) -> Result<Bound, Errno> {
    let space = Space::enter().map_err(|e| told(&e))?;
    let region = match wish.mem_id {
        0 => file_region(&space, "memory", 1, 2, wish.extra_bufs.min(NULL_EXTRA)),
        INTERFACES => interfaces_region(&space),
        id => known_region(&space, |ledger| ledger.id == id).and_then(|r| {
            r.ok_or_else(|| {
                Error::new(ErrorKind::NotFound, format!("region {id}"), "there is no such region")
                    .cure("name one that a bound descriptor has, or 0")
            })
        }),
    };
    let region = region.map_err(|e| told(&e))?;
    let facts =
        BindingFacts { mode: wish.mode, ringid: wish.ringid, flags: wish.flags, ..BindingFacts::default() };
    // A port without rings has the numbers that the program names.
    let [tx, rx, host_tx, host_rx] = wish.rings.map(u32::from);
    let hold = enter(&region, "", &facts, ([tx, host_tx, rx, host_rx], &Default::default()), wish)?;
    let plan = Plan { flags: wish.flags, holds: vec![hold.binding], ..Plan::default() };
    Bound::new(plan, vec![hold], Vec::new(), Vec::new()).map_err(|e| told(&e))
}

/// Lets a port that was only looked at go.
pub(super) fn forget(space: &Space, mut found: Found) {
    found.served = [None, None];
    if let Ok(_control) = found.region.ledger.control() {
        sweep(&found.region);
    }
    drop(found);
    let _ = space.regions();
}

/// Numbers in the region of the rings of each kind: tx, host tx, rx, host rx. `None`: the binding does not have the ring.
pub(super) type Numbers = [Vec<Option<u32>>; 4];

pub(super) fn numbers(found: &Found, chosen: &Chosen) -> Numbers {
    let ports = [found.port, found.host, found.port, found.gathered];
    std::array::from_fn(|kind| {
        let ring = |k: u32| {
            let port = found.region.ledger.port(ports[kind].filter(|_| chosen[kind].contains(&k))?);
            if kind < 2 { port.tx().nth(k as usize) } else { port.rx().nth(k as usize) }
        };
        (0..found.counts[kind]).map(ring).collect()
    })
}

/// Puts a binding into the region's book, and describes it to the program.
pub(super) fn enter(
    region: &Arc<Region>,
    name: &str,
    facts: &BindingFacts,
    (counts, numbers): ([u32; 4], &Numbers),
    wish: &mut Register,
) -> Result<Hold, Errno> {
    let rings = counts.iter().sum::<u32>();
    if facts.ports[0].or(facts.ports[1]).is_some() && rings as usize > RINGS_DESCRIBED {
        let what = format!("{rings} rings, and an interface descriptor has room for {RINGS_DESCRIBED}");
        return Err(told(&out_of_memory(name, what)));
    }
    let control = region.ledger.control().map_err(|e| told(&e))?;
    refuse_taken(region, facts)?;
    let full = || {
        let what = "its region has no place for another descriptor";
        told(&Error::new(ErrorKind::Busy, name, what).cure("close one that is bound there"))
    };
    let record = region.ledger.free_binding().ok_or_else(full)?;
    let folder = region.folder.as_ref().ok_or(Errno(libc::EACCES))?;
    let proof = hold_binding(folder, record.index).map_err(|e| told(&e))?;
    let described = InterfaceFacts {
        name: name.to_owned(),
        counts,
        rings: numbers.iter().flatten().copied().collect(),
        private: region.ledger.kind != RegionKind::Interfaces,
    };
    wish.offset = region.describe(record.index, &described) as u64;
    wish.memsize = region.bytes() as u64;
    wish.mem_id = region.ledger.id;
    wish.rings = [counts[0], counts[2], counts[1], counts[3]].map(|n| n as u16);
    wish.extra_bufs = give_extra(region, record.index, wish.extra_bufs);
    record.begin(facts);
    drop(control);
    Ok(Hold::new(region, record.index, proof))
}

/// Refuses rings that somebody has for himself. Refuses to have rings alone that somebody has.
fn refuse_taken(region: &Region, facts: &BindingFacts) -> Result<(), Errno> {
    let ledger = &region.ledger;
    let taken = ledger.bindings().any(|other| {
        let there = other.facts();
        (there.exclusive || facts.exclusive)
            && there.rings.meets(&facts.rings)
            && is_alive(ledger, other.index)
    });
    if taken { Err(Errno(libc::EBUSY)) } else { Ok(()) }
}

/// Makes the list of extra buffers; returns how many there are.
fn give_extra(region: &Region, binding: u32, wanted: u32) -> u32 {
    let bufs = region.ledger.take_buffers(wanted);
    let mut next = 0;
    for &buf in bufs.iter().rev() {
        if let Some(word) = region.next_buffer(buf) {
            word.store(next, Relaxed);
        }
        next = buf;
    }
    region.extra_head(binding).store(next, Relaxed);
    bufs.len() as u32
}

/// The rings that the program has, tx and rx, with what serves them.
fn plans(found: &Found, chosen: &Chosen, numbers: &Numbers) -> (Vec<RingPlan>, Vec<RingPlan>) {
    let nth_served = |host: bool| u32::from(host && found.served[0].is_some());
    let rings = |kind: usize| -> Vec<RingPlan> {
        let host = kind % 2 == 1;
        let port = [found.port, found.host, found.port, found.gathered][kind];
        let Some(port) = port.map(|p| found.region.ledger.port(p)) else { return Vec::new() };
        let plan = |k: u32| {
            let number = numbers[kind].get(k as usize).copied().flatten()?;
            let service = match port.kind() {
                PortKind::Served => Service::Served { served: nth_served(host), ring: k },
                PortKind::Pipe => {
                    let peer = found.region.ledger.ring(number).peer()?;
                    let pairs = (found.bells.len() / 2) as u32;
                    let own_bell = k % pairs.max(1);
                    Service::Pipe { peer, own_bell, peer_bell: pairs + own_bell }
                }
                PortKind::Gathered => {
                    let from = found.region.ledger.port(found.host?).rx();
                    let (first, count) = (from.start, from.len() as u32);
                    Service::Gather(Sources { served: nth_served(host), first, count })
                }
                PortKind::Monitor | PortKind::Alone => Service::Alone,
            };
            Some(RingPlan { number, slots: port.slots(), service })
        };
        chosen[kind].clone().filter_map(plan).collect()
    };
    let both = |nic: usize, host: usize| rings(nic).into_iter().chain(rings(host)).collect();
    (both(0, 1), both(2, 3))
}

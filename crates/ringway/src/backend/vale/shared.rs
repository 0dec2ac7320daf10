//! The port that another process opened. Nothing in its region changes, and what the switch knows of it stays.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use super::assemble::made;
use super::claim::PortClaim;
use super::core::Core;
use super::map_bell;
use super::nics::{NicTransmitters, Out};
use super::rx::ValeRx;
use super::tx::ValeTx;
use crate::count::Registration;
use crate::error::Result;
use crate::memory::Region;
use crate::port::name::PortName;
use crate::port::{Exported, Made, WordReader, check_ranges, not_exported, wrong_kind};
use crate::ring::{Lease, RingParts, RxRing, TxRing};
use crate::sys::bpf;
use ringway_switch::{self as switch, Look, Shape, View};

/// The numbers, read.
struct Numbers {
    dir: PathBuf,
    shape: Shape,
    raw: bool,
    /// Port and, of a host's side, interface of each program that sends to a NIC.
    outs: Vec<(u32, Option<u32>)>,
}

impl Numbers {
    /// `None` for what no port in this region exports.
    fn read(words: &[u8], region: &Region) -> Option<Self> {
        let mut reader = WordReader::of(words, region)?;
        let shape = Shape::of_region(&region.layout())?;
        let dir = PathBuf::from(reader.text()?);
        let (raw, count) = (reader.u32()? != 0, reader.u32()?);
        let mut out = || Some((reader.u32()?, reader.u32().map(|host| (host != 0).then_some(host))?));
        let mut outs = Vec::new();
        for _ in 0..count {
            outs.push(out()?);
        }
        (reader.is_at_end() && dir.is_absolute()).then_some(Self { dir, shape, raw, outs })
    }
}

/// The port that another process exported. `ranges` has what the last sync of each ring handed out, tx rings first.
pub(crate) fn import(exported: Exported, region: Region, ranges: &[(u32, u32)]) -> Result<Made> {
    let Exported { name, words, fds } = exported;
    region.shared().need_bpf(&name)?;
    let numbers = Numbers::read(&words, &region).ok_or_else(|| not_exported(&name))?;
    let (shape, raw) = (numbers.shape, numbers.raw);
    check_ranges(&name, ranges, 2 * shape.rings, shape.slots)?;
    let (core, nics) = core(name, numbers, region, fds)?;
    let lease = Lease::of(&core.region, 0, (0..2 * shape.rings).collect(), shape.slots, None);
    let registration = Registration::unlisted(&core.name, shape.rings, shape.rings)?;
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for ((view, &(first, tail)), ring) in lease.views().zip(ranges).zip(0..) {
        let parts = |stats| RingParts { view, first, tail, stats, lease: lease.clone() };
        if ring < shape.rings {
            let side = ValeTx::new(core.clone(), ring, 0, nics.clone())?;
            tx.push(TxRing::join(parts(registration.tx(ring)), Box::new(side)));
        } else {
            let ring = ring - shape.rings;
            let side = ValeRx::new(core.clone(), ring, 0, raw);
            rx.push(RxRing::join(parts(registration.rx(ring)), Box::new(side)));
        }
    }
    Ok(made(&core, registration, tx, rx, raw))
}

/// What the rings share, and what sends to NICs, of descriptors in the order in which they are exported.
fn core(
    name: String,
    numbers: Numbers,
    region: Region,
    mut fds: Vec<OwnedFd>,
) -> Result<(Arc<Core>, NicTransmitters)> {
    let Numbers { dir, shape, outs, .. } = numbers;
    let PortName::Vale { switch, port } = name.parse()? else { return Err(wrong_kind(&name.parse()?)) };
    let bells = 3 + shape.rings as usize;
    if fds.len() != bells + outs.len() {
        return Err(not_exported(&name));
    }
    let programs = fds.split_off(bells);
    let bells = fds.split_off(3);
    let Ok([view, program, lock]) = <[OwnedFd; 3]>::try_from(fds) else { return Err(not_exported(&name)) };
    if !bells.iter().all(|bell| bpf::is_ring_buffer(bell.as_fd())) {
        return Err(not_exported(&name));
    }
    let view = Arc::new(View::inherit(view));
    let Look { port: number, ticket, .. } = view.look(0, &name)?;
    if number == 0 {
        return Err(switch::port_gone(&name));
    }
    let claim = PortClaim::inherit(&name, &switch, &port, &dir, lock)?;
    let bells = bells.into_iter().map(|bell| map_bell(bell, &name)).collect::<Result<_>>()?;
    let outs = outs.into_iter().zip(programs).map(|((port, host), fd)| Out::inherit(port, host, fd));
    let nics = NicTransmitters::inherit(&name, &dir, outs.collect());
    let program = Mutex::new(Arc::new(program));
    let looked_ns = AtomicU64::new(0);
    let core = Core { name, dir, shape, region, view, number, ticket, program, bells, looked_ns, claim };
    Ok((Arc::new(core), nics))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::RegionSpec;
    use crate::port::Words;

    proptest! {
        /// Whatever the bytes, what is read has a number for each program.
        #[test]
        fn any_words_are_read_or_refused(
            slots in prop_oneof![Just(64u32), 2u32..300],
            count in 0u32..5,
            given in proptest::collection::vec(any::<u32>(), 0..12),
        ) {
            let (rings, buf_size) = (2, 2112);
            let spec = RegionSpec { interfaces: 1, rings, slots, buffers: 2 + rings * slots, buf_size };
            let region = Region::memfd(&spec).unwrap();
            let words = Words::of(&region).text("/there").u32(1).u32(count);
            let words = given.iter().copied().fold(words, Words::u32).with("", Vec::new()).unwrap().words;
            let read = Numbers::read(&words, &region);
            let fits = given.len() == 2 * count as usize && slots == slots.next_power_of_two() && slots >= 64;
            prop_assert_eq!(read.map(|read| read.outs.len()), fits.then_some(count as usize));
        }
    }
}

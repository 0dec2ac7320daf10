//! The port in other processes. They have the region, the kernel's state, the program that sends, and the doorbells. They keep attached
//! what the opener attached. They lay nothing out and attach nothing, and send live frames only.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use super::control::Port;
use super::core::Core;
use super::egress::Egress;
use super::rx::EbpfRx;
use super::tx::EbpfTx;
use crate::count::Registration;
use crate::error::{Error, Result};
use crate::memory::{CTL_SIZE, Region};
use crate::port::{Exported, Made, Share, WordReader, Words, check_ranges, not_exported};
use crate::ring::{Lease, PortShape, RingParts, RxRing, TxRing};
use crate::sys::net::Interface;
use crate::sys::promiscuous::Promiscuous;
use ringway_nic::kernel_half::{Config, Inherited, Loaded};

/// Hands the port to other processes. It does not keep the port open.
#[derive(Debug)]
pub(super) struct Exporter {
    core: Weak<Core>,
    describe: String,
    /// Whether received frames keep their bytes as the kernel has them.
    raw: bool,
}

impl Exporter {
    /// `None` for a port that takes only some frames: its gate is this process's.
    pub(super) fn new(core: &Arc<Core>, describe: &str, raw: bool) -> Option<Self> {
        let exporter = || Self { core: Arc::downgrade(core), describe: describe.to_owned(), raw };
        core.gate.is_none().then(exporter)
    }

    /// The numbers of the port.
    fn words(&self, core: &Core) -> Words {
        let cfg = &core.cfg;
        let flags = [cfg.host, cfg.copy, u32::from(core.counted), u32::from(self.raw)];
        [
            cfg.ctl_ofs / CTL_SIZE as u32,
            cfg.slots,
            cfg.tx_rings,
            cfg.rx_rings,
            cfg.queue,
            cfg.ifindex,
            cfg.netns,
        ]
        .into_iter()
        .chain(flags)
        .fold(Words::of(&core.region), Words::u32)
        .text(&core.driver)
        .text(&self.describe)
    }
}

impl Share for Exporter {
    fn export(&self) -> Result<Option<Exported>> {
        let Some(core) = self.core.upgrade() else { return Ok(None) };
        let fds = descriptors(&core)
            .map_err(|e| Error::io(&core.name, "handing the port to another process failed", e))?;
        Ok(self.words(&core).with(&core.name, fds))
    }
}

/// What another process needs, then what it only keeps.
fn descriptors(core: &Core) -> io::Result<Vec<OwnedFd>> {
    let Inherited { tx, kstate, bells } = core.loaded.share()?;
    let mut fds = vec![core.interface.share()?, tx, kstate];
    fds.extend(bells);
    for link in &core.attached {
        fds.push(link.try_clone()?);
    }
    fds.extend(core.promiscuous.as_ref().map(Promiscuous::share).transpose()?);
    fds.extend(core.egress.as_ref().map(Egress::share).transpose()?.flatten());
    Ok(fds)
}

/// The numbers, read.
struct Numbers {
    first_ring: u32,
    cfg: Config,
    counted: bool,
    raw: bool,
    driver: String,
    describe: String,
}

impl Numbers {
    /// `None` for what no port in this region exports.
    fn read(words: &[u8], region: &Region) -> Option<Self> {
        let mut reader = WordReader::of(words, region)?;
        let mut numbers = [0; 11];
        for number in &mut numbers {
            *number = reader.u32()?;
        }
        let [first_ring, slots, tx_rings, rx_rings, queue, ifindex, netns, host, copy, counted, raw] =
            numbers;
        let (driver, describe) = (reader.text()?, reader.text()?);
        let layout = region.layout();
        let last = first_ring.checked_add(tx_rings)?.checked_add(rx_rings)?;
        let fits = last <= layout.rings && (2..=layout.slots).contains(&slots);
        (fits && reader.is_at_end()).then_some(())?;
        let cfg = Config {
            queue,
            host,
            ifindex,
            netns,
            copy,
            ..Config::in_region(&layout, first_ring, slots, (tx_rings, rx_rings))
        };
        Some(Self { first_ring, cfg, counted: counted != 0, raw: raw != 0, driver, describe })
    }

    fn shape(&self) -> PortShape {
        let Config { tx_rings, rx_rings, slots, host, .. } = self.cfg;
        PortShape { tx_rings, rx_rings, slots, host: host != 0 }
    }
}

/// The port that another process exported. `ranges` has what the last sync of each ring handed out, tx rings first.
pub(crate) fn import(exported: Exported, region: Region, ranges: &[(u32, u32)]) -> Result<Made> {
    let Exported { name, words, fds } = exported;
    region.shared().need_bpf(&name)?;
    let numbers = Numbers::read(&words, &region).ok_or_else(|| not_exported(&name))?;
    let shape = numbers.shape();
    let rings = shape.tx_rings + shape.rx_rings;
    check_ranges(&name, ranges, rings, shape.slots)?;
    let lease =
        Lease::of(&region, 0, (numbers.first_ring..numbers.first_ring + rings).collect(), shape.slots, None);
    let (raw, describe) = (numbers.raw, numbers.describe.clone());
    let core = Arc::new(core(name, numbers, region.clone(), fds)?);
    let registration = Registration::unlisted(&core.name, shape.tx_rings, shape.rx_rings)?;
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for ((view, &(first, tail)), ring) in lease.views().zip(ranges).zip(0..) {
        let parts = |stats| RingParts { view, first, tail, stats, lease: lease.clone() };
        if ring < shape.tx_rings {
            let stats = registration.tx(ring);
            let side = EbpfTx::new(core.clone(), ring, stats.clone())?;
            tx.push(TxRing::join(parts(stats), Box::new(side)));
        } else {
            let ring = ring - shape.tx_rings;
            let side = EbpfRx::new(core.clone(), ring, raw);
            rx.push(RxRing::join(parts(registration.rx(ring)), Box::new(side)));
        }
    }
    let share = Exporter::new(&core, &describe, raw);
    Ok(Made {
        name: core.name.clone(),
        region,
        shape,
        rx,
        tx,
        registration,
        control: Arc::new(Port::new(&core, describe)),
        max_frame: core.max_frame(),
        share: share.map(|share| -> Box<dyn Share> { Box::new(share) }),
    })
}

/// What the rings share, of descriptors in the order of [`descriptors`].
fn core(name: String, numbers: Numbers, region: Region, mut fds: Vec<OwnedFd>) -> Result<Core> {
    let Numbers { cfg, counted, driver, .. } = numbers;
    let needed = 3 + cfg.rx_rings as usize;
    if fds.len() < needed {
        return Err(not_exported(&name));
    }
    let attached = fds.split_off(needed);
    let bells = fds.split_off(3);
    let Ok([socket, tx, kstate]) = <[OwnedFd; 3]>::try_from(fds) else { return Err(not_exported(&name)) };
    let loaded = Loaded::inherit(Inherited { tx, kstate, bells }, cfg.tx_rings + cfg.rx_rings, &name)?;
    Ok(Core {
        interface: Arc::new(Interface::inherit(socket, cfg.ifindex, cfg.netns)),
        name,
        driver,
        loaded,
        cfg,
        region,
        counted,
        looked_ns: AtomicU64::new(0),
        opener: None,
        attached,
        promiscuous: None,
        unheard: "",
        egress: None,
        gate: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::RegionSpec;

    proptest! {
        /// Whatever the bytes, a port that is read has its rings in the region.
        #[test]
        fn any_words_are_of_rings_that_exist_or_refused(
            numbers in proptest::array::uniform11(prop_oneof![0u32..9, any::<u32>()]),
            rest in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let region = Region::memfd(&RegionSpec { rings: 6, slots: 64, ..RegionSpec::default() }).unwrap();
            let words = numbers.into_iter().fold(Words::of(&region), Words::u32);
            let text = String::from_utf8_lossy(&rest);
            let mut bytes = words.text(&text).text("").with("", Vec::new()).unwrap().words;
            for cut in [0, rest.len()] {
                bytes.truncate(bytes.len() - cut);
                let Some(read) = Numbers::read(&bytes, &region) else { continue };
                let shape = read.shape();
                prop_assert!(read.first_ring + shape.tx_rings + shape.rx_rings <= 6);
                prop_assert!((2..=64).contains(&shape.slots));
            }
        }
    }
}

//! Pools of pages whose frames a receiver keeps.

use std::time::{Duration, Instant};

use ringway_lab::raw::RawReceiver;
use ringway_lab::{AnyError, Lab};

use super::super::core::Core;
use super::super::tx::EbpfTx;
use super::*;
use crate::ring::TxSync;

/// Frames of a burst, which go as live frames.
const BURST: u32 = 32;
const LIMIT: Duration = Duration::from_secs(60);

/// The sending side of a port of `a0`, whose other end keeps what it receives.
struct Sending {
    core: Arc<Core>,
    tx: EbpfTx,
    ring: RingView,
    _setup: Setup,
}

impl Sending {
    /// Takes another way while one pool is seen waiting.
    fn open(lab: &Lab) -> Self {
        let open = || {
            let options = OpenOptions::new().slots(64).send_only(true).most_pools(1);
            let name = PortName::Ebpf { interface: "a0".into(), rings: NicRings::All };
            let target = super::super::target("ebpf:a0", "a0", NicRings::All, &options)?;
            let region = bpf_array(&target.shape.region(2048), "a0")?;
            let setup = Setup::within(&name, region, target.shape)?;
            let core = Arc::new(super::super::attach(&setup, target)?);
            let tx = EbpfTx::new(core.clone(), 0, setup.registration.tx(0))?;
            let ring = setup.views().0.remove(0);
            Ok::<_, AnyError>(Self { core, tx, ring, _setup: setup })
        };
        lab.run(open).unwrap()
    }

    /// Writes a burst into the ring.
    fn fill(&self, sent: &mut u32) {
        for _ in 0..BURST {
            let slot = self.ring.slot(*sent);
            self.ring.set_slot(*sent, Slot { len: 60, ..slot });
            *sent = self.ring.next(*sent);
        }
    }

    /// Syncs once; the first frame that waits still, or `sent`.
    fn offer(&mut self, sent: u32) -> u32 {
        self.ring.next(self.tx.sync(&self.ring, sent).unwrap())
    }

    /// Sends a burst; how many frames the interface took as live frames.
    fn burst(&mut self, sent: &mut u32) -> u64 {
        self.fill(sent);
        let before = self.live();
        let start = Instant::now();
        while self.offer(*sent) != *sent {
            assert!(start.elapsed() < LIMIT, "the burst is kept");
        }
        self.live() - before
    }

    fn live(&self) -> u64 {
        let interface = (self.core.cfg.tx_rings + self.core.cfg.rx_rings) as usize;
        let kstate = Arc::clone(&self.core.loaded.kstate);
        RingStats::new(kstate, interface * KRING + KRING_COUNTERS).read().frames_out
    }

    /// Sends bursts until one goes `live`, or none of its frames does.
    fn until(&mut self, sent: &mut u32, live: bool) {
        let start = Instant::now();
        while (self.burst(sent) > 0) != live {
            assert!(start.elapsed() < LIMIT, "pools abound: {}", self.core.pools_abound());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn pair(queues: u32) -> Option<Lab> {
    if !crate::sys::is_root() {
        eprintln!("SKIPPED: interfaces need root");
        return None;
    }
    let lab = Lab::new().unwrap();
    let queues = format!("numtxqueues {queues} numrxqueues {queues}");
    lab.ip(&format!("link add a0 {queues} type veth peer name a1 {queues}")).unwrap();
    ["a0", "a1"].iter().for_each(|link| lab.ip(&format!("link set {link} up")).unwrap());
    lab.run_napi("a1").unwrap();
    Some(lab)
}

/// Pools are of all the machine, so other programs may leave some too.
#[test]
fn a_sender_takes_another_way_while_pools_wait() {
    let Some(lab) = pair(1) else { return };
    let keeper = RawReceiver::open(&lab, "a1").unwrap();
    let (mut sending, mut sent) = (Sending::open(&lab), 0);
    sending.until(&mut sent, true);
    sending.until(&mut sent, false);
    drop(keeper);
    sending.until(&mut sent, true);
}

#[test]
fn frames_without_another_way_wait_for_the_pools() {
    let Some(lab) = pair(2) else { return };
    let keeper = RawReceiver::open(&lab, "a1").unwrap();
    let (mut sending, mut sent, mut bursts) = (Sending::open(&lab), 0, 0);
    let start = Instant::now();
    loop {
        sending.fill(&mut sent);
        bursts += 1;
        if sending.offer(sent) != sent {
            break;
        }
        assert!(start.elapsed() < LIMIT, "all bursts leave at once");
    }
    drop(keeper);
    while sending.offer(sent) != sent {
        assert!(start.elapsed() < LIMIT, "the frames wait for ever");
    }
    assert_eq!(sending.live(), u64::from(bursts * BURST), "a frame is lost");
}

//! Queries to the device itself (RFC 2544, 11.2): finding it, and taking its answers.

use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use ringway::{Error, ErrorKind, Result, RxRing, TxRing};
use ringway_wire::{Ethernet, Icmp, IpProtocol, Ipv4, MacAddr};

use super::neighbour::{Side, untagged};
use super::outbox::Outbox;
use crate::trial::format::v4;
use crate::trial::frames::Query;
use crate::trial::rate::MILLISECOND;

/// Identifier of our queries.
const ID: u16 = 0x5277;

/// How often the device is asked for its link address, and how often it is looked for an answer meanwhile.
const TRIES: u32 = 3;
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(10);

/// How often answers are taken while frames are sent: asking takes time from the sender.
const EVERY_PS: u64 = 100 * MILLISECOND;

const ECHO_REPLY: u8 = 0;

/// The receiving rings of the port that sends.
#[derive(Debug)]
pub(crate) struct Back {
    rings: Vec<RxRing>,
    side: Side,
    asked: Option<Asked>,
}

/// Who is asked, and what came of it.
#[derive(Debug)]
struct Asked {
    address: Ipv4Addr,
    /// One above the highest number that was answered.
    next: u16,
    answers: u64,
    polled_ps: u64,
}

impl Back {
    pub(crate) fn new(rings: Vec<RxRing>, side: Side) -> Self {
        Self { rings, side, asked: None }
    }

    /// Nobody is asked any more.
    pub(crate) fn rest(&mut self) {
        self.asked = None;
    }

    /// Finds the link address of the device, and returns what to ask it with.
    pub(crate) fn find(&mut self, tx: &mut TxRing, vlans: &[u16], address: Ipv4Addr) -> Result<Query> {
        let ask = self.side.ask(address, vlans);
        for _ in 0..TRIES {
            tx.push(&ask);
            tx.sync()?;
            for _ in 0..LOOKS {
                if let Some(mac) = self.found(address)? {
                    self.asked = Some(Asked { address, next: 0, answers: 0, polled_ps: 0 });
                    let (macs, side) = ([mac.0, self.side.mac.0], self.side.number);
                    return Ok(Query { macs, vlans: vlans.to_vec(), side, address, id: ID });
                }
                thread::sleep(LOOK);
            }
        }
        let what = "nobody answers to ARP for this address on the sending port";
        let cure =
            format!("give the device an address of 198.18.0.0/16 there; {} asks", v4(self.side.number, 0));
        Err(Error::new(ErrorKind::NotFound, address.to_string(), what).cure(cure))
    }

    fn found(&mut self, address: Ipv4Addr) -> Result<Option<MacAddr>> {
        for ring in &mut self.rings {
            ring.sync()?;
            // All are taken out, also behind the answer.
            let answers = ring.burst(u32::MAX).filter_map(|frame| Side::answered(frame.bytes(), address));
            if let Some(mac) = answers.last() {
                return Ok(Some(mac));
            }
        }
        Ok(None)
    }

    /// Takes what came, now and then; the device's own questions are answered.
    pub(crate) fn turn(&mut self, now_ps: u64, outbox: &Outbox) -> Result<()> {
        match &mut self.asked {
            Some(asked) if now_ps >= asked.polled_ps + EVERY_PS => asked.polled_ps = now_ps,
            _ => return Ok(()),
        }
        self.take(outbox)
    }

    /// At the start of a trial.
    pub(crate) fn begin(&mut self) {
        if let Some(asked) = &mut self.asked {
            *asked = Asked { address: asked.address, next: 0, answers: 0, polled_ps: 0 };
        }
    }

    /// Queries of this trial that were answered until now; `None` when nobody is asked.
    pub(crate) fn answers(&mut self, outbox: &Outbox) -> Result<Option<u64>> {
        self.take(outbox)?;
        Ok(self.asked.as_ref().map(|asked| asked.answers))
    }

    fn take(&mut self, outbox: &Outbox) -> Result<()> {
        let Self { rings, side, asked: Some(asked) } = self else { return Ok(()) };
        for ring in rings {
            ring.sync()?;
            for frame in ring.burst(u32::MAX) {
                let mut whole = vec![0; frame.len()];
                frame.copy_to(&mut whole);
                match asked.number(&whole, side) {
                    Some(number) if number >= asked.next => {
                        asked.next = number.saturating_add(1);
                        asked.answers += 1;
                    }
                    Some(_) => {}
                    None => side.answer(&whole).into_iter().for_each(|answer| outbox.put(answer)),
                }
            }
        }
        Ok(())
    }
}

impl Asked {
    /// Number of the query that a frame answers.
    fn number(&self, frame: &[u8], side: &Side) -> Option<u16> {
        let frame = untagged(frame);
        let ethernet = Ethernet::new_checked(&frame[..]).ok()?;
        let ip = Ipv4::new_checked(ethernet.payload()).ok()?;
        let ours = ip.src() == self.address && ip.dst() == v4(side.number, 0);
        if ip.protocol() != IpProtocol::ICMP || !ours {
            return None;
        }
        let message = ip.payload();
        let icmp = Icmp::new_checked(message).ok()?;
        let [.., a, b, c, d] = *message.first_chunk::<8>()?;
        let id = u16::from_be_bytes([a, b]);
        let right = icmp.msg_type() == ECHO_REPLY && icmp.verify_checksum_v4() && id == ID;
        right.then(|| u16::from_be_bytes([c, d]))
    }
}

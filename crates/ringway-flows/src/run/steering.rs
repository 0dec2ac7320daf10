//! Frames reach the worker that owns their connection.
//!
//! A port brings a frame to any of its rings. A worker that does not own the frame's connection passes a copy on, by a bounded queue without
//! locks. What belongs to no connection goes to all workers, if it tells something; questions are answered where they arrive.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::code::End;
use crate::pools::owners::Owners;

/// Frames that wait for a worker, at most.
const WAITING: usize = 4096;

const ETHER: usize = 14;
const ARP_REPLY: u8 = 2;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

/// Whose a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The owner's of a connection.
    Owner(u32),
    /// All workers'.
    All,
    /// That of the worker which has it.
    Anybody,
}

/// A frame on the way to its owner.
#[derive(Debug)]
struct Passed {
    /// The worker that passes it on.
    from: u32,
    /// Where it arrived.
    side: End,
    frame: Box<[u8]>,
}

/// Frames that wait for a worker when it ends. It takes them no more.
#[derive(Debug)]
pub(super) struct Inbox(Receiver<Passed>);

impl Inbox {
    /// By frame: the worker that passed it on. To be asked when all workers have ended, so that none comes behind.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> {
        self.0.try_iter().map(|passed| passed.from as usize)
    }
}

/// The part that one worker has in the steering.
#[derive(Debug)]
pub(super) struct Steering {
    owners: Owners,
    own: u32,
    inbox: Inbox,
    /// By worker.
    others: Vec<SyncSender<Passed>>,
    /// Frames that were passed on to their owners.
    passed: u64,
    /// Frames that found the queue of their owner full.
    lost: u64,
}

impl Steering {
    /// For so many workers, one each.
    pub(super) fn all(owners: Owners, workers: u32) -> Vec<Self> {
        let (others, inboxes): (Vec<_>, Vec<_>) = (0..workers).map(|_| sync_channel(WAITING)).unzip();
        let one = |(own, inbox)| Self {
            owners,
            own,
            inbox: Inbox(inbox),
            others: others.clone(),
            passed: 0,
            lost: 0,
        };
        (0..).zip(inboxes).map(one).collect()
    }

    /// A frame arrived. Whether this worker has to look at it; others get a copy, where they have to.
    #[inline]
    pub(super) fn is_here(&mut self, side: End, frame: &[u8]) -> bool {
        match whose(&self.owners, frame) {
            Whose::Owner(owner) if owner != self.own => {
                self.pass(owner, side, frame);
                false
            }
            Whose::Owner(_) | Whose::Anybody => true,
            Whose::All => {
                for other in 0..self.others.len() as u32 {
                    if other != self.own {
                        self.pass(other, side, frame);
                    }
                }
                true
            }
        }
    }

    fn pass(&mut self, to: u32, side: End, frame: &[u8]) {
        let passed = Passed { from: self.own, side, frame: frame.into() };
        let taken = self.others.get(to as usize).is_some_and(|to| to.try_send(passed).is_ok());
        *if taken { &mut self.passed } else { &mut self.lost } += 1;
    }

    /// A frame that another worker passed on.
    pub(super) fn next(&mut self) -> Option<(End, Box<[u8]>)> {
        self.inbox.0.try_recv().ok().map(|Passed { side, frame, .. }| (side, frame))
    }

    /// The worker ends: what it passed on, what it lost, and what waits for it.
    pub(super) fn end(self) -> (u64, u64, Inbox) {
        (self.passed, self.lost, self.inbox)
    }
}

/// Whose a frame is, as far as its headers say. A broken frame is anybody's, who refuses it.
#[inline]
fn whose(owners: &Owners, frame: &[u8]) -> Whose {
    let Some(kind) = u16_at(frame, ETHER - 2) else { return Whose::Anybody };
    let (kind, at) = if kind == 0x8100 { (u16_at(frame, ETHER + 2), ETHER + 4) } else { (Some(kind), ETHER) };
    match kind {
        Some(0x0800 | 0x86dd) => of_packet(owners, frame.get(at..).unwrap_or_default(), true),
        Some(0x0806) if frame.get(at + 7) == Some(&ARP_REPLY) => Whose::All,
        _ => Whose::Anybody,
    }
}

/// Whose an IP packet is. An error of ICMP is that of the packet in it.
#[inline]
fn of_packet(owners: &Owners, packet: &[u8], is_outer: bool) -> Whose {
    let Some((protocol, source, target, body)) = addresses(packet) else { return Whose::Anybody };
    match (protocol, body.first()) {
        (6 | 17, _) => match (u16_at(body, 0), u16_at(body, 2)) {
            (Some(from), Some(to)) => Whose::Owner(owners.of((source, from), (target, to))),
            _ => Whose::Anybody,
        },
        (1, Some(3 | 4 | 11 | 12)) | (58, Some(1..=4)) if is_outer => {
            of_packet(owners, body.get(8..).unwrap_or_default(), false)
        }
        (58, Some(&NEIGHBOUR_ADVERTISEMENT)) => Whose::All,
        _ => Whose::Anybody,
    }
}

/// Protocol, addresses and body of a packet. Options of IPv4 are skipped; IPv6 has no extensions here, as the shard refuses them.
#[inline]
fn addresses(packet: &[u8]) -> Option<(u8, IpAddr, IpAddr, &[u8])> {
    match packet.first()? >> 4 {
        4 => {
            let [source, target] = [12, 16].map(|at| packet.get(at..at + 4)?.try_into().ok());
            let [source, target]: [[u8; 4]; 2] = [source?, target?];
            let body = packet.get(usize::from(packet[0] & 15) * 4..)?;
            Some((packet[9], Ipv4Addr::from(source).into(), Ipv4Addr::from(target).into(), body))
        }
        6 => {
            let [source, target] = [8, 24].map(|at| packet.get(at..at + 16)?.try_into().ok());
            let [source, target]: [[u8; 16]; 2] = [source?, target?];
            let body = packet.get(40..)?;
            Some((packet[6], Ipv6Addr::from(source).into(), Ipv6Addr::from(target).into(), body))
        }
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
pub(super) mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::run::example::{ASK, bundle};
    use crate::run::virtual_time::{self, Options};

    #[test]
    fn frames_of_a_connection_have_one_owner_and_answers_of_neighbours_are_for_all() {
        let bundle = bundle(&format!("{ASK} run {{ ask rate 1 k flows/s for 50 ms drain 1 s }}"));
        let owners = Owners::new(bundle.seed, 3);
        let mut frames = Vec::new();
        virtual_time::run(bundle, &Options::default(), |_, _, frame: &[u8]| {
            frames.push(frame.to_vec());
            Ok::<(), Infallible>(())
        })
        .unwrap();
        let mut seen = [0; 3];
        for frame in &frames {
            match whose(&owners, frame) {
                Whose::Owner(owner) => {
                    let (_, source, target, body) = addresses(&frame[ETHER..]).unwrap();
                    let [from, to] = [0, 2].map(|at| u16_at(body, at).unwrap());
                    assert_eq!(owner, owners.of((target, to), (source, from)));
                    seen[owner as usize] += 1;
                }
                other => {
                    let right = if frame[ETHER + 7] == ARP_REPLY { Whose::All } else { Whose::Anybody };
                    assert_eq!((&frame[12..14], other), (&[8, 6][..], right));
                }
            }
            // The message of a router that a frame went no further.
            if frame[12..14] == [8, 0] {
                let mut error = frame[..ETHER + 20].to_vec();
                error[ETHER + 9] = 1;
                error.extend([3, 1, 0, 0, 0, 0, 0, 0]);
                error.extend(&frame[ETHER..ETHER + 28]);
                assert_eq!(whose(&owners, &error), whose(&owners, frame));
            }
            (0..frame.len().min(60)).for_each(|len| _ = whose(&owners, &frame[..len]));
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }

    #[test]
    fn a_frame_is_passed_to_its_owner_once() {
        let owners = Owners::new(1, 2);
        let [mut one, mut two] = Steering::all(owners, 2).try_into().unwrap();
        let frame = datagram;
        let here: Vec<u16> = (1..=100).filter(|port| one.is_here(End::Client, &frame(*port))).collect();
        let passed: Vec<_> = std::iter::from_fn(|| two.next()).collect();
        assert!((20..80).contains(&here.len()) && here.len() + passed.len() == 100, "{}", here.len());
        assert_eq!((one.passed, one.lost), (passed.len() as u64, 0));
        assert!(passed.iter().all(|(side, frame)| *side == End::Client && two.is_here(*side, frame)));
        let other = (1..=100).find(|port| !here.contains(port)).unwrap();
        (0..WAITING + 5).for_each(|_| _ = one.is_here(End::Server, &frame(other)));
        assert_eq!(one.lost, 5, "the queue is bounded");
        assert!(one.next().is_none());
    }

    /// A datagram from this port.
    pub(crate) fn datagram(port: u16) -> Vec<u8> {
        let mut frame = vec![0; ETHER];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame.extend([0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1]);
        frame.extend([port.to_be_bytes(), [0, 53]].concat());
        frame
    }

    /// Two workers pass frames on to a third one, which ends before them.
    #[test]
    fn each_frame_is_taken_or_lost_and_no_frame_is_both() {
        const SENT: u16 = 8000;
        let all = Steering::all(Owners::new(1, 3), 3);
        let mut taken = 0;
        let (mut here, mut passed, mut lost, mut inboxes) = (0, 0, 0, Vec::new());
        std::thread::scope(|scope| {
            let [mut last, one, two] = all.try_into().unwrap();
            let work = |mut steering: Steering| {
                let own = (1..=SENT).filter(|port| steering.is_here(End::Client, &datagram(*port))).count();
                (own as u64, steering.end())
            };
            let threads = [one, two].map(|steering| scope.spawn(move || work(steering)));
            while taken < 100 {
                taken += u64::from(last.next().is_some());
            }
            inboxes.push(last.end().2);
            for thread in threads {
                let (own, (on, off, inbox)) = thread.join().unwrap();
                (here, passed, lost) = (here + own, passed + on, lost + off);
                inboxes.push(inbox);
            }
        });
        let left: Vec<usize> = inboxes.iter().flat_map(Inbox::left).collect();
        assert!(left.iter().all(|from| [1, 2].contains(from)) && !left.is_empty());
        assert_eq!(passed - left.len() as u64, taken, "what was passed on was taken");
        assert_eq!(here + taken + left.len() as u64 + lost, 2 * u64::from(SENT));
    }
}

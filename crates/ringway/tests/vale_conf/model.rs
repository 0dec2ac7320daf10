//! A slow and obvious switch: what the real one has to do with each burst.

use std::collections::{BTreeMap, HashMap};

use ringway::DropReason::{self, *};
use ringway::switch::{PortConf, SwitchPortStats, VlanMode};

/// Bytes of a slot's buffer.
pub(crate) const SLOT: usize = 2112;
/// Slots of a ring that can be filled.
const ROOM: usize = 1023;

/// What happened at a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) tx_in: u64,
    pub(crate) tx_out: u64,
    pub(crate) tx_drops: BTreeMap<&'static str, u64>,
    pub(crate) rx_in: u64,
    pub(crate) rx_out: u64,
    pub(crate) rx_bytes: u64,
    pub(crate) rx_full: u64,
    pub(crate) copies: u64,
    pub(crate) mirrored: u64,
}

impl Counts {
    /// What a real port counted since `base`.
    pub(crate) fn since(now: &SwitchPortStats, base: &SwitchPortStats) -> Self {
        let (tx, rx) = (&now.counters.tx, &now.counters.rx);
        let (tx0, rx0) = (&base.counters.tx, &base.counters.rx);
        let drops = DropReason::ALL.map(|d| (d.name(), tx.drops(d) - tx0.drops(d)));
        Self {
            tx_in: tx.frames_in - tx0.frames_in,
            tx_out: tx.frames_out - tx0.frames_out,
            tx_drops: drops.into_iter().filter(|d| d.1 > 0).collect(),
            rx_in: rx.frames_in - rx0.frames_in,
            rx_out: rx.frames_out - rx0.frames_out,
            rx_bytes: rx.bytes_out - rx0.bytes_out,
            rx_full: rx.drops(RingFull) - rx0.drops(RingFull),
            copies: now.copies - base.copies,
            mirrored: now.mirrored - base.mirrored,
        }
    }

    fn sent(&mut self, fate: Result<(), DropReason>) {
        self.tx_in += 1;
        match fate {
            Ok(()) => self.tx_out += 1,
            Err(why) => *self.tx_drops.entry(why.name()).or_default() += 1,
        }
    }

    pub(crate) fn check_closed(&self) {
        assert_eq!(self.tx_in, self.tx_out + self.tx_drops.values().sum::<u64>(), "{self:?}");
        assert_eq!(self.rx_in, self.rx_out + self.rx_full, "{self:?}");
    }
}

/// A port: how it is configured, what waits in it, what it counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct PortModel {
    pub(crate) conf: PortConf,
    pub(crate) waiting: Vec<Vec<u8>>,
    pub(crate) counts: Counts,
    /// Slots that were filled since the port last received.
    pub(crate) used: usize,
}

/// A frame taken apart: what comes before and behind its tag.
#[derive(Debug, Clone)]
struct Parsed {
    whole: Vec<u8>,
    addresses: Vec<u8>,
    /// Priority and drop bit of the tag it came with.
    tag: Option<u16>,
    vlan: u16,
    payload: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Port(usize),
    All,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    /// In the order of their numbers.
    pub(crate) ports: Vec<PortModel>,
    /// Learned addresses.
    pub(crate) learned: HashMap<(u16, [u8; 6]), usize>,
    /// Addresses set by hand; `None`: to be dropped.
    pub(crate) fixed: HashMap<(u16, [u8; 6]), Option<usize>>,
}

impl Model {
    /// One sync with these frames.
    pub(crate) fn send(&mut self, from: usize, frames: &[Vec<u8>]) {
        let decided: Vec<_> = frames.iter().map(|f| self.decide(from, f)).collect();
        if let Some(to) = self.mirror(from, |m| m.tx) {
            let well = decided.iter().filter_map(|d| d.as_ref().ok());
            let copies: Vec<_> = well.map(|(p, _)| (p.whole.clone(), slots(p.whole.len()))).collect();
            self.ports[from].counts.mirrored += copies.len() as u64;
            self.offer(to, &copies);
        }
        let mut offered = vec![false; frames.len()];
        let mut reached = vec![false; frames.len()];
        for d in self.order(from, &decided) {
            let mine: Vec<usize> = (0..frames.len()).filter(|&i| self.gets(from, d, &decided[i])).collect();
            let form = |&i: &usize| self.form(d, &decided[i].as_ref().unwrap().0);
            let copies: Vec<_> = mine.iter().map(form).collect();
            let n = self.offer(d, &copies);
            self.ports[from].counts.copies += copies.len() as u64;
            for (k, &i) in mine.iter().enumerate() {
                offered[i] = true;
                reached[i] |= k < n;
            }
            if let Some(to) = self.mirror(d, |m| m.rx) {
                self.ports[d].counts.mirrored += n as u64;
                self.offer(to, &copies[..n]);
            }
        }
        for (i, d) in decided.iter().enumerate() {
            self.ports[from].counts.sent(match d {
                Err(why) | Ok((_, Err(why))) => Err(*why),
                _ if reached[i] => Ok(()),
                _ if offered[i] => Err(ReceiverFull),
                _ => Err(NoDestination),
            });
        }
    }

    /// What a port received.
    pub(crate) fn receive(&mut self, port: usize) -> Vec<Vec<u8>> {
        self.ports[port].used = 0;
        std::mem::take(&mut self.ports[port].waiting)
    }

    fn mirror(&self, port: usize, way: impl Fn(&ringway::switch::Mirror) -> bool) -> Option<usize> {
        let to = self.ports[port].conf.mirror.as_ref().filter(|m| way(m))?;
        Some(to.to[1..].parse().unwrap())
    }

    /// Destinations in the order of delivery: first the destinations of single frames as they come,
    /// then the rest.
    fn order(&self, from: usize, decided: &[Decided]) -> Vec<usize> {
        let to = |d: &Decided| d.as_ref().ok().and_then(|(_, to)| to.ok());
        let mut order = Vec::new();
        let single =
            decided.iter().filter_map(|d| if let Some(To::Port(p)) = to(d) { Some(p) } else { None });
        let all = decided.iter().any(|d| to(d) == Some(To::All));
        for p in single.chain((0..self.ports.len()).filter(|_| all)) {
            if p != from && !order.contains(&p) {
                order.push(p);
            }
        }
        order
    }

    fn gets(&self, from: usize, d: usize, decided: &Decided) -> bool {
        match decided {
            Ok((_, Ok(To::Port(p)))) => *p == d,
            Ok((p, Ok(To::All))) => self.is_member(d, p.vlan) && !self.cut_off(from, d),
            _ => false,
        }
    }

    fn cut_off(&self, a: usize, b: usize) -> bool {
        self.ports[a].conf.isolated && self.ports[b].conf.isolated
    }

    fn is_member(&self, port: usize, vlan: u16) -> bool {
        match &self.ports[port].conf.vlan {
            VlanMode::Access(v) => vlan == *v,
            VlanMode::Trunk { allowed, native } => allowed.contains(vlan) || *native == Some(vlan),
            _ => vlan == 0,
        }
    }

    /// The frame as it is on a port, and the slots that it takes there.
    fn form(&self, port: usize, p: &Parsed) -> (Vec<u8>, usize) {
        let keep = (p.whole.clone(), slots(p.whole.len()));
        let tagged = match &self.ports[port].conf.vlan {
            VlanMode::Access(_) => false,
            VlanMode::Trunk { native, .. } => *native != Some(p.vlan),
            _ => return keep,
        };
        let mut f = p.addresses.clone();
        if tagged {
            f.extend([0x81, 0x00]);
            f.extend((p.tag.unwrap_or(0) | p.vlan).to_be_bytes());
        }
        f.extend(&p.payload);
        let split = f.len() > p.whole.len() && p.whole.len().min(SLOT) + 4 > SLOT;
        (f, slots(p.whole.len()) + usize::from(split))
    }

    fn offer(&mut self, to: usize, frames: &[(Vec<u8>, usize)]) -> usize {
        let port = &mut self.ports[to];
        let mut n = 0;
        for (f, slots) in frames {
            if port.used + slots > ROOM {
                break;
            }
            port.used += slots;
            port.counts.rx_bytes += f.len() as u64;
            port.waiting.push(f.clone());
            n += 1;
        }
        port.counts.rx_in += frames.len() as u64;
        port.counts.rx_out += n as u64;
        port.counts.rx_full += (frames.len() - n) as u64;
        n
    }

    /// `Err`: malformed.
    fn decide(&mut self, from: usize, frame: &[u8]) -> Decided {
        if frame.len() < 14 {
            return Err(TooShort);
        }
        let parsed = Parsed {
            whole: frame.to_vec(),
            addresses: frame[..12].to_vec(),
            tag: None,
            vlan: 0,
            payload: frame[12..].to_vec(),
        };
        Ok(match self.enter(from, &parsed) {
            Ok(p) => {
                let to = self.route(from, &p);
                (p, to)
            }
            Err(why) => (parsed, Err(why)),
        })
    }

    fn enter(&self, from: usize, p: &Parsed) -> Result<Parsed, DropReason> {
        let mut p = p.clone();
        let native = match &self.ports[from].conf.vlan {
            VlanMode::Access(v) => Some(*v),
            VlanMode::Trunk { native, .. } => *native,
            _ => return Ok(p),
        };
        if p.payload.starts_with(&[0x81, 0]) {
            if matches!(self.ports[from].conf.vlan, VlanMode::Access(_)) {
                return Err(Vlan);
            }
            if p.payload.len() < 6 {
                return Err(TooShort);
            }
            let tci = u16::from_be_bytes([p.payload[2], p.payload[3]]);
            p.payload.drain(..4);
            if p.payload.starts_with(&[0x81, 0]) {
                return Err(Vlan);
            }
            p.tag = Some(tci & 0xf000);
            p.vlan = if tci & 0xfff != 0 { tci & 0xfff } else { native.ok_or(Vlan)? };
        } else {
            if p.whole.len() > 65531 {
                return Err(TooLong);
            }
            p.vlan = native.ok_or(Vlan)?;
        }
        if self.is_member(from, p.vlan) { Ok(p) } else { Err(Vlan) }
    }

    fn route(&mut self, from: usize, p: &Parsed) -> Result<To, DropReason> {
        let key = |at: usize| (p.vlan, <[u8; 6]>::try_from(&p.addresses[at..at + 6]).unwrap());
        let (dst, src) = (key(0), key(6));
        if src.1[0] & 1 == 0 && !self.fixed.contains_key(&src) {
            self.learned.insert(src, from);
        }
        let to = match self.fixed.get(&dst) {
            Some(None) => return Err(Blackhole),
            Some(Some(d)) => Some(*d),
            None => self.learned.get(&dst).copied().filter(|_| dst.1[0] & 1 == 0),
        };
        let limits = self.ports[from].conf.storm;
        match to {
            Some(d) if d == from => Err(SamePort),
            Some(d) if !self.is_member(d, p.vlan) => Err(Vlan),
            Some(d) if self.cut_off(from, d) => Err(Isolated),
            Some(d) => Ok(To::Port(d)),
            None => {
                let limit = match dst.1 {
                    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => limits.broadcast,
                    [first, ..] if first & 1 != 0 => limits.multicast,
                    _ => limits.unknown,
                };
                // Time is not modelled: a limit is 0, or none is.
                if limit == Some(0) { Err(Storm) } else { Ok(To::All) }
            }
        }
    }
}

type Decided = Result<(Parsed, Result<To, DropReason>), DropReason>;

fn slots(len: usize) -> usize {
    len.div_ceil(SLOT)
}

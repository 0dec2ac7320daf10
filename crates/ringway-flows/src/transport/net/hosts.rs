//! The emulated hosts: numbers for all addresses of all pools.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringway_wire::MacAddr;

use crate::code::{Macs, Pool, Range, Vlans};

/// Runs up to this number are scanned; more are searched.
const FEW: usize = 8;

/// The number of an emulated host, counted through the ranges of all pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HostId(pub(crate) u32);

/// All emulated hosts. An address that is in two pools belongs to the first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// In the order of numbers.
    runs: Vec<Run>,
    /// In the order of addresses.
    v4: Vec<Place<u32>>,
    v6: Vec<Place<u128>>,
    len: u32,
}

/// Addresses that follow one another, of one pool.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The number of its first host.
    id: u32,
    pool: u32,
    /// The place of its first address in the pool.
    member: u32,
    is_v4: bool,
    first: u128,
    /// The first hardware address, and how many there are.
    macs: Option<(u64, u32)>,
    vlans: Option<Vlans>,
}

/// A run of IPv4 addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run4 {
    pub(super) first: u32,
    /// The last address minus the first one.
    pub(super) span: u32,
    /// The number of the first host.
    pub(super) id: HostId,
    pub(super) pool: u32,
    /// Whether its hosts have neither a VLAN nor hardware addresses of their own.
    pub(super) is_plain: bool,
}

/// Where a run lies among the addresses of its family.
#[derive(Clone, Copy, Debug)]
struct Place<A> {
    first: A,
    /// The last address minus the first one.
    span: u32,
    run: u32,
}

/// A host and the run around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host<'h> {
    run: &'h Run,
    offset: u32,
}

/// The pools have more addresses than there are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyHosts {
    /// The pool with which they are too many: an index into the pools.
    pub(crate) pool: u32,
}

impl fmt::Display for TooManyHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = u32::MAX;
        write!(f, "pool {}: with it, all pools have more than {most} addresses; give it fewer", self.pool)
    }
}

impl std::error::Error for TooManyHosts {}

impl Hosts {
    /// Counts the addresses of pools.
    pub(crate) fn new(pools: &[Pool]) -> Result<Self, TooManyHosts> {
        let mut hosts = Self::default();
        for (number, pool) in (0..).zip(pools) {
            let mut member = 0u128;
            for range in &pool.ranges {
                hosts.add(number, pool, range, member).ok_or(TooManyHosts { pool: number })?;
                // Both ends are of one family, so the sum of all sizes overflows only beyond what `add` refused.
                member = member.saturating_add(bits(range.last).saturating_sub(bits(range.first)) + 1);
            }
        }
        Ok(hosts)
    }

    /// Adds the parts of a range that no pool has yet.
    fn add(&mut self, number: u32, pool: &Pool, range: &Range, member: u128) -> Option<()> {
        let is_v4 = range.first.is_ipv4();
        let (mut next, last) = (bits(range.first), bits(range.last));
        for (first, end) in self.taken(is_v4, next, last) {
            if next < first {
                self.push(number, pool, is_v4, (next, first - 1), member + (next - bits(range.first)))?;
            }
            let Some(behind) = end.checked_add(1) else { return Some(()) };
            next = behind;
        }
        if next > last {
            Some(())
        } else {
            self.push(number, pool, is_v4, (next, last), member + (next - bits(range.first)))
        }
    }

    /// First and last address of each run that meets `first..=last`, in order.
    fn taken(&self, is_v4: bool, first: u128, last: u128) -> Vec<(u128, u128)> {
        let v4 = self.v4.iter().map(|place| (u128::from(place.first), place.span));
        let v6 = self.v6.iter().map(|place| (place.first, place.span));
        let ends = |(first, span): (u128, u32)| (first, first + u128::from(span));
        let all: Vec<_> = if is_v4 { v4.map(ends).collect() } else { v6.map(ends).collect() };
        all.into_iter().filter(|&(start, end)| start <= last && end >= first).collect()
    }

    fn push(
        &mut self,
        pool: u32,
        from: &Pool,
        is_v4: bool,
        (first, last): (u128, u128),
        member: u128,
    ) -> Option<()> {
        let span = u32::try_from(last - first).ok()?;
        let (id, len) = (self.len, self.len.checked_add(span)?.checked_add(1)?);
        let run = self.runs.len() as u32;
        let macs = from.macs.map(|Macs { first, count }| (MacAddr(first).to_u64(), count.max(1)));
        let member = u32::try_from(member).ok()?;
        self.runs.push(Run { id, pool, member, is_v4, first, macs, vlans: from.vlans });
        self.len = len;
        if is_v4 {
            insert(&mut self.v4, Place { first: first as u32, span, run });
        } else {
            insert(&mut self.v6, Place { first, span, run });
        }
        Some(())
    }

    /// All runs of IPv4 addresses.
    pub(super) fn runs_v4(&self) -> impl Iterator<Item = Run4> {
        self.v4.iter().map(|&Place { first, span, run }| {
            let Run { id, pool, macs, vlans, .. } = self.runs[run as usize];
            Run4 { first, span, id: HostId(id), pool, is_plain: macs.is_none() && vlans.is_none() }
        })
    }

    /// How many hosts there are.
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// The host that has an address.
    #[inline]
    pub(crate) fn find(&self, address: IpAddr) -> Option<HostId> {
        self.at(address).map(|host| host.id())
    }

    /// The host that has an address, with all that is known of it.
    #[inline]
    pub(crate) fn at(&self, address: IpAddr) -> Option<Host<'_>> {
        match address {
            IpAddr::V4(address) => self.v4(address),
            IpAddr::V6(address) => self.v6(address),
        }
    }

    /// The host that has an IPv4 address.
    #[inline(always)]
    pub(crate) fn v4(&self, address: Ipv4Addr) -> Option<Host<'_>> {
        let address = u32::from(address);
        let fits = |place: &&Place<u32>| address.wrapping_sub(place.first) <= place.span;
        let place = if self.v4.len() <= FEW {
            self.v4.iter().find(fits)
        } else {
            self.v4[..self.v4.partition_point(|place| place.first <= address)].last().filter(fits)
        }?;
        Some(Host { run: &self.runs[place.run as usize], offset: address.wrapping_sub(place.first) })
    }

    /// The host that has an IPv6 address.
    #[inline]
    pub(crate) fn v6(&self, address: Ipv6Addr) -> Option<Host<'_>> {
        let address = u128::from(address);
        let fits = |place: &&Place<u128>| address.wrapping_sub(place.first) <= u128::from(place.span);
        let place = if self.v6.len() <= FEW {
            self.v6.iter().find(fits)
        } else {
            self.v6[..self.v6.partition_point(|place| place.first <= address)].last().filter(fits)
        }?;
        Some(Host { run: &self.runs[place.run as usize], offset: address.wrapping_sub(place.first) as u32 })
    }

    /// The host with a number that [`find`](Self::find) gave.
    ///
    /// # Panics
    /// Without any host, which no number can be from.
    #[inline]
    pub(crate) fn host(&self, HostId(id): HostId) -> Host<'_> {
        let after = if self.runs.len() <= FEW {
            self.runs.iter().position(|run| run.id > id).unwrap_or(self.runs.len())
        } else {
            self.runs.partition_point(|run| run.id <= id)
        };
        // The first run begins with host 0, so there is one that begins at or below `id`.
        let run = &self.runs[after - 1];
        Host { run, offset: id - run.id }
    }

    /// The address of a host.
    #[inline]
    pub(crate) fn address(&self, id: HostId) -> IpAddr {
        self.host(id).address()
    }

    /// The pool of a host: an index into the pools.
    #[inline]
    pub(crate) fn pool(&self, id: HostId) -> u32 {
        self.host(id).pool()
    }

    /// Whether a host has an IPv4 address.
    #[inline]
    pub(crate) fn is_v4(&self, id: HostId) -> bool {
        self.host(id).run.is_v4
    }
}

impl Host<'_> {
    /// Its number.
    #[inline]
    pub(crate) const fn id(&self) -> HostId {
        HostId(self.run.id + self.offset)
    }

    /// Its pool: an index into the pools.
    #[inline]
    pub(crate) const fn pool(&self) -> u32 {
        self.run.pool
    }

    /// Its address, if it is one of IPv4.
    #[inline]
    pub(crate) fn v4(&self) -> Option<Ipv4Addr> {
        self.run.is_v4.then(|| Ipv4Addr::from((self.run.first as u32).wrapping_add(self.offset)))
    }

    /// Its address.
    #[inline]
    pub(crate) fn address(&self) -> IpAddr {
        let address = self.run.first + u128::from(self.offset);
        if self.run.is_v4 { Ipv4Addr::from(address as u32).into() } else { Ipv6Addr::from(address).into() }
    }

    /// Its hardware address: one of its pool's, or the port's own.
    #[inline]
    pub(crate) fn mac(&self, own: [u8; 6]) -> [u8; 6] {
        self.run
            .macs
            .map_or(own, |(first, count)| MacAddr::from_u64(first + u64::from(self.member() % count)).0)
    }

    /// Its VLAN; 0 for no tag.
    #[inline]
    pub(crate) fn vlan(&self) -> u16 {
        self.run.vlans.map_or(0, |Vlans { first, last }| {
            let count = u32::from(last.saturating_sub(first)) + 1;
            first + if count == 1 { 0 } else { self.member() % count } as u16
        })
    }

    /// Its place in its pool. The ranges of a pool don't overlap, so the pool has no more addresses than there are numbers.
    #[inline]
    const fn member(&self) -> u32 {
        self.run.member.wrapping_add(self.offset)
    }
}

fn insert<A: PartialOrd>(places: &mut Vec<Place<A>>, place: Place<A>) {
    places.insert(places.partition_point(|other| other.first < place.first), place);
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

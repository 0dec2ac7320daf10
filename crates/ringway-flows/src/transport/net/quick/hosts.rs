//! Hosts that the quick way takes: runs of IPv4 addresses, as numbers only.

use crate::transport::net::hosts::{HostId, Hosts, Run4};

/// Most runs that are worth a scan. With more of them all frames go the long way.
const FEW: usize = 16;

/// Addresses that follow one another, and so do the numbers of their hosts.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: u32,
    /// The last address minus the first one.
    len: u32,
    /// The number of the first host.
    id: u32,
}

/// Runs of hosts of one side.
#[derive(Debug)]
struct Spans(Box<[Span]>);

impl Spans {
    fn new(runs: impl Iterator<Item = Run4>) -> Self {
        let spans: Box<[_]> =
            runs.map(|Run4 { first, span, id, .. }| Span { first, len: span, id: id.0 }).collect();
        Self(if spans.len() <= FEW { spans } else { Box::default() })
    }

    #[inline(always)]
    fn host(&self, address: u32) -> Option<HostId> {
        let span = self.0.iter().find(|span| address.wrapping_sub(span.first) <= span.len)?;
        Some(HostId(span.id.wrapping_add(address.wrapping_sub(span.first))))
    }

    #[inline(always)]
    fn address(&self, HostId(id): HostId) -> Option<u32> {
        let span = self.0.iter().find(|span| id.wrapping_sub(span.id) <= span.len)?;
        Some(span.first.wrapping_add(id.wrapping_sub(span.id)))
    }
}

/// The hosts of a port and of the far side.
#[derive(Debug)]
pub(crate) struct Plain {
    near: Spans,
    far: Spans,
}

impl Plain {
    /// `is_near` and `is_far` tell of a pool on which sides it is. Hosts of this side with an address or a VLAN of their own are none of these.
    pub(crate) fn new(hosts: &Hosts, is_near: impl Fn(u32) -> bool, is_far: impl Fn(u32) -> bool) -> Self {
        Self {
            near: Spans::new(hosts.runs_v4().filter(|run| is_near(run.pool) && run.is_plain)),
            far: Spans::new(hosts.runs_v4().filter(|run| is_far(run.pool))),
        }
    }

    /// The hosts of a frame that arrives.
    #[inline(always)]
    pub(super) fn arriving(&self, source: u32, target: u32) -> Option<(HostId, HostId)> {
        self.far.host(source).zip(self.near.host(target))
    }

    /// The addresses of a frame that leaves.
    #[inline(always)]
    pub(super) fn leaving(&self, from: HostId, to: HostId) -> Option<(u32, u32)> {
        let from = self.near.address(from)?;
        Some((from, self.far.address(to)?))
    }
}

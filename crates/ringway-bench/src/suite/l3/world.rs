//! The bed: a router with three links in a namespace of its own, its routes, and what is sent through it.

use std::cell::OnceCell;
use std::fmt::Write;
use std::fs;

use ringway_fib::{NextHop, Prefix, Reference};
use ringway_wire::MacAddr;

use super::flows::Flows;
use super::kept;
use super::plan::{EGRESS, INGRESS, NEXT_HOPS, Neighbour, usable};
use crate::suite::Fault;
use crate::suite::fib::Source;
use ringway_lab::TemporaryFolder;
use ringway_lab::{Lab, LabError};
use ringway_tester::temporary::TemporaryRouter;

/// What is made once.
type Once<T> = OnceCell<Result<T, Fault>>;

/// How many routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// Eight.
    Few,
    /// A whole table of the Internet.
    Full,
}

/// Numbers of flows that are measured, with their names.
pub(super) const FLOWS: [(usize, &str); 4] =
    [(1, "1 flow"), (256, "256 flows"), (1 << 14, "16 Ki flows"), (1 << 20, "1 Mi flows")];

/// A bed that is made when it is needed first, and all that is sent there.
#[derive(Debug)]
pub(super) struct World {
    size: Size,
    source: Source,
    routes: Once<Vec<(Prefix<u32>, NextHop)>>,
    reference: Once<Reference<u32>>,
    place: Once<Place>,
    flows: [Once<Flows>; FLOWS.len()],
}

impl World {
    pub(super) fn new(size: Size, source: Source) -> Self {
        let flows = std::array::from_fn(|_| OnceCell::new());
        let (routes, reference, place) = Default::default();
        Self { size, source, routes, reference, place, flows }
    }

    /// The namespaces, with all routes in place.
    pub(super) fn place(&self) -> Result<&Place, Fault> {
        get(&self.place, || Place::new(self.routes()?))
    }

    /// The flows of an index in [`FLOWS`].
    pub(super) fn flows(&self, index: usize) -> Result<&Flows, Fault> {
        get(&self.flows[index], || Flows::new(self.routes()?, FLOWS[index].0, self.place()?.folder.path()))
    }

    /// The slow and obvious match over all routes.
    pub(super) fn reference(&self) -> Result<&Reference<u32>, Fault> {
        get(&self.reference, || {
            let mut reference = Reference::new();
            reference.extend(self.routes()?.iter().copied());
            Ok(reference)
        })
    }

    fn routes(&self) -> Result<&Vec<(Prefix<u32>, NextHop)>, Fault> {
        get(&self.routes, || match self.size {
            Size::Few => Ok((0..NEXT_HOPS).filter_map(few).collect()),
            Size::Full => {
                let mut routes = self.source.routes4()?;
                routes.retain(|r| usable(r.0));
                routes
                    .iter_mut()
                    .for_each(|r| r.1 = NextHop::new((r.1.get() - 1) % NEXT_HOPS + 1).unwrap_or(r.1));
                Ok(routes)
            }
        })
    }
}

/// 10.0.0.0/11 and those behind, each by a next hop of its own.
fn few(k: u16) -> Option<(Prefix<u32>, NextHop)> {
    Some((Prefix::new(10 << 24 | u32::from(k) << 21, 11).ok()?, NextHop::new(k + 1)?))
}

fn get<T>(once: &Once<T>, make: impl FnOnce() -> Result<T, Fault>) -> Result<&T, Fault> {
    once.get_or_init(make).as_ref().map_err(Clone::clone)
}

/// Makes the namespace a router that does not look at sources.
const ROUTER: [&str; 4] =
    ["-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0", "net.ipv4.ip_forward=1"];

/// Namespaces and links.
#[derive(Debug)]
pub(super) struct Place {
    /// First, so that it goes before its namespace.
    ours: Once<TemporaryRouter>,
    /// Generator and sinks.
    pub(super) outside: Lab,
    /// The router.
    pub(super) router: Lab,
    folder: TemporaryFolder,
}

impl Place {
    fn new(routes: &[(Prefix<u32>, NextHop)]) -> Result<Self, Fault> {
        let folder = TemporaryFolder::create(&std::env::temp_dir())
            .map_err(|e| Fault::Failed(format!("no folder can be made for the flows: {e}")))?;
        let place = Self { ours: OnceCell::new(), outside: Lab::new()?, router: Lab::new()?, folder };
        place.router.exec("sysctl", &ROUTER)?;
        for link in [INGRESS, EGRESS[0], EGRESS[1]] {
            place.router.veth_to(link.router, &place.outside, link.outside)?;
        }
        place.router.run_napi(INGRESS.router)?; // takes what the generator redirects, whoever forwards
        place.batch(&tables(routes))?;
        Ok(place)
    }

    /// Our router in the kernel, whose tables are filled.
    pub(super) fn ours(&self) -> Result<&TemporaryRouter, Fault> {
        get(&self.ours, || kept::create(&self.router))
    }

    fn batch(&self, commands: &str) -> Result<(), Fault> {
        let file = self.folder.path().join("batch");
        fs::write(&file, commands).map_err(|e| Fault::Failed(format!("{}: {e}", file.display())))?;
        Ok(self.router.ip(&format!("-batch {}", file.display()))?)
    }

    /// Frames that links of this place have dropped on sending, so far.
    pub(super) fn dropped(&self) -> Result<u64, Fault> {
        [&self.outside, &self.router].into_iter().try_fold(0, |sum, lab| {
            let read = || fs::read_to_string("/proc/thread-self/net/dev");
            let text = lab.run(|| Ok::<_, LabError>(read()))?;
            let text = text.map_err(|e| Fault::Failed(format!("/proc/thread-self/net/dev: {e}")))?;
            Ok(sum + text.lines().filter_map(sent_and_dropped).sum::<u64>())
        })
    }
}

/// The commands for `ip` that set addresses, neighbours, routes.
fn tables(routes: &[(Prefix<u32>, NextHop)]) -> String {
    let mut text = String::new();
    // Writing to a String can't fail.
    for link in [INGRESS, EGRESS[0], EGRESS[1]] {
        let (name, mac) = (link.router, MacAddr(link.mac()));
        let _ = writeln!(text, "link set {name} address {mac}\naddress add {} dev {name}", link.address());
    }
    for n in Neighbour::all() {
        let (dev, mac) = (EGRESS[n.egress].router, MacAddr(n.mac));
        let _ = writeln!(text, "neigh add {} lladdr {mac} nud permanent dev {dev}", n.address);
    }
    for (prefix, next_hop) in routes {
        let _ = writeln!(text, "route add {prefix} via {}", Neighbour::of(*next_hop).address);
    }
    text
}

/// The number in the column of frames that an interface dropped on sending.
fn sent_and_dropped(line: &str) -> Option<u64> {
    let (_, numbers) = line.split_once(':')?;
    numbers.split_ascii_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_as_commands() {
        let routes: Vec<_> = (0..NEXT_HOPS).filter_map(few).collect();
        let text = tables(&routes);
        assert_eq!(text.lines().count(), 6 + 8 + 8);
        assert!(text.contains("\nroute add 10.32.0.0/11 via 198.18.2.2\n"), "{text}");
        assert!(
            text.contains("\nneigh add 198.18.2.2 lladdr 02:bb:00:00:02:02 nud permanent dev c0\n"),
            "{text}"
        );
    }

    #[test]
    fn drops_are_the_column_of_that_name() {
        let line = "    a0:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";
        assert_eq!(sent_and_dropped(line), Some(12));
        assert_eq!(sent_and_dropped(" face |bytes    packets"), None);
    }
}

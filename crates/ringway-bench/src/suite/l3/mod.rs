//! The suite `l3`: routers, by few routes and by a whole table of the Internet, for one flow up to a million.
//!
//! ```text
//! flood -> a0|a1 -> router -> b0|b1 -> sink
//!                          -> c0|c1 -> sink
//! ```
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `bed` | the bed without a router: dropped where the router would be, or redirected from there | by the sink there |
//! | `routes-8` | 8 routes | by sinks behind both egress interfaces |
//! | `routes-1m` | the routes of the real table, or one that is made | by the same |
//! | `stages` | ns for each stage of Ringway in the kernel, by vantage points: two rates, with packets that end before it and behind it | by the generator |
//! | `stages-clock` | the same stages by the time that the kernel sees the program run ([`agreement`] of both) | by the kernel |
//!
//! Frames of 64 bytes with FCS; 1, 256, 16,384 and 1,048,576 flows. A flow is a source, a random route and a random host of it; flows take
//! turns, in random order of routes, all as often (uniform). Routes lead to 8 next hops behind two interfaces, with permanent neighbours.
//!
//! Routers in the kernel have no core of their own: they run in the generator's softirq on CPU 0. So the rate
//! is that of the generator, the router and the sink together, none is faster than another, and nothing is
//! lost. Case `bed` has the share of generator and sink. The router in a process has CPU 1 for itself; frames
//! that find its ring full are lost.
//!
//! Before each run up to 256 frames of all flows are sent one burst after the other. Each is compared byte by
//! byte with what must come out (TTL, checksum, link addresses) on the right interface. After it, each frame
//! sent must have arrived, or be counted as lost by name.

mod check;
mod flows;
mod kept;
mod plan;
mod router;
mod run;
mod stages;
mod user;
mod world;
mod xdp;

use std::rc::Rc;

use super::fib::Source;
use super::{Bed, Case, Fault, Unit};
use crate::peers::{Peer, PeerKind};
use ringway_router::kernel::StopAfter;

use plan::BURST;
use plan::{EGRESS, INGRESS};
use run::{Sink, forwarded};
pub use stages::agreement;
use user::UserRouter;
use world::{FLOWS, Place, Size, World};
use xdp::Members;

const NOTE: &str = "flood of live frames on CPU 0, routers in its softirq (rate of generator, router and sink together, see case bed), ringway-user-router a thread on CPU 1; counted behind \
                    two egress interfaces by an XDP sink, for socket buffers (linux-ip_forward) by a tc sink; flows take turns, uniform; every \
                    router's frames compared, every loss has a name";

const ALONE: &str = "the bed without a router: frames dropped by XDP where it would take them, or redirected from there to an XDP sink behind the \
                     next link";

/// All cases of the suite, in the order in which they are run.
pub fn cases<'a>(bed: Bed<'a>, source: &Source) -> Vec<Case<'a>> {
    let [few, full] = [Size::Few, Size::Full].map(|size| Rc::new(World::new(size, source.clone())));
    let mut cases = vec![alone(bed, &few)];
    cases.extend((0..FLOWS.len()).map(|flows| routers(bed, "routes-8", &few, flows)));
    cases.extend((0..FLOWS.len()).map(|flows| routers(bed, "routes-1m", &full, flows)));
    cases.extend(stages::cases(bed, &few, 0, "8 routes, 1 flow"));
    cases.extend(stages::cases(bed, &full, FLOWS.len() - 1, "1 M routes, 1 Mi flows"));
    cases
}

fn routers<'a>(bed: Bed<'a>, name: &'static str, world: &Rc<World>, flows: usize) -> Case<'a> {
    let [a, b, c, d] = std::array::from_fn(|_| Rc::clone(world));
    Case::new(name, Unit::Mpps)
        .variant(FLOWS[flows].1)
        .burst(BURST)
        .note(NOTE)
        .system("ringway-xdp-router", move || forwarded(bed, &c, flows, Sink::Xdp, ours))
        .system("ringway-user-router", move || forwarded(bed, &d, flows, Sink::Xdp, UserRouter::start))
        .system("linux-ip_forward", move || forwarded(bed, &a, flows, Sink::Tc, |_| Ok(())))
        .system("xdp-bpf_fib_lookup", move || forwarded(bed, &b, flows, Sink::Xdp, fib_lookup))
}

fn alone<'a>(bed: Bed<'a>, world: &Rc<World>) -> Case<'a> {
    let [a, b] = std::array::from_fn(|_| Rc::clone(world));
    Case::new("bed", Unit::Mpps)
        .burst(BURST)
        .note(ALONE)
        .system("xdp-drop", move || run::bed_alone(bed, &a, false))
        .system("xdp-redirect", move || run::bed_alone(bed, &b, true))
}

/// XDP programs that ask the kernel's tables.
fn fib_lookup(place: &Place) -> Result<Peer, Fault> {
    let interfaces = [INGRESS.router, EGRESS[0].router, EGRESS[1].router];
    let args = ["forward"].into_iter().chain(interfaces);
    Ok(Peer::spawn(PeerKind::L3, args, Some(place.router.name()), None)?)
}

/// Ours, in XDP.
fn ours(place: &Place) -> Result<Members<'_>, Fault> {
    xdp::attach(place.ours()?, place, StopAfter::Whole)
}

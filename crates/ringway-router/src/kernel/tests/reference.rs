//! Captures and changed frames by the hundred thousand beside the slow reference: the same names, the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use ringway_fwd::control::{Changes, Resolver};
use ringway_fwd::router::Decision;
use ringway_fwd::router::generate::{Frames, Links, state};
use ringway_fwd::router::reference::{Both, Reference};
use ringway_wire::pcapfile::Reader;

use super::trial::Trial;
use super::{Made, both_ways};
use crate::kernel::{BudgetLimits, Control, Interface, Path as FramePath, Rate, Rpf, Spec};

/// A program for each of two members, and the reference.
struct Pair {
    trials: [Trial; 2],
    planes: Both<Control>,
    seen: BTreeMap<&'static str, u64>,
    _router: Made,
}

impl Pair {
    fn new(path: FramePath, [lan, wan, other]: [u32; 3]) -> Self {
        let links = Links { lan, wan, other };
        let endless = Rate { per_second: 1_000_000_000, burst: u32::MAX };
        let spec = Spec { budgets: BudgetLimits { plain: endless, costly: endless }, ..Spec::default() };
        let router = Made::new(&spec);
        let control = router.get().take_control().unwrap();
        let mut planes = Both { plane: control, reference: Reference::new(links.members().to_vec()) };
        let mut resolver = Resolver::new(&mut planes);
        resolver.update(&state(links), Changes::everything(), &mut planes).unwrap();
        let trials = [lan, wan].map(|index| Trial::new(&planes.plane, path, index, false, &[lan, wan]));
        let mut pair = Self { trials, planes, seen: BTreeMap::new(), _router: router };
        pair.filter(Rpf::Off, Rpf::Off);
        pair
    }

    /// Sets the reverse path filters of both members.
    fn filter(&mut self, rpf4: Rpf, rpf6: Rpf) {
        for (trial, to) in self.trials.iter().zip(&mut self.planes.reference.interfaces) {
            *to = Interface { rpf4, rpf6, ..*to };
            trial.set(&Interface { forwards4: true, forwards6: true, ..*to });
        }
        self.planes.plane.heartbeat(true).unwrap();
    }

    /// Has both decide.
    fn same(&mut self, position: usize, frame: &[u8]) {
        let (wanted, out) = self.planes.reference.decide(position, frame);
        if !self.trials[position].takes(frame) {
            return;
        }
        self.planes.plane.heartbeat(true).unwrap(); // however long the machine stood still before
        let (found, verdict, left) = self.trials[position].run(frame);
        assert_eq!(found.name(), wanted.name(), "{wanted} of {}", hex(frame));
        assert_eq!(verdict, self.trials[position].verdict(found.kind()), "{wanted} of {}", hex(frame));
        let out = out.as_deref().unwrap_or(frame);
        assert!(left == *out, "{} became {}, not {}", hex(frame), hex(&left), hex(out));
        *self.seen.entry(wanted.name()).or_insert(0) += 1;
        if let Decision::Forward(to) = wanted {
            *self.seen.entry("packets").or_insert(0) +=
                u64::from(self.planes.plane.counters(to.next_hop).0 > 0);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// All frames of all captures under `RINGWAY_DATA`.
fn captures() -> Vec<Vec<u8>> {
    let Some(root) = std::env::var_os("RINGWAY_DATA") else {
        eprintln!("SKIP: captures; RINGWAY_DATA names no folder with pcap/ in it");
        return Vec::new();
    };
    let folders = ["real", "hostile"].map(|kind| Path::new(&root).join("pcap").join(kind));
    let mut frames = Vec::new();
    for file in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let mut reader = Reader::open(file.unwrap().path()).unwrap();
        while let Some(Ok(record)) = reader.next() {
            frames.push(record.data.to_vec());
        }
    }
    assert!(frames.len() > 10_000, "{} frames", frames.len());
    frames
}

#[test]
fn captures_as_they_are_and_for_us() {
    both_ways(|path, links| {
        let mut pair = Pair::new(path, links);
        for mut frame in captures() {
            pair.same(0, &frame);
            if let Some(to) = frame.get_mut(..6) {
                to.copy_from_slice(&Links::mac(links[1]));
                pair.same(1, &frame);
            }
        }
        println!("{:?}", pair.seen);
        let some = |name| pair.seen.get(name).is_some_and(|n| *n > 10);
        assert!(pair.seen.is_empty() || some("forwarded") && some("malformed"), "{:?}", pair.seen);
    });
}

/// `RINGWAY_FRAMES` frames, by default 100,000, each reverse path filter in turn.
#[test]
fn changed_frames() {
    let count: usize = std::env::var("RINGWAY_FRAMES").map_or(100_000, |n| n.parse().unwrap());
    both_ways(|path, links| {
        let mut pair = Pair::new(path, links);
        let captures = captures();
        let mut sources = [links[0], links[1]]
            .map(|link| Frames::new(u64::from(link) * 7919, Links::mac(link), captures.clone()));
        let filters = [Rpf::Off, Rpf::Loose, Rpf::Strict, Rpf::Off];
        for turn in 0..count {
            if turn % 500 == 0 {
                pair.filter(filters[turn / 500 % 4], filters[turn / 2000 % 4]);
            }
            pair.same(turn % 2, sources[turn % 2].next_frame());
        }
        println!("{count} frames: {:?}", pair.seen);
        for name in [
            "forwarded",
            "local",
            "ttl",
            "unresolved",
            "too_big",
            "kernel_route",
            "reverse_path",
            "bad_checksum",
        ] {
            assert!(
                pair.seen.get(name).is_some_and(|n| *n as usize * 2000 > count),
                "{name} in {:?}",
                pair.seen
            );
        }
        assert_eq!(pair.seen["packets"], pair.seen["forwarded"]);
    });
}

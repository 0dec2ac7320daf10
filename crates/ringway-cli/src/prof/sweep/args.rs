//! Options of `ringway prof sweep`, and the sweep that they ask for.

use std::path::PathBuf;

use ringway_model::rig::Cpus;
use ringway_model::sweep::spec::MOST_MS;
use ringway_model::sweep::{Point, Spec, Swept};
use ringway_tester::dut::{Backend, DutKind};
use ringway_tester::trial::flow::FlowOrder;
use ringway_traffic::number;

use crate::tester::device::{backends, kinds};
use crate::tester::options::{FRAMES, PORTS, REPORTS, TRIALS};

const EXAMPLES: &str = "\
FILE has the sweep with all its runs. A sweep that Ctrl-C stopped goes on where it was. Each run lasts for --seconds, and rounds visit all \
points in turn. Runs of a disturbed machine are repeated.

Examples:
  ringway prof sweep sizes.json --dut linux-forward --over size
  ringway prof sweep flows.json --dut ringway-router --over flows --order random
  ringway prof sweep rates.json --dut linux-bridge --over rate --page rates.html
  ringway prof sweep sizes.json                                    # go on, or show it again";

/// Measure a device under loads that differ in one thing
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Args {
    /// The sweep's file, which is made or goes on
    pub(super) file: PathBuf,

    /// Device, set up for the sweep in namespaces of its own
    #[arg(long, value_name = "DEVICE", value_parser = kinds(), help_heading = PORTS)]
    pub(super) dut: Option<DutKind>,

    /// What differs from point to point: size, flows (with as many routes), routes, rate, burst
    #[arg(long, value_name = "WHAT", requires = "dut")]
    over: Option<Swept>,

    /// Its values, separated by commas; of rates shares of the maximum, as 0.5 or 2 [default: a range that fits]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value, requires = "over")]
    values: Vec<f64>,

    /// Bytes of a frame, with FCS
    #[arg(long, value_name = "BYTES", default_value_t = 64, help_heading = FRAMES)]
    size: u32,

    /// Flows: destinations of routers, senders of switches
    #[arg(long, value_name = "N", default_value = "1", value_parser = count, help_heading = FRAMES)]
    flows: u32,

    /// Routes that share the destinations; the next power of two counts
    #[arg(long, value_name = "N", default_value = "1", value_parser = count, help_heading = FRAMES)]
    routes: u32,

    /// In which order flows take turns: sequential, random, zipf
    #[arg(long, value_name = "ORDER", default_value_t = FlowOrder::Random, help_heading = FRAMES)]
    order: FlowOrder,

    /// Frames that the generator hands over at a time
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = FRAMES)]
    burst: u32,

    /// Packets a second offered [default: as many as the generator can]
    #[arg(long, value_name = "RATE", value_parser = number::frames, help_heading = FRAMES)]
    rate: Option<u64>,

    /// How the generator attaches to its link [default: ebpf]
    #[arg(long, value_name = "BACKEND", value_parser = backends(), help_heading = PORTS)]
    dut_backend: Option<Backend>,

    /// CPUs of the generator and of the thread that forwards [default: the first and the last]
    #[arg(long, value_name = "A,B", value_parser = two_cpus, help_heading = PORTS)]
    cpus: Option<[usize; 2]>,

    /// Runs of each point that count
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = TRIALS)]
    runs: u32,

    /// Length of a run
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = crate::tester::values::seconds, help_heading = TRIALS)]
    seconds: f64,

    /// Sample the thread that forwards, for costs by group
    #[arg(long, help_heading = TRIALS)]
    pub(super) groups: bool,

    /// Write the sweep as a page
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) page: Option<PathBuf>,

    /// Print the sweep as one JSON object
    #[arg(long, help_heading = REPORTS)]
    pub(super) json: bool,
}

/// Bytes of frames as in the paper and RFC 2544.
const SIZES: [f64; 8] = [64.0, 128.0, 256.0, 512.0, 768.0, 1024.0, 1280.0, 1518.0];

/// Flows, and routes.
const FLOWS: [f64; 10] = [1.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0];

/// Shares of the maximum rate.
const RATES: [f64; 10] = [0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0, 1.25, 1.6, 2.0];

/// Frames of a burst.
const BURSTS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0];

impl Args {
    /// What is to be measured; `None` when the file says so. Offered rates are still shares of the maximum.
    pub(super) fn spec(&self) -> Result<Option<Spec>, String> {
        let Some(device) = self.dut else { return Ok(None) };
        let Some(swept) = self.over else { return Err("say what differs, as --over size".into()) };
        if swept == Swept::Routes && !device.is_router() {
            return Err(format!("{device} has no routes; linux-forward and ringway-router have"));
        }
        let values = if self.values.is_empty() { defaults(swept) } else { &self.values };
        let points: Vec<Point> = values.iter().map(|&v| self.point(swept, v, device)).collect();
        let cpus = self.cpus.unwrap_or_else(|| [Cpus::default().generator, Cpus::default().device]);
        let spec = Spec {
            device,
            backend: self.dut_backend.unwrap_or_default(),
            swept,
            points,
            runs: self.runs,
            warm_up_ms: 50,
            counted_ms: ((self.seconds * 1e3).round() as u32).min(MOST_MS),
            cpus,
        };
        // Shares of a rate are checked when they are rates.
        if swept != Swept::Rate {
            spec.check()?;
        }
        Ok(Some(spec))
    }

    fn point(&self, swept: Swept, value: f64, device: DutKind) -> Point {
        let plain = Point {
            size: self.size,
            flows: self.flows,
            routes: if device.is_router() { self.routes } else { 1 },
            order: self.order,
            burst: self.burst,
            offered: self.rate.map(|pps| pps as f64),
        };
        let point = swept.with(&plain, value);
        match swept {
            Swept::Flows if device.is_router() && self.routes == 1 => Point { routes: point.flows, ..point },
            _ => point,
        }
    }
}

fn defaults(swept: Swept) -> &'static [f64] {
    match swept {
        Swept::Size => &SIZES,
        Swept::Flows | Swept::Routes => &FLOWS,
        Swept::Rate => &RATES,
        Swept::Burst => &BURSTS,
    }
}

/// A value: `64`, `0.5`, `1.5M`, or `16Ki` in powers of two.
pub(in super::super) fn value(text: &str) -> Result<f64, String> {
    let binary = [("Ki", 1024.0), ("Mi", 1_048_576.0)];
    let with_unit = binary.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let number = match with_unit {
        Some((digits, factor)) => digits.parse::<f64>().ok().map(|n| n * factor),
        None => text.parse::<f64>().ok().or_else(|| number::count(text).ok().map(|n| n as f64)),
    };
    let number = number.filter(|n| *n > 0.0 && *n <= 1e9);
    number.ok_or_else(|| "accepted: numbers above 0, as 64, 16Ki, 1M or 0.5".into())
}

/// A count, as `1000`, `1M` or `16Ki`.
fn count(text: &str) -> Result<u32, String> {
    let whole = value(text).ok().filter(|n| n.fract() == 0.0);
    whole.map(|n| n as u32).ok_or_else(|| "accepted: a whole number above 0, as 1000, 1M or 16Ki".into())
}

/// Two CPUs, as in `0,1`.
fn two_cpus(text: &str) -> Result<[usize; 2], String> {
    let wrong = || format!("'{text}' is not two CPUs, such as 0,1");
    let (generator, device) = text.split_once(',').ok_or_else(wrong)?;
    Ok([generator.parse().map_err(|_| wrong())?, device.parse().map_err(|_| wrong())?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn spec(words: &str) -> Result<Option<Spec>, String> {
        let line = Line::try_parse_from(["sweep"].into_iter().chain(words.split(' ')));
        line.map_err(|e| e.to_string())?.args.spec()
    }

    #[test]
    fn numbers_are_read_in_both_kinds_of_thousands() {
        assert_eq!(
            ["64", "0.5", "16Ki", "1Mi", "1M"].map(value),
            [64.0, 0.5, 16_384.0, 1_048_576.0, 1e6].map(Ok)
        );
        for wrong in ["", "0", "-1", "Ki", "1e12", "x", "nan", "inf"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
        assert!(count("0.5").is_err() && count("1Mi") == Ok(1 << 20));
    }

    #[test]
    fn options_become_points() {
        let flows =
            spec("f --dut linux-forward --over flows --values 1,256,1Mi --order zipf").unwrap().unwrap();
        assert_eq!(flows.device, DutKind::LinuxRouter);
        let points: Vec<_> = flows.points.iter().map(|p| (p.flows, p.routes, p.order)).collect();
        let zipf = FlowOrder::Zipf;
        assert_eq!(points, [(1, 1, zipf), (256, 256, zipf), (1 << 20, 1 << 20, zipf)]);
        let few = spec("f --dut linux-forward --over flows --values 256 --routes 16").unwrap().unwrap();
        assert_eq!(few.points[0].routes, 16);
        let bridge = spec("f --dut linux-bridge --over flows --values 256 --cpus 1,0").unwrap().unwrap();
        assert_eq!((bridge.points[0].routes, bridge.cpus), (1, [1, 0]));
        assert_eq!(spec("f").unwrap(), None);
        assert_eq!(spec("f --dut linux-forward --over rate").unwrap().unwrap().points[9].offered, Some(2.0));
    }

    #[test]
    fn options_that_do_not_fit_are_refused() {
        for (words, why) in [
            ("f --dut linux-bridge", "--over size"),
            ("f --dut linux-bridge --over routes", "has no routes"),
            ("f --dut linux-bridge --over size --values 63", "frame size 63"),
            ("f --over size", "--dut"),
            ("f --dut linux-bridge --over speed", "can't be swept"),
            ("f --dut linux-bridge --over size --cpus 1", "not two CPUs"),
            ("f --dut linux-bridge --over size --cpus 1,x", "not two CPUs"),
        ] {
            let e = spec(words).unwrap_err();
            assert!(e.contains(why), "{words}: {e}");
        }
    }
}

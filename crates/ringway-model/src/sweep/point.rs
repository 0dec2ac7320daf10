//! A point of a sweep: the load that is put on a device.

use serde::{Deserialize, Serialize};

use ringway_tester::trial::flow::{FlowOrder, MAX_FLOWS};

/// A load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Bytes of a frame, with FCS.
    pub size: u32,
    /// Flows: destinations of routers, sources of switches.
    pub flows: u32,
    /// Routes that hold the destinations; 1 for devices that do not route.
    pub routes: u32,
    /// In which order flows take turns.
    pub order: FlowOrder,
    /// Frames that the generator hands over at a time.
    pub burst: u32,
    /// Packets a second offered; `None` for as many as the generator can.
    pub offered: Option<f64>,
}

impl Default for Point {
    /// As many frames of 64 bytes as possible, of one flow by one route.
    fn default() -> Self {
        Self { size: 64, flows: 1, routes: 1, order: FlowOrder::Sequential, burst: 64, offered: None }
    }
}

/// Smallest and largest frames, with FCS.
pub const SIZES: (u32, u32) = (64, 1518);

/// Most frames of a burst.
pub const MOST_BURST: u32 = 1024;

impl Point {
    /// Checks that it can be measured.
    ///
    /// # Errors
    /// What is out of range, and the range.
    pub fn check(&self) -> Result<(), String> {
        let within = |what: &str, n: u32, (least, most): (u32, u32)| match (least..=most).contains(&n) {
            true => Ok(()),
            false => Err(format!("{what} {n} is not between {least} and {most}")),
        };
        within("frame size", self.size, SIZES)?;
        within("number of flows", self.flows, (1, MAX_FLOWS))?;
        within("number of routes", self.routes, (1, ringway_tester::dut::MOST_ROUTES))?;
        within("burst", self.burst, (1, MOST_BURST))?;
        match self.offered {
            Some(pps) if !(1.0..=1e9).contains(&pps) => {
                Err(format!("offered rate {pps} is not between 1 and 1,000,000,000 packets a second"))
            }
            _ => Ok(()),
        }
    }

    /// How often a packet is of the flow of the packet before it, 0 to 1. Kernels reuse the route then.
    ///
    /// ```
    /// use ringway_model::sweep::Point;
    /// assert_eq!(Point::default().repeats(), 1.0);
    /// assert_eq!(Point { flows: 256, ..Point::default() }.repeats(), 0.0);
    /// ```
    #[must_use]
    pub fn repeats(&self) -> f64 {
        let n = f64::from(self.flows);
        match self.order {
            _ if self.flows == 1 => 1.0,
            FlowOrder::Sequential => 0.0,
            FlowOrder::Random => 1.0 / n,
            // The k-th flow has ln((k + 1) / k) / ln(n + 1) of the packets; flows behind the first thousands add nothing.
            FlowOrder::Zipf => {
                let of = |k: u32| (1.0 / f64::from(k)).ln_1p() / (n + 1.0).ln();
                (1..=self.flows.min(4096)).map(|k| of(k).powi(2)).sum()
            }
        }
    }

    /// Destinations among which an unpredictable packet chooses: all, or so many that are as unpredictable as Zipf's.
    #[must_use]
    pub fn spread(&self) -> f64 {
        let n = f64::from(self.flows);
        match self.order {
            // Half of the bits: ranks are spread evenly over their logarithm.
            FlowOrder::Zipf => n.sqrt(),
            _ => n,
        }
    }

    /// In a few words: what differs from the default.
    #[must_use]
    pub fn describe(&self) -> String {
        let plain = Self::default();
        let mut words = vec![format!("{} B", self.size)];
        if self.flows != plain.flows {
            words.push(format!("{} flows {}", self.flows, self.order));
        }
        if self.routes != plain.routes {
            words.push(format!("{} routes", self.routes));
        }
        if self.burst != plain.burst {
            words.push(format!("burst {}", self.burst));
        }
        if let Some(pps) = self.offered {
            words.push(format!("{:.3} Mpps offered", pps / 1e6));
        }
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_out_of_range_are_refused_by_name() {
        let plain = Point::default();
        assert_eq!(plain.check(), Ok(()));
        let refused = |point: Point, what: &str| {
            let e = point.check().unwrap_err();
            assert!(e.starts_with(what), "{e}");
        };
        refused(Point { size: 63, ..plain }, "frame size 63 is not between 64 and 1518");
        refused(Point { flows: 0, ..plain }, "number of flows");
        refused(Point { routes: 1 << 21, ..plain }, "number of routes");
        refused(Point { burst: 0, ..plain }, "burst");
        refused(Point { offered: Some(f64::NAN), ..plain }, "offered rate");
    }

    #[test]
    fn orders_repeat_flows_as_often_as_they_do() {
        let many = |order| Point { flows: 1000, order, ..Point::default() };
        assert_eq!(many(FlowOrder::Random).repeats(), 0.001);
        let zipf = many(FlowOrder::Zipf);
        assert!((0.015..0.03).contains(&zipf.repeats()), "{}", zipf.repeats());
        let flows = ringway_tester::trial::flow::Flows::new(1000, FlowOrder::Zipf, 5);
        let same = (0..200_000u64).filter(|&n| flows.index(n) == flows.index(n + 1)).count();
        assert!((same as f64 / 200_000.0 / zipf.repeats() - 1.0).abs() < 0.1, "{same}");
        assert!(zipf.spread() < many(FlowOrder::Random).spread());
        assert_eq!(zipf.describe(), "64 B, 1000 flows zipf");
    }
}

//! A family of samples, and the text of all.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text::encode};
use prometheus_client::metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge};
use prometheus_client::registry::{self, Registry};

/// Writes `families` as a whole OpenMetrics text, up to its end mark. Those without a sample are left out.
#[must_use]
pub fn text(families: Vec<Family>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut text = String::new();
    // Writing into memory does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// Samples of one meaning.
#[derive(Debug)]
pub struct Family {
    /// Without the suffixes that OpenMetrics asks for: unit, `_total`, `_info`.
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    unit: Option<registry::Unit>,
    samples: Vec<Sample>,
}

/// What values are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// Labels, and the value.
#[derive(Debug)]
struct Sample(Vec<(&'static str, String)>, u64);

impl Family {
    /// Values that only grow while what they count exists.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: MetricType::Counter, unit: None, samples: Vec::new() }
    }

    /// Values that go up and down.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { kind: MetricType::Gauge, ..Self::counter(name, help) }
    }

    /// Facts in words: the labels tell them, the value is always 1.
    #[must_use]
    pub fn info(name: &'static str, help: &'static str) -> Self {
        Self { kind: MetricType::Info, ..Self::counter(name, help) }
    }

    /// What the values are in. It becomes the end of the name.
    #[must_use]
    pub fn unit(self, unit: Unit) -> Self {
        let unit = match unit {
            Unit::Bytes => registry::Unit::Bytes,
            Unit::Seconds => registry::Unit::Seconds,
        };
        Self { unit: Some(unit), ..self }
    }

    /// Adds a sample. No other one of the family may have the same labels.
    pub fn add(&mut self, labels: &[(&'static str, &str)], value: u64) {
        let labels = labels.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        self.samples.push(Sample(labels, value));
    }
}

/// All families, as the library wants them.
#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for family in self.0.iter().filter(|f| !f.samples.is_empty()) {
            let unit = family.unit.as_ref();
            let mut metric = encoder.encode_descriptor(family.name, family.help, unit, family.kind)?;
            for Sample(labels, value) in &family.samples {
                match family.kind {
                    MetricType::Counter => ConstCounter::new(*value).encode(metric.encode_family(labels)?)?,
                    MetricType::Info => metric.encode_info(labels)?,
                    _ => ConstGauge::new(*value).encode(metric.encode_family(labels)?)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_written_by_the_rules() {
        let mut frames = Family::counter("x_frames", "Frames in and out");
        frames.add(&[("port", "a"), ("dir", "in")], u64::MAX);
        frames.add(&[("port", "a"), ("dir", "out")], 0);
        let mut bytes = Family::counter("x", "Bytes").unit(Unit::Bytes);
        bytes.add(&[("port", "a")], 7);
        let mut fill = Family::gauge("x_fill", "Slots in use");
        fill.add(&[("port", "a")], 3);
        let mut info = Family::info("x", "What it is");
        info.add(&[("backend", "null")], 1);
        let none = Family::gauge("x_none", "Nothing has this");
        let expected = "\
# HELP x_frames Frames in and out
# TYPE x_frames counter
x_frames_total{port=\"a\",dir=\"in\"} 18446744073709551615
x_frames_total{port=\"a\",dir=\"out\"} 0
# HELP x_bytes Bytes
# TYPE x_bytes counter
# UNIT x_bytes bytes
x_bytes_total{port=\"a\"} 7
# HELP x_fill Slots in use
# TYPE x_fill gauge
x_fill{port=\"a\"} 3
# HELP x What it is
# TYPE x info
x_info{backend=\"null\"} 1
# EOF
";
        assert_eq!(text(vec![frames, bytes, fill, info, none]), expected);
        assert_eq!(text(Vec::new()), "# EOF\n");
    }

    #[test]
    fn label_values_may_hold_anything() {
        let mut odd = Family::gauge("odd", "Names of files");
        odd.add(&[("port", "pcap:a\\b\"c\nd é\t{},")], 1);
        assert!(text(vec![odd]).contains("\nodd{port=\"pcap:a\\\\b\\\"c\\nd é\t{},\"} 1\n"));
    }
}

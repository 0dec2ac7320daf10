//! Two reports side by side.

use serde::Serialize;

use super::Report;
use crate::rfc2544::measure::Results;
use crate::rfc2544::settings::Test;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::variant::Variant;

/// A number that both reports have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Test.
    pub test: Test,
    /// Sizes.
    pub size: Mix,
    /// What the number says, with its unit.
    pub metric: String,
    /// In the first report.
    pub before: f64,
    /// In the second.
    pub after: f64,
    /// Change in percent of the first; `None` from zero.
    pub percent: Option<f64>,
}

/// What differs between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// All numbers that both have.
    pub changes: Vec<Change>,
    /// Why the numbers may not be comparable.
    pub warnings: Vec<String>,
}

type Number = (Test, Mix, String, f64);

/// Compares `after` with `before`.
#[must_use]
pub fn diff(before: &Report, after: &Report) -> Diff {
    let (old, new) = (numbers(before), numbers(after));
    let mut changes = Vec::new();
    for (test, size, metric, value) in &old {
        let Some(same) = new.iter().find(|n| (&n.0, &n.1, &n.2) == (test, size, metric)) else { continue };
        let percent = (*value != 0.0).then(|| 100.0 * (same.3 - value) / value);
        changes.push(Change {
            test: *test,
            size: size.clone(),
            metric: metric.clone(),
            before: *value,
            after: same.3,
            percent,
        });
    }
    Diff { changes, warnings: warnings(before, after, old.len().max(new.len())) }
}

fn warnings(before: &Report, after: &Report, numbers: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut unless = |same: bool, what: &str| {
        if !same {
            warnings.push(format!("the reports differ in {what}"));
        }
    };
    let (a, b) = (&before.settings, &after.settings);
    unless(before.origin.time == after.origin.time, "their time: real or virtual");
    unless(a.trials.maximum == b.trials.maximum, "the link speed");
    unless(a.trials.search == b.trials.search, "the search");
    unless(
        (a.trials.trial_ps, a.trials.wait_ps) == (b.trials.trial_ps, b.trials.wait_ps),
        "the length of trials",
    );
    unless(a.bidirectional == b.bidirectional, "directions");
    unless(before.format == after.format, "the format of frames");
    unless(before.origin.conditions.cpu == after.origin.conditions.cpu, "the processor");
    if before.caveats.interrupted || after.caveats.interrupted {
        warnings.push("a report is of a run that ended early".into());
    }
    if numbers == 0 {
        warnings.push("there is nothing to compare".into());
    }
    warnings
}

fn numbers(report: &Report) -> Vec<Number> {
    report.runs().flat_map(|(variant, results)| of_run(&variant, results)).collect()
}

fn of_run(variant: &Variant, r: &Results) -> Vec<Number> {
    let mut all: Vec<Number> = Vec::new();
    let name = variant.name();
    let mut add = |test, size: &Mix, metric: String, value| {
        let metric = if name.is_empty() { metric } else { format!("{name}: {metric}") };
        all.push((test, size.clone(), metric, value));
    };
    for t in &r.throughput {
        add(Test::Throughput, &t.size, "frames/s".into(), t.fps);
    }
    for l in &r.latency {
        for at in &l.loads {
            let name = |what: &str| format!("{what} at {} %, ns", at.share.as_percent());
            add(Test::Latency, &l.size, name("mean"), at.all.mean_ns);
            add(Test::Latency, &l.size, name("p99"), at.all.p99_ns as f64);
        }
    }
    for l in &r.loss {
        for at in &l.loads {
            add(Test::Loss, &l.size, format!("loss at {} %, %", at.load.as_percent()), at.percent);
        }
    }
    for b in r.back_to_back.iter().filter(|b| b.not_applicable.is_none()) {
        add(Test::BackToBack, &b.size, "frames".into(), b.frames.mean);
        add(Test::BackToBack, &b.size, "corrected buffer, s".into(), b.corrected_buffer_s);
    }
    for b in &r.burst {
        add(Test::Burst, &b.size, "lost".into(), b.lost as f64);
    }
    for x in &r.recovery {
        add(Test::Recovery, &x.size, "mean, s".into(), x.seconds.mean);
    }
    for x in &r.reset {
        add(Test::Reset, &x.size, "by time, s".into(), x.by_time_s);
    }
    all
}

impl Diff {
    /// As a table for the terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!(
            "{:<13} {:<8} {:<24} {:>16} {:>16} {:>10}\n",
            "test", "size", "", "before", "after", "change"
        );
        for c in &self.changes {
            let percent = c.percent.map_or("-".into(), |p| format!("{p:+.2} %"));
            let size = c.size.to_string();
            out += &format!(
                "{:<13} {size:<8} {:<24} {:>16.3} {:>16.3} {percent:>10}\n",
                c.test.name(),
                c.metric,
                c.before,
                c.after
            );
        }
        self.warnings.iter().for_each(|w| out += &format!("Careful: {w}\n"));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rfc2544::report::tests::report;

    #[test]
    fn changes_are_told_in_percent() {
        let (slow, fast) = (report("500k"), report("1M"));
        let diff = diff(&slow, &fast);
        let throughput = diff.changes.iter().find(|c| c.test == Test::Throughput).unwrap();
        assert!((throughput.percent.unwrap() - 100.0).abs() < 1.0, "{throughput:?}");
        assert_eq!(diff.warnings, Vec::<String>::new());
        assert!(diff.text().contains("frames/s") && diff.text().contains("+"));
        let same = super::diff(&slow, &slow);
        assert!(same.changes.iter().all(|c| c.percent.is_none_or(|p| p == 0.0)));
        let mut other = fast;
        other.settings.trials.trial_ps = 1;
        other.caveats.interrupted = true;
        assert_eq!(super::diff(&slow, &other).warnings.len(), 2);
    }
}

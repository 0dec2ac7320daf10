//! Stacked bars as inline SVG, with intervals of their sums.

use std::fmt::Write;

use ringway_tester::report::page::escape;
use ringway_tester::report::scale::{short, ticks};

use crate::model::Interval;

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What stands below it.
    pub name: String,
    /// Its parts by name, from below.
    pub parts: Vec<(String, f64)>,
    /// The interval of its sum.
    pub interval: Interval,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
/// Room for labels: left, right, top, bottom.
const MARGIN: [f64; 4] = [84.0, 36.0, 12.0, 32.0];

/// Colours of parts, in the order in which they are met: light enough for dark pages, dark enough for light ones.
const COLOURS: [&str; 10] = [
    "#4878a8", "#e49444", "#d1615d", "#85b6b2", "#6a9f58", "#b8860b", "#a87c9f", "#8a6d5b", "#7f7f9f",
    "#9a9a9a",
];

/// Bars above their names, with a legend of their parts.
#[must_use]
pub fn bars(label: &str, bars: &[Bar]) -> String {
    let label = escape(label);
    let mut out = format!(
        "<figure>\n<figcaption>{label}</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\" class=\"plot\">\n"
    );
    let names = names(bars);
    let most =
        bars.iter().map(|b| b.interval.high.max(sum(b))).filter(|n| n.is_finite()).fold(1e-9, f64::max);
    let y_ticks = ticks(most, short);
    let top = y_ticks.last().map_or(most, |t| t.0);
    let y = |v: f64| HEIGHT - MARGIN[3] - (v / top).clamp(0.0, 1.0) * (HEIGHT - MARGIN[2] - MARGIN[3]);
    for (at, text) in &y_ticks {
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{} {:.1}H{}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            MARGIN[0],
            y(*at),
            WIDTH - MARGIN[1],
            MARGIN[0] - 8.0,
            y(*at) + 4.0,
            escape(text)
        );
    }
    let step = (WIDTH - MARGIN[0] - MARGIN[1]) / bars.len().max(1) as f64;
    for (k, bar) in bars.iter().enumerate() {
        draw(&mut out, bar, &names, (MARGIN[0] + (k as f64 + 0.5) * step, step), &y);
    }
    out + "</svg>\n" + &legend(&names) + "</figure>\n"
}

fn sum(bar: &Bar) -> f64 {
    bar.parts.iter().map(|p| p.1).sum()
}

fn draw(out: &mut String, bar: &Bar, names: &[&str], (middle, step): (f64, f64), y: &impl Fn(f64) -> f64) {
    let width = (step * 0.6).min(60.0);
    let mut below = 0.0;
    for (name, ticks) in &bar.parts {
        let above = below + ticks;
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" style=\"fill:{};stroke:none\"><title>{}: {ticks:.0}</title></rect>",
            middle - width / 2.0,
            y(above),
            (y(below) - y(above)).max(0.0),
            colour(names, name),
            escape(name)
        );
        below = above;
    }
    let (low, high) = (y(bar.interval.low), y(bar.interval.high));
    let _ = writeln!(
        out,
        "<path style=\"stroke:currentColor;fill:none\" d=\"M{middle:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}H{1:.1}M{0:.1} {high:.1}H{1:.1}\"/>\
         <text class=\"tick\" text-anchor=\"middle\" x=\"{middle:.1}\" y=\"{2}\">{3}</text>",
        middle - 4.0,
        middle + 4.0,
        HEIGHT - MARGIN[3] + 22.0,
        escape(&bar.name)
    );
}

/// The names of all parts, in the order in which they are met.
fn names(bars: &[Bar]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in bars.iter().flat_map(|b| &b.parts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn colour(names: &[&str], name: &str) -> &'static str {
    COLOURS[names.iter().position(|n| *n == name).unwrap_or(0) % COLOURS.len()]
}

fn legend(names: &[&str]) -> String {
    let item = |name: &&str| {
        format!(
            "<span><b style=\"color:{}\" aria-hidden=\"true\">&#9632;</b> {}</span>",
            colour(names, name),
            escape(name)
        )
    };
    format!("<p>{}</p>\n", names.iter().map(item).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_on_each_other() {
        let bar = |name: &str| Bar {
            name: name.into(),
            parts: vec![("RX".into(), 60.0), ("T&X".into(), 40.0)],
            interval: Interval { value: 100.0, low: 90.0, high: 110.0 },
        };
        let svg = bars("ticks", &[bar("64"), bar("<128>")]);
        assert_eq!(svg.matches("<rect ").count(), 4);
        assert!(svg.contains("&lt;128&gt;") && svg.contains("T&amp;X: 40") && svg.contains("RX: 60"));
        // The second part of a bar begins where the first one ends.
        let y = |k: usize| {
            svg.split("<rect ").nth(k).and_then(|r| r.split('"').nth(3)?.parse::<f64>().ok()).unwrap()
        };
        let height = |k: usize| {
            svg.split("<rect ").nth(k).and_then(|r| r.split('"').nth(7)?.parse::<f64>().ok()).unwrap()
        };
        assert!((y(2) + height(2) - y(1)).abs() < 0.2, "{svg}");
        assert!(bars("none", &[]).contains("</svg>"));
    }
}

//! Line charts as inline SVG.

use std::fmt::Write;

use crate::demo::page::escape;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
/// Room for labels: left, right, top, bottom.
const MARGIN: [f64; 4] = [96.0, 28.0, 28.0, 40.0];

/// A line of a chart.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Dots only.
    pub(crate) dots: bool,
}

/// A chart with its axes. Ticks are places and texts.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) label: String,
    pub(crate) x_ticks: Vec<(f64, String)>,
    pub(crate) y_ticks: Vec<(f64, String)>,
    pub(crate) series: Vec<Series>,
}

impl Chart {
    /// The picture. Axes go from the first tick to the last.
    pub(crate) fn svg(&self) -> String {
        let label = escape(&self.label);
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\" class=\"plot\">\n<text x=\"{}\" y=\"18\">{label}</text>\n",
            MARGIN[0]
        );
        let ends =
            |ticks: &[(f64, String)]| (ticks.first().map_or(0.0, |t| t.0), ticks.last().map_or(1.0, |t| t.0));
        let ((x0, x1), (y0, y1)) = (ends(&self.x_ticks), ends(&self.y_ticks));
        let share = |v: f64, from: f64, to: f64| {
            if to > from { ((v - from) / (to - from)).clamp(0.0, 1.0) } else { 0.5 }
        };
        let x = |v: f64| MARGIN[0] + share(v, x0, x1) * (WIDTH - MARGIN[0] - MARGIN[1]);
        let y = |v: f64| HEIGHT - MARGIN[3] - share(v, y0, y1) * (HEIGHT - MARGIN[2] - MARGIN[3]);
        let (left, bottom) = (MARGIN[0], HEIGHT - MARGIN[3]);
        // Writing to a String can't fail.
        for (at, text) in &self.y_ticks {
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{left} {0:.1}H{1}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{2}\" y=\"{3:.1}\">{4}</text>",
                y(*at),
                WIDTH - MARGIN[1],
                left - 6.0,
                y(*at) + 4.0,
                escape(text)
            );
        }
        for (k, (at, text)) in self.x_ticks.iter().enumerate() {
            // Long words stay in the picture.
            let anchor = if k > 0 && k + 1 == self.x_ticks.len() { "end" } else { "middle" };
            let _ = writeln!(
                out,
                "<text class=\"tick\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{}\">{}</text>",
                x(*at),
                bottom + 18.0,
                escape(text)
            );
        }
        for (k, series) in self.series.iter().enumerate() {
            out += &line(series, k, &x, &y);
        }
        out + "</svg>\n" + &legend(&self.series)
    }
}

fn line(series: &Series, k: usize, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let mut out = format!("<g class=\"s{}\"><title>{}</title>", k % 7, escape(&series.name));
    if !series.dots {
        let path =
            series.points.iter().enumerate().map(|(n, (px, py))| {
                format!("{}{:.1} {:.1}", if n == 0 { 'M' } else { 'L' }, x(*px), y(*py))
            });
        let _ = write!(out, "<path d=\"{}\"/>", path.collect::<String>());
    }
    for (px, py) in &series.points {
        let _ = write!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>", x(*px), y(*py));
    }
    out + "</g>\n"
}

fn legend(series: &[Series]) -> String {
    let items = series
        .iter()
        .enumerate()
        .map(|(k, s)| format!("<span class=\"s{}\">{}</span>", k % 7, escape(&s.name)));
    format!("<p class=\"legend\">{}</p>\n", items.collect::<Vec<_>>().join(" "))
}

/// Round places from zero to a little above `most`.
pub(crate) fn ticks(most: f64, text: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let most = most.max(1e-9);
    let power = 10f64.powf((most / 4.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|n| n * power)
        .into_iter()
        .find(|s| s * 5.0 >= most)
        .unwrap_or(power * 10.0);
    let n = (most / step).ceil() as u32;
    (0..=n).map(|k| (f64::from(k) * step, text(f64::from(k) * step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        for most in [0.003, 1.0, 7.0, 99.0, 1_488_095.0] {
            let t = ticks(most, |v| v.to_string());
            assert!((3..=7).contains(&t.len()) && t[0].0 == 0.0 && t[t.len() - 1].0 >= most, "{most} {t:?}");
        }
    }

    #[test]
    fn lines_lie_in_the_picture() {
        let series = Series { name: "<a>".into(), points: vec![(0.0, 0.0), (10.0, 99.0)], dots: false };
        let chart = Chart {
            label: "l & m".into(),
            x_ticks: ticks(10.0, |v| v.to_string()),
            y_ticks: ticks(99.0, |v| v.to_string()),
            series: vec![series],
        };
        let svg = chart.svg();
        let [left, right, _, bottom] = MARGIN;
        let line = format!("M{left:.1} {:.1}L{:.1} ", HEIGHT - bottom, WIDTH - right);
        assert!(
            svg.contains(&line) && svg.contains("&lt;a&gt;") && svg.contains("l &amp; m"),
            "{line} {svg}"
        );
    }
}

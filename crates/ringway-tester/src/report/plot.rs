//! Charts as inline SVG.

use std::fmt::Write;

use super::page::escape;
use super::scale::Tick;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
/// Room for labels: left, right, top, bottom.
const MARGIN: [f64; 4] = [84.0, 36.0, 12.0, 32.0];
/// Colours of series; more start again.
const COLOURS: usize = 7;

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Dots, joined.
    Line,
    /// Joined points without dots, which are too many.
    Curve,
    /// Dots.
    Dots,
    /// Rings, which leave what they lie on to be seen.
    Rings,
    /// A bar for each point, up from the axis.
    Bars,
    /// What could be at best: a broken line behind all that was measured.
    Theory,
}

/// Points that belong together.
#[derive(Debug)]
pub struct Series {
    /// What the legend calls them.
    pub name: String,
    /// Places in the units of the axes.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub mark: Mark,
}

impl Series {
    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, mark: Mark::Line }
    }

    /// The same points, drawn in another way.
    pub fn marked(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }
}

/// A chart with its axes, which go from the first tick to the last.
#[derive(Debug)]
pub struct Chart {
    /// What it shows.
    pub label: String,
    /// Places on the axis below.
    pub x_ticks: Vec<Tick>,
    /// Places on the axis to the left.
    pub y_ticks: Vec<Tick>,
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Chart {
    /// The picture, what it shows above and its lines below.
    pub fn figure(&self) -> String {
        let label = escape(&self.label);
        let mut out = format!(
            "<figure>\n<figcaption>{label}</figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\" class=\"plot\">\n"
        );
        let place = Place::of(self);
        place.grid(&mut out, &self.y_ticks);
        place.words(&mut out, &self.x_ticks);
        let named = self.classes();
        // What is drawn later lies above.
        let (theory, measured): (Vec<_>, Vec<_>) = named.iter().partition(|(s, _)| s.mark == Mark::Theory);
        for (series, class) in theory.into_iter().chain(measured) {
            place.draw(&mut out, series, class);
        }
        out + "</svg>\n" + &legend(&named) + "</figure>\n"
    }

    /// Series with the names of their styles.
    fn classes(&self) -> Vec<(&Series, String)> {
        let mut colours = (0..COLOURS).cycle();
        let mut class = |s: &Series| match s.mark {
            Mark::Theory => "theory".to_owned(),
            _ => format!("s{}", colours.next().unwrap_or_default()),
        };
        self.series.iter().map(|s| (s, class(s))).collect()
    }
}

/// Where values lie in the picture.
struct Place {
    x: (f64, f64),
    y: (f64, f64),
}

impl Place {
    fn of(chart: &Chart) -> Self {
        let ends = |ticks: &[Tick]| (ticks.first().map_or(0.0, |t| t.0), ticks.last().map_or(1.0, |t| t.0));
        let (from, to) = ends(&chart.x_ticks);
        // A bar needs room at both sides.
        let side = if chart.series.iter().any(|s| s.mark == Mark::Bars) { 0.5 } else { 0.0 };
        Self { x: (from - side, to + side), y: ends(&chart.y_ticks) }
    }

    fn x(&self, v: f64) -> f64 {
        MARGIN[0] + share(v, self.x) * (WIDTH - MARGIN[0] - MARGIN[1])
    }

    fn y(&self, v: f64) -> f64 {
        HEIGHT - MARGIN[3] - share(v, self.y) * (HEIGHT - MARGIN[2] - MARGIN[3])
    }

    /// Lines across, with their values.
    fn grid(&self, out: &mut String, ticks: &[Tick]) {
        let [left, right, ..] = MARGIN;
        for (at, text) in ticks {
            let y = self.y(*at);
            // Writing to a String can't fail.
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{left} {y:.1}H{}\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
                WIDTH - right,
                left - 8.0,
                y + 4.0,
                escape(text)
            );
        }
    }

    /// Values below. On narrow screens only every second one is shown, the last among them.
    fn words(&self, out: &mut String, ticks: &[Tick]) {
        let last = ticks.len().saturating_sub(1);
        for (k, (at, text)) in ticks.iter().enumerate() {
            let class = if last > 3 && (last - k) % 2 == 1 { "tick second" } else { "tick" };
            let _ = writeln!(
                out,
                "<text class=\"{class}\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{}\">{}</text>",
                self.x(*at),
                HEIGHT - MARGIN[3] + 22.0,
                escape(text)
            );
        }
    }

    fn draw(&self, out: &mut String, series: &Series, class: &str) {
        let _ = write!(out, "<g class=\"{class}\"><title>{}</title>", escape(&series.name));
        match series.mark {
            Mark::Bars => self.bars(out, series),
            Mark::Dots => self.dots(out, series, "r=\"3\""),
            Mark::Rings => self.dots(out, series, "r=\"7\" class=\"ring\""),
            Mark::Theory => match series.points[..] {
                [(_, y)] => self.across(out, y),
                _ => self.line(out, series),
            },
            Mark::Curve => self.line(out, series),
            Mark::Line => {
                self.line(out, series);
                self.dots(out, series, "r=\"3\"");
            }
        }
        *out += "</g>\n";
    }

    fn line(&self, out: &mut String, series: &Series) {
        let step = |(n, &(x, y)): (usize, &(f64, f64))| {
            format!("{}{:.1} {:.1}", if n == 0 { 'M' } else { 'L' }, self.x(x), self.y(y))
        };
        let path: String = series.points.iter().enumerate().map(step).collect();
        let _ = write!(out, "<path d=\"{path}\"/>");
    }

    /// A line needs two points; one is shown from side to side.
    fn across(&self, out: &mut String, y: f64) {
        let _ = write!(out, "<path d=\"M{} {:.1}H{}\"/>", MARGIN[0], self.y(y), WIDTH - MARGIN[1]);
    }

    fn dots(&self, out: &mut String, series: &Series, look: &str) {
        for &(x, y) in &series.points {
            let _ = write!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" {look}/>", self.x(x), self.y(y));
        }
    }

    fn bars(&self, out: &mut String, series: &Series) {
        let width = (self.x(1.0) - self.x(0.0)).min(80.0) * 0.6;
        for &(x, y) in &series.points {
            let top = self.y(y);
            let _ = write!(
                out,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
                self.x(x) - width / 2.0,
                (HEIGHT - MARGIN[3] - top).max(1.0)
            );
        }
    }
}

fn share(v: f64, (from, to): (f64, f64)) -> f64 {
    if to > from { ((v - from) / (to - from)).clamp(0.0, 1.0) } else { 0.5 }
}

/// The lines by name. Bars are named by the chart.
fn legend(named: &[(&Series, String)]) -> String {
    let lines = named.iter().filter(|(s, _)| s.mark != Mark::Bars);
    let items: Vec<_> =
        lines.map(|(s, class)| format!("<span class=\"{class}\">{}</span>", escape(&s.name))).collect();
    if items.is_empty() {
        return String::new();
    }
    format!("<p class=\"legend\">{}</p>\n", items.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::scale::ticks;

    fn chart(series: Vec<Series>) -> Chart {
        let axis = |most| ticks(most, |v| v.to_string());
        Chart { label: "l & m".into(), x_ticks: axis(10.0), y_ticks: axis(99.0), series }
    }

    #[test]
    fn lines_lie_in_the_picture() {
        let svg = chart(vec![Series::line("<a>", vec![(0.0, 0.0), (10.0, 99.0)])]).figure();
        let [left, right, _, bottom] = MARGIN;
        let line = format!("M{left:.1} {:.1}L{:.1} ", HEIGHT - bottom, WIDTH - right);
        for part in [&line, "&lt;a&gt;", "<figcaption>l &amp; m</figcaption>"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn theory_lies_behind_what_was_measured_and_takes_no_colour() {
        let line = |name: &str| Series::line(name, vec![(0.0, 1.0), (1.0, 2.0)]);
        let svg = chart(vec![line("one"), line("best").marked(Mark::Theory), line("two")]).figure();
        let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("{text}: {svg}"));
        let theory = at("<g class=\"theory\"><title>best");
        assert!(theory < at("<g class=\"s0\"><title>one"));
        assert!(at("<title>one") < at("<g class=\"s1\"><title>two"));
        assert!(!svg[theory..at("<title>one")].contains("<circle"), "{svg}");
        assert!(svg.contains("<span class=\"theory\">best</span>"), "{svg}");
        let one = chart(vec![Series::line("best", vec![(0.0, 1.0)]).marked(Mark::Theory)]).figure();
        assert!(one.contains(&format!("H{}\"/></g>", WIDTH - MARGIN[1])), "{one}");
    }

    #[test]
    fn bars_stand_on_the_axis_within_the_picture() {
        let bars = Series::line("b", vec![(0.0, 50.0), (10.0, 99.0)]).marked(Mark::Bars);
        let svg = chart(vec![bars]).figure();
        assert_eq!(svg.matches("<rect ").count(), 2, "{svg}");
        assert!(!svg.contains("legend") && !svg.contains("<circle") && !svg.contains("x=\"-"), "{svg}");
    }

    #[test]
    fn a_curve_has_no_dots() {
        let curve = Series::line("c", vec![(0.0, 1.0), (10.0, 9.0)]).marked(Mark::Curve);
        let svg = chart(vec![curve]).figure();
        assert!(
            svg.contains("<path d=\"M84.0") && !svg.contains("<circle") && svg.contains("legend"),
            "{svg}"
        );
    }

    #[test]
    fn every_second_word_can_give_way_but_the_last() {
        let svg = chart(Vec::new()).figure();
        let words: Vec<_> = svg.lines().filter(|l| l.contains("\"middle\"")).collect();
        let seconds = words.iter().filter(|l| l.contains("second")).count();
        assert_eq!((words.len(), seconds), (6, 3), "{svg}");
        assert!(!words[5].contains("second"), "{svg}");
    }
}

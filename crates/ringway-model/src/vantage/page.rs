//! Stages as a page of its own.

use ringway_tester::report::page::{escape, head, origin, section, whole};

use super::report::{About, CARE, HEADS, rows};
use super::{Rounds, stages};
use crate::sweep::bars::{Bar, bars};

/// The whole page.
#[must_use]
pub fn html(about: &About, rounds: &Rounds, command: &str) -> String {
    let title = "Cost of a packet by stages";
    let labels = [
        format!("tier D: vantage points, in {}", about.clock.unit()),
        about.load.clone(),
        format!(
            "{} rounds{}",
            rounds.len(),
            if rounds.partial { ", partial: rounds are missing" } else { "" }
        ),
    ];
    let mut body = head(title, about.device.name(), &labels);
    body += &origin(&about.conditions, command, true);
    body += "</header>\n";
    let care = format!("<p>{}</p>\n", escape(CARE));
    body += &section("Stages", &picture(about, rounds), &HEADS, &rows(about, rounds), &care);
    whole(title, &body)
}

/// A bar for each place, with the stages until there.
fn picture(about: &About, rounds: &Rounds) -> String {
    let (ticks, found) = (about.clock.ticks_per_ns(), stages(rounds));
    let part = |k: usize| (found[k].stage.to_owned(), (found[k].stage_ns.value * ticks).max(0.0));
    let bar = |k: usize| Bar {
        name: found[k].place.into(),
        parts: (0..=k).map(part).collect(),
        interval: found[k].until_ns.times(ticks),
    };
    bars("Ticks a packet that ends at each place", &(0..found.len()).map(bar).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vantage::report::tests::about;
    use crate::vantage::stages::tests::rounds;
    use ringway_tester::report::check::faults;

    #[test]
    fn pages_are_whole() {
        let page = html(&about(), &rounds(), "ringway prof vantage");
        assert_eq!(faults(&page), Vec::<String>::new());
        assert_eq!(page.matches("<rect ").count(), 6);
    }
}

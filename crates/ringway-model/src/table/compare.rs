//! What changed from one profile to another, and whether it is more than chance.

use serde::{Deserialize, Serialize};

use super::{Cost, Costs};

/// The change of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The group.
    pub group: String,
    /// Before and after: ticks a packet where both profiles counted packets, else shares from 0 to 1.
    pub before: f64,
    /// As above.
    pub after: f64,
    /// Both are right within this, in 95 of 100 cases.
    pub before_error: f64,
    /// As above.
    pub after_error: f64,
    /// Whether the intervals do not overlap.
    pub significant: bool,
}

/// The change of each group, in the order of tables. A group that one of the profiles does not have had nothing there.
#[must_use]
pub fn changes(before: &Costs, after: &Costs) -> Vec<Change> {
    let ticks = is_in_ticks(before, after);
    let mut names: Vec<&str> = after.groups.iter().map(|g| g.group.as_str()).collect();
    names.extend(before.groups.iter().map(|g| g.group.as_str()).filter(|name| after.group(name).is_none()));
    let value = |cost: Option<&Cost>| match cost {
        None => (0.0, 0.0),
        Some(cost) if ticks => (cost.ticks.unwrap_or_default(), cost.ticks_error.unwrap_or_default()),
        Some(cost) => (cost.share, cost.error),
    };
    let change = |name: &str| {
        let ((before, before_error), (after, after_error)) =
            (value(before.group(name)), value(after.group(name)));
        let significant = (after - before).abs() > before_error + after_error;
        Change { group: name.to_owned(), before, after, before_error, after_error, significant }
    };
    names.into_iter().map(change).collect()
}

/// Whether both profiles have ticks of one kind.
#[must_use]
pub fn is_in_ticks(before: &Costs, after: &Costs) -> bool {
    before.total.is_some() && after.total.is_some() && (before.unit == "cycles") == (after.unit == "cycles")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Groups;
    use crate::testing::profile;

    fn costs(poll: u64, free: u64) -> Costs {
        Costs::of(
            &profile(&[("a poll", poll), ("a free", free)]),
            &Groups::parse("RX ^poll\nfree ^free").unwrap(),
        )
    }

    #[test]
    fn chance_is_no_change() {
        let significant =
            |a: &Costs, b: &Costs| changes(a, b).iter().map(|c| c.significant).collect::<Vec<_>>();
        assert_eq!(significant(&costs(500, 500), &costs(530, 470)), [false, false, false]);
        assert_eq!(significant(&costs(50_000, 50_000), &costs(53_000, 47_000)), [true, true, false]);
        let change = &changes(&costs(1, 1), &costs(3, 1))[0];
        assert_eq!((change.before, change.after), (0.5, 0.75));
    }
}

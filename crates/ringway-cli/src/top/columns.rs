//! The columns of the table: what they are called, how wide they are, which of them fit.

use std::cmp::Ordering;

use ringway_watch::rates::Rates;

use super::row::Row;
use crate::units::short;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Port,
    Pid,
    RxPps,
    RxBits,
    RxWire,
    TxPps,
    TxBits,
    TxWire,
    Drops,
    Dropped,
    PerSync,
    Busy,
    Cpu,
    Owner,
}

use Column::{
    Busy, Cpu, Dropped, Drops, Owner, PerSync, Pid, Port, RxBits, RxPps, RxWire, TxBits, TxPps, TxWire,
};

/// Least width of the column of names.
const NAME: usize = 12;

/// Names of programs, as Linux keeps them, are no longer.
const OWNER: usize = 15;

impl Column {
    /// All that a table can be sorted by, from left to right; [`Column::Owner`] comes after them where there is room.
    pub(super) const ALL: [Self; 13] =
        [Port, Pid, RxPps, RxBits, RxWire, TxPps, TxBits, TxWire, Drops, Dropped, PerSync, Busy, Cpu];

    pub(super) fn title(self) -> &'static str {
        match self {
            Port => "PORT",
            Pid => "PID",
            RxPps => "RX pps",
            RxBits => "RX bit",
            RxWire => "RXwire",
            TxPps => "TX pps",
            TxBits => "TX bit",
            TxWire => "TXwire",
            Drops => "DROP/s",
            Dropped => "DROPS",
            PerSync => "/SYNC",
            Busy => "BUSY",
            Cpu => "CPU",
            Owner => "OWNER",
        }
    }

    /// Least width. That of names grows with the names.
    pub(super) fn width(self) -> usize {
        match self {
            Port => NAME,
            Pid => 7,
            PerSync | Cpu => 5,
            Busy => 4,
            Owner => OWNER,
            _ => 6,
        }
    }

    /// Columns that fit into `width`, from left to right, and the width of that of names. The most telling ones win; of
    /// both kinds of bit rates there is one until both fit. The column of names is no wider than the longest name: the eye
    /// would lose the row.
    pub(super) fn fit(width: usize, wire: bool, longest: usize) -> (Vec<Self>, usize) {
        let payload = [RxBits, TxBits];
        let on_wire = [RxWire, TxWire];
        let (first, second) = if wire { (on_wire, payload) } else { (payload, on_wire) };
        let wanted: [&[Self]; 9] =
            [&[RxPps, TxPps], &[Drops], &first, &[Busy], &[Cpu], &[PerSync], &[Dropped], &[Pid], &second];
        let mut left = width.saturating_sub(NAME);
        let mut taken = vec![Port];
        for group in wanted {
            let need: usize = group.iter().map(|c| c.width() + 1).sum();
            if need <= left {
                left -= need;
                taken.extend(group);
            }
        }
        let more = left.min(longest.saturating_sub(NAME));
        let mut columns: Vec<Self> = Self::ALL.into_iter().filter(|c| taken.contains(c)).collect();
        if taken.len() == Self::ALL.len() && left - more > OWNER {
            columns.push(Owner);
        }
        (columns, NAME.min(width) + more)
    }

    /// What the column says of a row; `-` for what is not known yet, or not counted.
    pub(super) fn text(self, row: &Row<'_>) -> String {
        let known = |n: Option<f64>| n.map_or_else(|| "-".into(), short);
        match self {
            Port => row.name(),
            Pid => row.pid().map_or_else(|| "-".into(), |pid| pid.to_string()),
            Owner => row.owner().map_or_else(|| "-".into(), |o| shorten(&o.command, OWNER)),
            Dropped => short(row.dropped() as f64),
            Busy | Cpu => self.value(row).map_or_else(|| "-".into(), percent),
            _ => known(self.value(row)),
        }
    }

    /// Whether it has words, which start at its left edge, and not numbers, which end at its right one.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Port | Owner)
    }

    /// The number behind the text.
    fn value(self, row: &Row<'_>) -> Option<f64> {
        let rx = |pick: fn(Rates) -> f64| row.port()?.rx.map(pick);
        let tx = |pick: fn(Rates) -> f64| row.port()?.tx.map(pick);
        let both = |pick: fn(Rates) -> f64| row.port()?.both.map(pick);
        match self {
            Port | Owner => None,
            Pid => row.pid().map(f64::from),
            RxPps => row.rx_pps(),
            RxBits => rx(|r| r.bps),
            RxWire => rx(|r| r.wire_bps),
            TxPps => row.tx_pps(),
            TxBits => tx(|r| r.bps),
            TxWire => tx(|r| r.wire_bps),
            Drops => row.drops(),
            Dropped => Some(row.dropped() as f64),
            PerSync => both(|r| r.per_sync),
            Busy => both(|r| r.busy),
            Cpu => row.cpus(),
        }
    }

    /// Names from a to z, numbers from the largest down; what is equal stays in the order of names.
    pub(super) fn order(self, a: &Row<'_>, b: &Row<'_>) -> Ordering {
        let by_name = || (a.name(), a.pid()).cmp(&(b.name(), b.pid()));
        match self {
            Port => by_name(),
            Pid => a.pid().cmp(&b.pid()).then_with(by_name),
            _ => {
                let value = |r: &Row<'_>| self.value(r).unwrap_or(-1.0);
                value(b).total_cmp(&value(a)).then_with(by_name)
            }
        }
    }
}

/// A share, such as `75%`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// `text` in `width` characters: the middle of what is too long is left out, so that the file or number at the end stays.
pub(super) fn shorten(text: &str, width: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= width {
        return text.to_owned();
    }
    if width < 4 {
        return chars[..width].iter().collect();
    }
    let (head, tail) = ((width - 2).div_ceil(2), (width - 2) / 2);
    let parts = [&chars[..head], &['.', '.'], &chars[chars.len() - tail..]];
    parts.concat().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_usual_terminal_has_all_but_the_second_bit_rates() {
        let (columns, name) = Column::fit(80, true, 99);
        assert_eq!(columns.len(), 11);
        assert!(!columns.contains(&RxBits) && columns.contains(&RxWire) && columns.contains(&Cpu));
        assert!((NAME..=14).contains(&name), "{name}");
        assert!(Column::fit(80, false, 99).0.contains(&TxBits));
        assert_eq!(Column::fit(40, true, 99).0, [Port, RxPps, TxPps, Drops, Busy]);
        assert_eq!(Column::fit(12, true, 99), (vec![Port], 12));
        assert_eq!(Column::fit(0, true, 99), (vec![Port], 0));
        assert_eq!(Column::fit(100, true, 99).0, Column::ALL);
    }

    #[test]
    fn a_wide_terminal_has_names_no_wider_than_they_are() {
        for (width, longest, name, owner) in
            [(200, 20, 20, true), (200, 5, NAME, true), (200, 120, 119, false), (120, 26, 26, false)]
        {
            let (columns, found) = Column::fit(width, true, longest);
            assert_eq!((found, columns.contains(&Owner)), (name, owner), "{width} {longest}");
        }
    }

    proptest! {
        #[test]
        fn columns_fit_and_names_take_what_is_left(width in 0usize..300, wire: bool, longest in 0usize..300) {
            let (columns, name) = Column::fit(width, wire, longest);
            let others: usize = columns[1..].iter().map(|c| c.width() + 1).sum();
            prop_assert!(name + others <= width);
            prop_assert!(name >= longest.max(NAME).min(width) || name + others == width);
            prop_assert!(columns.iter().all(|c| c.title().len() <= c.width()));
        }

        #[test]
        fn shortened_texts_fit_and_keep_their_ends(text in "\\PC{0,40}", width in 0usize..30) {
            let cut = shorten(&text, width);
            prop_assert!(cut.chars().count() <= width);
            prop_assert_eq!(cut == text, text.chars().count() <= width);
            prop_assert!(width == 0 || cut.chars().next() == text.chars().next());
            prop_assert!(width < 4 || cut.chars().last() == text.chars().last());
        }
    }
}

//! Do accounts close? Each frame that entered must have left or be a named drop.
//!
//! Pure functions over plain data: [`Books`] hold the [`Account`]s of a port, or of anything else that counts frames.
//! Read them twice: two readings tell traffic under way from frames that nobody counted.
//!
//! A reading of counters that move is no picture of one moment. But counters grow, so at any moment between two
//! readings what was missing lay between
//!
//! ```text
//!  least: entered at the first reading  - gone (left or dropped) at the second
//!  most:  entered at the second reading - gone at the first
//! ```
//!
//! Frames are missing for certain when even the least is more than may be under way, and too many left when even the most is
//! less than nothing.

/// One account, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Unique within its books, such as `rx0`.
    pub name: String,
    /// Frames that came in.
    pub entered: u64,
    /// Frames that went out.
    pub left: u64,
    /// Frames that were lost, with a name.
    pub dropped: u64,
    /// Most frames that may be half counted while counters move: a sync corrects what it counted.
    pub slack: u64,
    /// Most frames that may rest inside: entered long ago, neither left nor dropped.
    pub holds: u64,
}

/// The accounts of one port, or of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    /// Of the port or switch.
    pub name: String,
    /// The process, where there is one.
    pub pid: Option<u32>,
    /// Tells it from others of the same name and process.
    pub number: u32,
    /// What has to close.
    pub accounts: Vec<Account>,
}

/// What two readings of an account say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It closes.
    Ok,
    /// Frames are under way, or counters moved.
    Busy,
    /// So many frames at least are neither under way nor counted, or left without having entered.
    Open(u64),
}

/// What two readings of books say.
#[derive(Debug)]
pub struct Verdict {
    /// As they were at the second reading.
    pub books: Books,
    /// Of each account.
    pub states: Vec<State>,
}

impl Account {
    /// Frames that have entered, but neither left nor were dropped: below 0 when more left than entered.
    pub fn gap(&self) -> i64 {
        difference(self.entered, self.gone())
    }

    /// Most frames that the gap may be now.
    pub fn bound(&self) -> u64 {
        self.slack.saturating_add(self.holds)
    }

    fn gone(&self) -> u64 {
        self.left.wrapping_add(self.dropped)
    }

    fn moved_since(&self, before: &Self) -> bool {
        (self.entered, self.left, self.dropped) != (before.entered, before.left, before.dropped)
    }

    /// What this reading and an earlier one say.
    pub fn judge(&self, before: &Self) -> State {
        let moved = self.moved_since(before);
        let slack = if moved { self.slack } else { 0 };
        let least = difference(before.entered, self.gone());
        let most = difference(self.entered, before.gone());
        let missing = excess(least, self.holds.saturating_add(slack));
        let surplus = excess(most.saturating_neg(), slack);
        match missing.max(surplus) {
            0 if moved || least > 0 => State::Busy,
            0 => State::Ok,
            frames => State::Open(frames),
        }
    }
}

/// `a - b`, for counters that may have wrapped.
fn difference(a: u64, b: u64) -> i64 {
    a.wrapping_sub(b) as i64
}

/// By how much `n` is above `limit`.
fn excess(n: i64, limit: u64) -> u64 {
    u64::try_from(n).unwrap_or(0).saturating_sub(limit)
}

/// What two readings say of all that was there both times.
pub fn compare(before: &[Books], now: Vec<Books>) -> Vec<Verdict> {
    let same = |a: &Books, b: &Books| (&a.name, a.pid, a.number) == (&b.name, b.pid, b.number);
    let judge = |books: Books| {
        let earlier = before.iter().find(|b| same(b, &books))?;
        let judge = |account: Account| {
            let earlier = earlier.accounts.iter().find(|e| e.name == account.name)?;
            Some((account.judge(earlier), account))
        };
        let (states, accounts) = books.accounts.into_iter().filter_map(judge).unzip();
        Some(Verdict { books: Books { accounts, ..books }, states })
    };
    now.into_iter().filter_map(judge).collect()
}

impl Verdict {
    /// The worst of all accounts; frames of open ones add up.
    pub fn state(&self) -> State {
        let add = |all, one| match (all, one) {
            (State::Open(a), State::Open(b)) => State::Open(a.saturating_add(b)),
            (State::Open(n), _) | (_, State::Open(n)) => State::Open(n),
            (State::Busy, _) | (_, State::Busy) => State::Busy,
            _ => State::Ok,
        };
        self.states.iter().copied().fold(State::Ok, add)
    }

    /// Whether an account does not close.
    pub fn is_open(&self) -> bool {
        matches!(self.state(), State::Open(_))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn account(entered: u64, left: u64, dropped: u64) -> Account {
        Account { name: "rx0".into(), entered, left, dropped, slack: 16, holds: 0 }
    }

    fn judge(before: (u64, u64, u64), now: (u64, u64, u64)) -> State {
        let of = |(entered, left, dropped)| account(entered, left, dropped);
        of(now).judge(&of(before))
    }

    #[test]
    fn resting_accounts_close_or_do_not() {
        for (counts, state) in [
            ((0, 0, 0), State::Ok),
            ((10, 7, 3), State::Ok),
            ((10, 7, 2), State::Open(1)),
            ((10, 7, 4), State::Open(1)),
            ((0, 5, 0), State::Open(5)),
            // A frame counted as delivered in one place and taken back in another.
            ((5, u64::MAX, 6), State::Ok),
        ] {
            assert_eq!(judge(counts, counts), state, "{counts:?}");
        }
    }

    #[test]
    fn moving_accounts_are_busy_unless_frames_are_missing_for_certain() {
        for (before, now, state) in [
            ((10, 10, 0), (20, 20, 0), State::Busy),
            ((10, 10, 0), (20, 10, 0), State::Busy),
            // The rest of 1000 left before the second reading.
            ((1000, 10, 0), (1000, 1000, 0), State::Busy),
            // 1000 had entered, 16 may be half counted: 84 of them are nowhere.
            ((1000, 890, 0), (1000, 900, 0), State::Open(84)),
            ((1000, 890, 0), (1005, 890, 10), State::Open(84)),
            ((1000, 890, 0), (2000, 1900, 0), State::Busy),
            // 500 left, but only 401 had entered even later.
            ((400, 400, 100), (401, 400, 101), State::Open(99 - 16)),
        ] {
            assert_eq!(judge(before, now), state, "{before:?} {now:?}");
        }
    }

    #[test]
    fn what_may_rest_inside_is_no_loss() {
        let holds = |entered| Account { holds: 8, ..account(entered, 90, 2) };
        for (entered, state) in [
            (92, State::Ok),
            (93, State::Busy),
            (100, State::Busy),
            (101, State::Open(1)),
            (91, State::Open(1)),
        ] {
            assert_eq!(holds(entered).judge(&holds(entered)), state, "{entered}");
        }
    }

    #[test]
    fn what_was_not_there_both_times_is_left_out() {
        let books =
            |name: &str, number, accounts| Books { name: name.into(), pid: Some(7), number, accounts };
        let good = |name: &str| Account { name: name.into(), ..account(5, 5, 0) };
        let bad = |name: &str| Account { name: name.into(), ..account(5, 3, 0) };
        let before =
            [books("a", 0, vec![bad("gone"), good("rx0"), bad("rx1"), bad("rx2")]), books("b", 1, vec![])];
        let now = vec![
            books("a", 0, vec![good("rx0"), bad("new"), bad("rx1"), bad("rx2")]),
            books("b", 2, vec![good("rx0")]),
        ];
        let verdicts = compare(&before, now);
        assert_eq!(verdicts.len(), 1);
        assert_eq!(verdicts[0].states, [State::Ok, State::Open(2), State::Open(2)]);
        assert_eq!((verdicts[0].state(), verdicts[0].is_open()), (State::Open(4), true));
    }

    proptest! {
        /// Frames may enter and leave in any order, and each counter may be read at any time: books that are kept right are
        /// never called open. With nothing moving a loss is found to the frame.
        #[test]
        fn good_books_are_never_called_open(steps in prop::collection::vec((0u64..16, 0u64..16, 0u64..4), 4..40),
                                            reads in prop::collection::vec(0usize..40, 6)) {
            let mut counts = vec![(0u64, 0u64, 0u64)];
            let mut now = (0, 0, 0);
            for (enter, leave, lose) in steps {
                now.0 += enter;
                let inside = now.0 - now.1 - now.2;
                now.2 += lose.min(inside);
                now.1 += leave.max(inside.saturating_sub(16)).min(now.0 - now.1 - now.2);
                counts.push(now);
            }
            // Six readings, one after the other: entered, left, dropped, and again.
            let mut at: Vec<usize> = reads.iter().map(|r| r % counts.len()).collect();
            at.sort_unstable();
            let read = |at: &[usize]| account(counts[at[0]].0, counts[at[1]].1, counts[at[2]].2);
            let (first, second) = (read(&at[..3]), read(&at[3..]));
            if second.moved_since(&first) {
                prop_assert!(!matches!(second.judge(&first), State::Open(_)), "{first:?} {second:?}");
            }
            let end = account(now.0, now.1, now.2);
            let lost = now.0 - now.1 - now.2;
            let expected = if lost == 0 { State::Ok } else { State::Open(lost) };
            prop_assert_eq!(end.judge(&end), expected);
        }
    }
}

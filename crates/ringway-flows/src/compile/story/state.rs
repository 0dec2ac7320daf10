//! In which state a connection is, as the story goes.

use super::compiler::{Compiler, Done};
use super::scope::State;
use crate::code::{Kind, Transport};
use crate::lang::{Diagnostic, Span, Story};

impl Compiler<'_, '_> {
    /// The state of a connection.
    pub(super) fn state(&self, slot: u8) -> State {
        self.states.as_ref().and_then(|states| states.get(usize::from(slot)).copied()).unwrap_or(State::Never)
    }

    /// Sets the state of a connection.
    pub(super) fn set_state(&mut self, slot: u8, state: State) {
        if let Some(place) = self.states.as_mut().and_then(|states| states.get_mut(usize::from(slot))) {
            *place = state;
        }
    }

    /// The error about a connection in the wrong state.
    pub(super) fn wrong_state(&self, slot: u8, span: Span, what: &str) -> Diagnostic {
        let name = self.slot_name(slot);
        let (words, place) = self.state(slot).words();
        let diagnostic = Diagnostic::new(span, format!("`{name}` is {words}"), what);
        match place {
            Some(place) => diagnostic.and(place, "closed here"),
            None => diagnostic,
        }
    }

    /// The name of a connection.
    pub(super) fn slot_name(&self, slot: u8) -> String {
        self.slots
            .get(usize::from(slot))
            .and_then(Option::as_ref)
            .map_or_else(String::new, |slot| slot.name.clone())
    }

    /// Goes on with the states where two ways meet, which must be the same.
    pub(super) fn meet(&mut self, other: Option<Vec<State>>, span: Span) -> Done {
        let (Some(mine), Some(theirs)) = (&self.states, &other) else {
            if self.states.is_none() {
                self.states = other;
            }
            return Ok(());
        };
        // A connection that only one of the ways has opened and closed is closed behind both.
        let settled = |state: State| matches!(state, State::Never | State::Closed(_));
        let open = |state: State| matches!(state, State::Open | State::Silent);
        let alike = |one, other| (settled(one) && settled(other)) || (open(one) && open(other));
        let differs = |i: &usize| !(mine[*i].same(theirs[*i]) || alike(mine[*i], theirs[*i]));
        let Some(slot) = (0..mine.len()).find(differs) else {
            // Where the opener of a UDP connection may not have sent, the other end can't.
            let pairs = mine.iter().zip(theirs);
            let met = pairs
                .map(|(one, other)| if matches!(other, State::Silent) { *other } else { *one })
                .collect();
            self.states = Some(met);
            return Ok(());
        };
        let (one, other) = (mine[slot].words().0, theirs[slot].words().0);
        let message =
            format!("`{}` is {one} behind one way, and {other} behind another", self.slot_name(slot as u8));
        Err(Diagnostic::new(span, message, "the ways meet at the end of this statement")
            .help("open and close connections in each way alike, or outside of this statement"))
    }

    /// At the end of a story each TCP connection is closed.
    pub(super) fn end_states(&self, story: &Story) -> Done {
        let Some(states) = &self.states else { return Ok(()) };
        for (i, state) in states.iter().enumerate() {
            let tcp = self.slots[i].as_ref().is_some_and(|slot| slot.transport == Transport::Tcp);
            if !tcp || matches!(state, State::Never | State::Closed(_)) {
                continue;
            }
            let name = self.slot_name(i as u8);
            let ways = if self.kind == Kind::Attack { ", reset or abandon" } else { " or reset" };
            let message = format!("`{name}` is {} at the end of `{}`", state.words().0, story.name.node);
            return Err(Diagnostic::new(self.declared.slots[i], message, "opened here")
                .help(format!("add `{name} > close` (or `<`), or use close{ways}")));
        }
        Ok(())
    }
}

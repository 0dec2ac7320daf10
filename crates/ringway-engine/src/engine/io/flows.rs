//! Received frames to the receivers that their flows are pinned to.
//!
//! When receivers come or go, flows move. So that a flow keeps its order, the I/O thread then stops to receive until each
//! receiver has done with what it has, and goes on by the new plan. First it adopts what waits for receivers that left. A
//! receiver that is stuck leaves by the engine's patience, so nobody waits for it longer than that.

use std::sync::atomic::Ordering::Relaxed;

use super::super::bell::Bell;
use super::super::flow::bucket;
use super::super::lanes::{Flows, Lanes, Plan, Way};
use super::super::shared::Shared;
use super::super::spread::NOBODY;
use super::super::token::Token;
use crate::queue::Block;

/// One I/O thread's way to receivers.
pub(super) struct FlowOut {
    me: usize,
    plan: Plan,
    /// The number of the newest plan that it knows.
    seen: u32,
    /// That plan, until it is followed.
    next: Option<Plan>,
    /// A block for each receiver.
    out: Vec<Option<Block<Token>>>,
    /// Frames that went to each receiver.
    pushed: Vec<u64>,
    /// Receivers that left and whose frames are to be adopted. One that left later may have had a flow before one that left
    /// earlier, so the last one comes first.
    leaving: Vec<Leaving>,
    /// A receiver's block is full, and so is its queue.
    stuck: bool,
    /// Frames may be received.
    open: bool,
}

/// A receiver that left, and frames out of its queue.
struct Leaving {
    at: usize,
    block: Option<Block<Token>>,
}

impl FlowOut {
    pub(super) fn new(me: usize, receivers: usize) -> Self {
        Self {
            me,
            plan: Plan::empty(),
            seen: 0,
            next: None,
            out: (0..receivers).map(|_| None).collect(),
            pushed: vec![0; receivers],
            leaving: Vec::with_capacity(receivers),
            stuck: false,
            open: false,
        }
    }

    /// Frames in hand.
    pub(super) fn held(&self) -> usize {
        let leaving = self.leaving.iter().map(|leaving| &leaving.block);
        self.out.iter().chain(leaving).flatten().map(Block::len).sum()
    }

    /// Whether flows move now.
    pub(super) fn is_moving(&self) -> bool {
        self.next.is_some() || !self.leaving.is_empty()
    }

    /// Whether frames may be received: some receiver is there, and no flow moves.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The number of the newest plan that it knows.
    pub(super) fn seen(&self) -> u32 {
        self.seen
    }

    /// Whether there is no room for one more frame of any flow.
    pub(super) fn is_held_back(&self) -> bool {
        self.stuck
    }

    /// Puts a frame into the block of its receiver. There is room, unless this [is held back](Self::is_held_back).
    pub(super) fn place(&mut self, shared: &Shared, token: Token) -> Result<(), Token> {
        let receiver = self.plan.table[bucket(token.bytes(&shared.region))];
        if receiver == NOBODY {
            return Err(token);
        }
        let at = usize::from(receiver);
        let slot = &mut self.out[at];
        if slot.is_none() {
            *slot = shared.store.block();
        }
        let Some(block) = slot else { return Err(token) };
        block.push(token)?;
        if block.free() == 0 {
            self.stuck |= !self.hand_over(shared, at);
        }
        Ok(())
    }

    /// Puts the block of a receiver into its queue.
    fn hand_over(&mut self, shared: &Shared, at: usize) -> bool {
        let Some(block) = self.out[at].as_mut().filter(|block| !block.is_empty()) else { return true };
        let Way::Flows(flows) = &shared.way else { return true };
        let Some(lanes) = flows.receiver(at) else { return true };
        let count = block.len();
        count_delivered(shared, block, 1);
        if lanes.lanes[self.me].queue.put(block) {
            self.pushed[at] += count as u64;
            shared.holders.bell(lanes.row()).into_iter().for_each(Bell::ring);
            return true;
        }
        count_delivered(shared, block, u64::MAX);
        false
    }

    /// Puts all blocks into queues; false when one is full.
    pub(super) fn hand_over_all(&mut self, shared: &Shared) -> bool {
        self.stuck = false;
        for at in 0..self.out.len() {
            if self.plan.has(at) {
                self.stuck |= !self.hand_over(shared, at);
            }
        }
        !self.stuck
    }

    /// Lets go of frames in blocks that are full; `release` gets each of them.
    pub(super) fn drop_full(&mut self, mut release: impl FnMut(Token)) {
        for block in self.out.iter_mut().flatten().filter(|block| block.free() == 0) {
            while let Some(token) = block.pop() {
                release(token);
            }
        }
        self.stuck = false;
    }

    /// Lets go of all frames in hand; `release` gets each of them.
    pub(super) fn drop_all(&mut self, mut release: impl FnMut(Token)) {
        let leaving = self.leaving.iter_mut().map(|leaving| &mut leaving.block);
        for block in self.out.iter_mut().chain(leaving).flatten() {
            while let Some(token) = block.pop() {
                release(token);
            }
        }
    }

    /// Follows the plan; false while flows move, so that nothing may be received.
    pub(super) fn follow(&mut self, shared: &Shared, flows: &Flows) -> bool {
        if let Some(plan) = flows.plan_since(&mut self.seen) {
            self.next = Some(plan);
        }
        if self.next.is_some() {
            self.hand_over_all(shared);
        }
        if self.next.as_ref().is_some_and(|next| !self.is_busy(next, flows)) {
            self.plan = self.next.take().unwrap_or_else(Plan::empty);
        }
        self.open = self.next.is_none() && self.adopt(shared, flows) && !self.plan.receivers.is_empty();
        self.open
    }

    /// Whether some receiver of the plan has frames that it has not done with. One that left while the next plan has it still
    /// has frames in its queue, and a newer plan comes, by which they are adopted.
    fn is_busy(&self, next: &Plan, flows: &Flows) -> bool {
        let busy = |at: usize, lanes: &Lanes| {
            if !lanes.has_joined() {
                return next.has(at);
            }
            lanes.lanes[self.me].finished() < self.pushed[at]
                || self.out[at].as_ref().is_some_and(|block| !block.is_empty())
        };
        flows.ever_joined().any(|(at, lanes)| self.plan.has(at) && busy(at, lanes))
    }

    /// Places frames of receivers that left; false when there is no room for all.
    fn adopt(&mut self, shared: &Shared, flows: &Flows) -> bool {
        for (at, lanes) in flows.ever_joined() {
            let known = self.plan.has(at) || self.leaving.iter().any(|leaving| leaving.at == at);
            if lanes.is_left_to(self.me) && !known {
                self.leaving.push(Leaving { at, block: None });
            }
        }
        while let Some(mut last) = self.leaving.pop() {
            let done = self.adopt_from(shared, flows, &mut last);
            if !done {
                self.leaving.push(last);
                return false;
            }
            if let Some(lanes) = flows.receiver(last.at) {
                self.pushed[last.at] = lanes.lanes[self.me].finished();
                lanes.note_adopted(self.me);
            }
        }
        true
    }

    /// Places what is in the queue of a receiver that left, then what is in its block, which is younger.
    fn adopt_from(&mut self, shared: &Shared, flows: &Flows, leaving: &mut Leaving) -> bool {
        let Some(lanes) = flows.receiver(leaving.at) else { return true };
        let lane = &lanes.lanes[self.me];
        if leaving.block.is_none() {
            leaving.block = shared.store.block();
        }
        let Some(block) = &mut leaving.block else { return false };
        loop {
            if !self.place_all(shared, block) {
                return false;
            }
            if lane.queue.take(block) {
                lane.finish(block.len());
                count_delivered(shared, block, u64::MAX);
            } else if let Some(out) = self.out[leaving.at].as_mut().filter(|out| !out.is_empty()) {
                std::mem::swap(out, block);
            } else {
                return true;
            }
        }
    }

    /// Places all frames of a block; false when some are left.
    fn place_all(&mut self, shared: &Shared, block: &mut Block<Token>) -> bool {
        if block.is_empty() {
            return true;
        }
        if self.plan.receivers.is_empty() || (self.stuck && !self.hand_over_all(shared)) {
            return false;
        }
        while !self.stuck
            && let Some(token) = block.pop()
        {
            let refused = self.place(shared, token);
            debug_assert!(refused.is_ok(), "some receiver is there, and has room");
        }
        block.is_empty()
    }
}

/// Counts the frames of a block as delivered by their ports, or takes that back.
fn count_delivered(shared: &Shared, block: &Block<Token>, each: u64) {
    for token in block.tokens() {
        if let Some(port) = shared.ports.get(usize::from(token.from)) {
            port.delivered.fetch_add(each, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::burst::Burst;
    use super::super::super::lanes::Delivery;
    use super::*;
    use crate::Engine;

    /// A receiver leaves while flows move away from it, and the plan without it can't be had yet.
    #[test]
    fn flows_wait_for_the_frames_of_a_receiver_that_just_left() {
        let builder = Engine::builder().port("loop:").delivery(Delivery::Flows);
        let (shared, mut workers, _) = builder.parts().unwrap();
        let (Way::Flows(flows), worker) = (&shared.way, &mut workers[0]) else { panic!("flows are pinned") };
        let [mut first, mut second] = [0; 2].map(|_| Burst::new(&shared).unwrap());
        first.join_receivers().unwrap();
        assert!(worker.may_deliver());
        let token = worker.home.make(60).unwrap();
        let out = worker.flows.as_mut().unwrap();
        out.place(&shared, token).unwrap();
        assert!(out.hand_over_all(&shared));
        second.join_receivers().unwrap();
        assert!(!worker.may_deliver(), "the first one has a frame");
        drop(first);
        let stopped = flows.plan();
        assert!(!worker.may_deliver(), "its frame would come after later ones");
        drop(stopped);
        assert!(worker.may_deliver());
        assert!(worker.flows.as_mut().unwrap().hand_over_all(&shared));
        assert_eq!(second.take().unwrap(), 1);
    }
}

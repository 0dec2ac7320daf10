//! Packets of attacks.

use crate::code::{Field, Instr};
use crate::machine::message::MatchState;
use crate::transport::net::Way;
use crate::transport::net::hosts::HostId;
use crate::transport::net::neighbours::Resolution;

use super::fields::value;
use super::run::Step;
use super::wire::has_room;
use super::{Failure, Shard, Wire};

impl Shard {
    /// Sends one packet of a raw template.
    pub(super) fn op_raw(&mut self, id: u32, instr: Instr, now: u64, wire: &mut impl Wire) -> Step {
        let side = self.contexts[id].end();
        let Some((from, to)) = self.raw_hosts(id, instr) else { return Step::Failed(Failure::NoPort) };
        let mac = match self.nets[side as usize].resolve(from, to, now) {
            Resolution::Known(mac) if has_room(wire, side) => mac,
            Resolution::Unreachable => return Step::Failed(Failure::Unreachable),
            _ => {
                // The same packet goes when there is a way: a scan leaves out no host.
                self.contexts[id].matched = MatchState::at((u64::from(from.0) << 32 | u64::from(to.0)) + 1);
                return Step::Wait;
            }
        };
        self.contexts[id].matched = MatchState::default();
        let Self { bundle, nets, raws, random, tally, .. } = self;
        let (raw, state) = (&bundle.raws[instr.c as usize], &mut raws[instr.c as usize]);
        let template = bundle.template(raw.template);
        wire.send(side, |out| {
            let draw = |at: usize, field: &Field| {
                value(field.fill, state.sent, state.steps.get(at).copied().unwrap_or(1), random)
            };
            let len = nets[side as usize].raw(out, Way { from, to, mac }, raw, template, draw);
            tally.sent(len)
        });
        state.sent += 1;
        Step::Next
    }

    /// The hosts of the next packet, or of the one that waits.
    fn raw_hosts(&mut self, id: u32, instr: Instr) -> Option<(HostId, HostId)> {
        if let Some(hosts) = self.contexts[id].matched.position().checked_sub(1) {
            return Some((HostId((hosts >> 32) as u32), HostId(hosts as u32)));
        }
        let raw = self.bundle.raws.get(instr.c as usize)?;
        let (source, target) = (raw.source, raw.target);
        let Self { raws, random, .. } = self;
        let any = raws[instr.c as usize].any.as_mut();
        let from = any.map(|(first, choice)| HostId(*first + choice.next(random)));
        let from = match from {
            Some(from) => from,
            None => self.choose(source)?,
        };
        Some((from, self.choose(target)?))
    }
}

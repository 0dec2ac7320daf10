//! Packets of attacks.

use crate::code::{Field, Instr};
use crate::transport::net::Way;
use crate::transport::net::neighbours::Resolution;

use super::fields::value;
use super::run::Step;
use super::wire::has_room;
use super::{Failure, Shard, Wire};

impl Shard {
    /// Sends one packet of a raw template.
    pub(super) fn op_raw(&mut self, id: u32, instr: Instr, now: u64, wire: &mut impl Wire) -> Step {
        let side = self.contexts[id].end();
        let Some(raw) = self.bundle.raws.get(instr.c as usize) else { return Step::Failed(Failure::Check) };
        let (source, target) = (raw.source, raw.target);
        let hosts = self.choose(source).zip(self.choose(target));
        let Some((from, to)) = hosts else { return Step::Failed(Failure::NoPort) };
        let mac = match self.nets[side as usize].resolve(from, to, now) {
            Resolution::Known(mac) if has_room(wire, side) => mac,
            Resolution::Unreachable => return Step::Failed(Failure::Unreachable),
            _ => return Step::Wait,
        };
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
}

//! One story with its arguments becomes the programs of both ends.
//!
//! A walk over the statements appends to both programs at the same time: what one end sends, the other expects. Each number knows which end
//! has it ([`Num`](super::num::Num)); an end that needs a number that it does not have is an error.

mod bind;
mod branch;
mod call;
mod compiler;
mod control;
mod dns;
mod eval;
mod http;
mod lower;
mod matching;
mod open;
mod plan;
mod raw;
mod scope;
mod send;
mod sides;
mod state;
mod text;
mod ways;

use std::collections::HashMap;
use std::rc::Rc;

use super::constant::{Argument, Given};
use super::emit::Emitter;
use super::estimate::Estimator;
use super::global::{Global, MAX_ERRORS};
use crate::code::{Connection, Flow, Instr, Kind, Op};
use crate::lang::{Block, Diagnostic, Span, Stmt, StmtKind, Story};
use compiler::{Compiler, Done};
use scope::{Binding, State};

/// Most names that can be used at the same time.
const MAX_NAMES: usize = 1_000;

/// Compiles a story. `None`: errors have been noted.
pub(super) fn compile(
    global: &mut Global<'_>,
    story: &Rc<Story>,
    name: &str,
    args: &[Argument],
) -> Option<Flow> {
    let declared = match plan::declared(story) {
        Ok(declared) => declared,
        Err(diagnostic) => {
            global.error(diagnostic);
            return None;
        }
    };
    let count = declared.slots.len();
    let mut compiler = Compiler {
        global,
        kind: if story.attack { Kind::Attack } else { Kind::Story },
        emit: [Emitter::default(), Emitter::default()],
        names: Vec::new(),
        learned: Vec::new(),
        declared,
        connections: vec![None; count],
        slots: vec![None; count],
        states: Some(vec![State::Never; count]),
        only: None,
        used: 0,
        region: 0,
        regions: 0,
        chosen: HashMap::new(),
        loops: 0,
        in_branch: false,
        measuring: false,
        asked: false,
        retried: false,
        counters: Vec::new(),
        latencies: Vec::new(),
        estimate: Estimator::default(),
        parameters: Vec::new(),
        failed: false,
    };
    if let Err(diagnostic) = compiler.story(story, args) {
        compiler.note(diagnostic);
    }
    compiler.finish(name)
}

impl Compiler<'_, '_> {
    /// The whole story: its first connection, its parameters, its other statements.
    fn story(&mut self, story: &Story, args: &[Argument]) -> Done {
        for (name, given) in args {
            if let Given::Place(place, v4) = given {
                self.names.push((name.clone(), Binding::Place(*place, *v4)));
            }
        }
        let mut rest = story.body.as_slice();
        if let [first, behind @ ..] = rest
            && let StmtKind::Open { opening: crate::lang::Opening::Tcp | crate::lang::Opening::Udp, .. } =
                first.node
            && !self.needs_draw(first, args)
        {
            self.bind_constants(args);
            self.statement(first, None);
            rest = behind;
        } else {
            self.bind_constants(args);
        }
        self.draw_parameters(story, args)?;
        let raw = matches!(rest.first().map(|first| &first.node), Some(StmtKind::Raw { .. }));
        if rest.len() == story.body.len() && self.kind == Kind::Story && !self.failed && !raw {
            let span = rest.first().map_or(story.name.span, |first| first.span);
            return Err(Diagnostic::new(span, "a flow begins with its first connection", "not a connection")
                .help("for example: tcp c = inside -> outside : 80  timeout 5 s"));
        }
        self.statements(rest);
        if self.failed {
            return Ok(());
        }
        if self.slots.iter().flatten().any(|slot| slot.retry > 0) && !self.retried {
            return Err(Diagnostic::new(
                story.name.span,
                "`retry` has no request with a reply",
                "in this flow",
            )
            .help("put the reply of the server directly behind the request of the client"));
        }
        self.end_states(story)?;
        self.both(Instr::new(Op::End, 0, 0, 0), story.name.span)
    }

    /// Statements of a block. Names, registers and knowledge of the block end with it.
    fn block(&mut self, block: &Block) {
        let (names, learned) = (self.names.len(), self.learned.len());
        let in_use = self.emit.each_ref().map(|emit| emit.in_use);
        let questions: Vec<_> =
            self.slots.iter().map(|slot| slot.as_ref().and_then(|s| s.question.clone())).collect();
        self.asked = false;
        self.statements(block);
        self.asked = false;
        let span = block.last().map_or_else(Span::default, |last| last.span);
        if let Err(diagnostic) = self.end_of_block(names, span) {
            self.note(diagnostic);
        }
        self.names.truncate(names);
        self.learned.truncate(learned);
        for (emit, in_use) in self.emit.iter_mut().zip(in_use) {
            emit.in_use = in_use;
        }
        for (slot, question) in self.slots.iter_mut().zip(questions) {
            if let Some(slot) = slot {
                slot.question = question;
            }
        }
    }

    /// Statements one after the other. An error in one does not hide those in others.
    fn statements(&mut self, block: &[Stmt]) {
        let mut rest = block;
        while let [first, behind @ ..] = rest {
            let taken = self.statement(first, behind.first());
            rest = behind.get(taken..).unwrap_or(&[]);
        }
    }

    /// One statement, and the one behind it if both belong together. Says whether it took that one too, as a number.
    fn statement(&mut self, stmt: &Stmt, next: Option<&Stmt>) -> usize {
        if self.global.errors.len() >= MAX_ERRORS {
            return 0;
        }
        let before = self.emit.each_ref().map(|emit| emit.in_use);
        if self.names.len() > MAX_NAMES {
            self.note(Diagnostic::new(
                stmt.span,
                "a story has more than 1000 names at the same time",
                "one too many",
            ));
            return 0;
        }
        if self.states.is_none() && !self.failed {
            self.note(Diagnostic::new(stmt.span, "nothing can follow a `fail`", "never runs"));
            return 0;
        }
        let (keep, taken) = match self.one(stmt, next) {
            Ok((keep, taken)) => (keep, taken),
            Err(diagnostic) => {
                self.note(diagnostic);
                self.poison(stmt);
                ([u16::MAX; 2], 0)
            }
        };
        for ((emit, before), keep) in self.emit.iter_mut().zip(before).zip(keep) {
            emit.in_use &= before | keep;
        }
        taken
    }

    /// One statement: the registers that stay in use behind it, and whether the next one was taken too.
    fn one(&mut self, stmt: &Stmt, next: Option<&Stmt>) -> Done<([u16; 2], usize)> {
        let (all, none) = ([u16::MAX; 2], [0; 2]);
        match &stmt.node {
            StmtKind::Open { opening, name, sides, settings } => {
                self.open(stmt.span, *opening, name, sides, settings)?;
                Ok((all, 0))
            }
            StmtKind::Raw { protocol, sides, settings } => {
                self.raw(stmt.span, protocol, sides, settings)?;
                Ok((none, 0))
            }
            StmtKind::Send { connection, client, what, settings } => {
                let taken = self.send(stmt.span, (connection, *client), what, settings, next)?;
                // Numbers that an end has taken from the message stay known.
                Ok((self.bound_registers(), taken))
            }
            StmtKind::Let(name, expr) => {
                self.bind(name, expr)?;
                Ok((all, 0))
            }
            other => {
                self.control(stmt.span, other)?;
                Ok((none, 0))
            }
        }
    }

    /// What the story has become. `None`: errors have been noted.
    fn finish(self, name: &str) -> Option<Flow> {
        self.global.instructions += self.emit.iter().map(Emitter::len).sum::<usize>();
        let connections: Vec<Connection> = self.connections.iter().flatten().cloned().collect();
        if self.failed || connections.len() != self.connections.len() {
            return None;
        }
        let [client, server] = self.emit;
        let name = self.global.tables.name(name);
        Some(Flow {
            name,
            kind: self.kind,
            connections,
            parameters: self.parameters,
            counters: self.counters,
            latencies: self.latencies,
            client: client.finish(),
            server: server.finish(),
            estimate: self.estimate.finish(),
        })
    }
}

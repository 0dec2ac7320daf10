//! A story while it is compiled: what all steps share.

use std::collections::HashMap;

use super::scope::{Binding, Declared, Slot, State};
use crate::code::{Connection, End, Instr, Kind, Parameter};
use crate::compile::emit::{Emitter, Full};
use crate::compile::estimate::Estimator;
use crate::compile::global::Global;
use crate::compile::num::Num;
use crate::lang::{Diagnostic, Span};

/// Both ends.
pub(super) const ENDS: [End; 2] = [End::Client, End::Server];

/// A story while it is compiled.
pub(super) struct Compiler<'g, 'a> {
    pub(super) global: &'g mut Global<'a>,
    pub(super) kind: Kind,
    pub(super) emit: [Emitter; 2],
    /// Names that can be used here. The last one counts.
    pub(super) names: Vec<(String, Binding)>,
    /// Numbers that an end has taken from a message, and its register.
    pub(super) learned: Vec<(Num, End, u8)>,
    /// Connections that the story declares, by the place of the declaration.
    pub(super) declared: Declared,
    pub(super) connections: Vec<Option<Connection>>,
    pub(super) slots: Vec<Option<Slot>>,
    /// In which state each connection is. `None` behind a `fail`, which nothing follows.
    pub(super) states: Option<Vec<State>>,
    /// Only this end runs what is compiled.
    pub(super) only: Option<End>,
    /// Connections that a branch uses, one bit each.
    pub(super) used: u8,
    /// The innermost loop or branch around the statement, and how many there were so far.
    pub(super) region: u32,
    pub(super) regions: u32,
    /// Where the port of a connection was chosen, in which loop or branch, and the end that chose it.
    pub(super) chosen: HashMap<u8, (u32, End)>,
    /// Loops around the statement.
    pub(super) loops: usize,
    /// Inside a branch of `parallel`.
    pub(super) in_branch: bool,
    /// Inside `measure`.
    pub(super) measuring: bool,
    /// The client has asked something, whose reply is measured.
    pub(super) asked: bool,
    /// A retry has found a request with its reply.
    pub(super) retried: bool,
    pub(super) counters: Vec<u32>,
    pub(super) latencies: Vec<u32>,
    pub(super) estimate: Estimator,
    pub(super) parameters: Vec<Parameter>,
    pub(super) failed: bool,
}

/// What a step gives, or an error.
pub(super) type Done<T = ()> = Result<T, Diagnostic>;

impl Compiler<'_, '_> {
    /// Notes an error.
    pub(super) fn note(&mut self, diagnostic: Diagnostic) {
        self.failed = true;
        self.global.error(diagnostic);
    }

    /// Appends an instruction to the program of an end.
    pub(super) fn put(&mut self, end: End, instr: Instr, span: Span) -> Done {
        if self.only.is_some_and(|only| only != end) {
            return Ok(());
        }
        self.emit[end as usize].push(instr).map_err(|full| too_much(full, span))
    }

    /// Appends an instruction to both programs.
    pub(super) fn both(&mut self, instr: Instr, span: Span) -> Done {
        ENDS.into_iter().try_for_each(|end| self.put(end, instr, span))
    }

    /// A free register of an end.
    pub(super) fn register(&mut self, end: End, span: Span) -> Done<u8> {
        self.emit[end as usize].register().map_err(|full| too_much(full, span))
    }
}

/// The error about a program that is too large.
pub(super) fn too_much(full: Full, span: Span) -> Diagnostic {
    match full {
        Full::Registers => Diagnostic::new(
            span,
            "a story has more than 16 values at the same time",
            "there is no room for this one",
        )
        .help("let values end with a block, or use fewer of them"),
        Full::Instructions => Diagnostic::new(
            span,
            "a story has more than 65536 instructions",
            "there is no room for this statement",
        ),
    }
}

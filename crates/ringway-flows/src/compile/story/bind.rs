//! Names: parameters, `let`, and what they mean.

use super::compiler::{Compiler, Done, ENDS};
use super::scope::Binding;
use crate::code::{Dist, End, Instr, Op, Parameter, Shape};
use crate::compile::constant::{Argument, Given, Names, unknown};
use crate::compile::num::{Held, Node, Num};
use crate::compile::part::Part;
use crate::lang::{Diagnostic, Expr, ExprKind, Ident, MICRO, Number, Span, Stmt, StmtKind, Story, Unit};

impl Compiler<'_, '_> {
    /// The meaning of a name.
    pub(super) fn lookup(&self, name: &str) -> Option<Binding> {
        if let Some((_, binding)) = self.names.iter().rev().find(|(known, _)| known == name) {
            return Some(binding.clone());
        }
        match self.global.given(name)? {
            Given::Number(number) => Some(number_binding(number)),
            Given::Text(bytes) => Some(Binding::Text(vec![Part::bytes(bytes)])),
            Given::Place(place, v4) => Some(Binding::Place(place, v4)),
            Given::Dist(..) => None,
        }
    }

    /// The error about a name that means nothing.
    pub(super) fn unknown(&self, name: &str, span: Span) -> Diagnostic {
        match name.split_once('.').map(|(connection, _)| self.lookup(connection)) {
            Some(Some(Binding::Wrong)) => Diagnostic::silent(),
            _ => unknown(name, span, self),
        }
    }

    /// An end of a connection: `ctl.server`.
    pub(super) fn side(&self, name: &str) -> Option<(u8, End)> {
        let (connection, end) = name.split_once('.')?;
        let end = match end {
            "client" => End::Client,
            "server" => End::Server,
            _ => return None,
        };
        match self.lookup(connection) {
            Some(Binding::Connection(slot)) => Some((slot, end)),
            _ => None,
        }
    }

    /// Whether a statement needs a parameter that is drawn.
    pub(super) fn needs_draw(&self, stmt: &Stmt, args: &[Argument]) -> bool {
        let StmtKind::Open { sides, .. } = &stmt.node else { return false };
        let Some(Expr { node: ExprKind::Name(name), .. }) = &sides.port else { return false };
        args.iter().any(|(arg, given)| arg == name && matches!(given, Given::Dist(..)))
    }

    /// Binds the parameters that are the same in each flow.
    pub(super) fn bind_constants(&mut self, args: &[Argument]) {
        for (name, given) in args {
            let binding = match given {
                Given::Number(number) => number_binding(*number),
                Given::Text(bytes) => Binding::Text(vec![Part::bytes(bytes.clone())]),
                Given::Dist(..) | Given::Place(..) => continue,
            };
            self.names.push((name.clone(), binding));
        }
    }

    /// Draws the other parameters, in the order of the story.
    pub(super) fn draw_parameters(&mut self, story: &Story, args: &[Argument]) -> Done {
        for (param, (name, given)) in story.params.iter().zip(args) {
            let dist = match given {
                Given::Dist(dist, unit) => {
                    let num = self.draw(dist, *unit, param.name.span)?;
                    self.names.push((name.clone(), Binding::Number(num)));
                    dist.clone()
                }
                Given::Number(number)
                    if number.micro.is_multiple_of(MICRO) && number.micro / MICRO <= 1 << 62 =>
                {
                    let value = (number.micro / MICRO) as u64;
                    Dist { shape: Shape::Const, lo: value, hi: value }
                }
                _ => continue,
            };
            let (name, dist) = (self.global.tables.name(name), self.global.tables.dist(&dist));
            self.parameters.push(Parameter { name, dist });
        }
        Ok(())
    }

    /// A number that both ends draw alike.
    pub(super) fn draw(&mut self, dist: &Dist, unit: Unit, span: Span) -> Done<Num> {
        if dist.lo == dist.hi {
            return Ok(Num::constant(dist.lo, unit));
        }
        if self.only.is_some() {
            return Err(Diagnostic::new(span, "a draw is made by both ends", "only one end runs this")
                .help("draw it in front of this `if`"));
        }
        let index = self.global.tables.dist(dist);
        let mut held = [Held::Unknown; 2];
        for end in ENDS {
            let reg = self.register(end, span)?;
            self.put(end, Instr::new(Op::Rand, reg, 0, index), span)?;
            held[end as usize] = Held::Register(reg);
        }
        let mut num = Num::leaf(held, span, "drawn by both ends", unit, (dist.lo, dist.hi));
        num.mean = dist.mean();
        Ok(num)
    }

    /// `let x = ...`
    pub(super) fn bind(&mut self, name: &Ident, expr: &Expr) -> Done {
        if matches!(self.lookup(&name.node), Some(Binding::Connection(_))) {
            return Err(Diagnostic::new(
                name.span,
                format!("`{}` is a connection", name.node),
                "a value needs another name",
            ));
        }
        let binding = match &expr.node {
            ExprKind::Call(call) if call.name.node == "ephemeral" => {
                Binding::Number(self.ephemeral(name, call)?)
            }
            _ if self.is_text(expr) => Binding::Text(self.parts(expr)?),
            _ => {
                let num = self.number(expr)?;
                Binding::Number(self.hold(num, expr.span)?)
            }
        };
        self.names.push((name.node.clone(), binding));
        Ok(())
    }

    /// Puts the result of an operation into a register of each end that can have it, so that it is not made again at each use.
    fn hold(&mut self, num: Num, span: Span) -> Done<Num> {
        if !matches!(&*num.node, Node::Result(..)) {
            return Ok(num);
        }
        let (mut held, mut origin) = ([Held::Unknown; 2], (span, "made from values of one end"));
        for end in ENDS {
            match num.lacks(end) {
                Some(lack) => origin = lack,
                None if self.only.is_some_and(|only| only != end) => {}
                None => held[end as usize] = Held::Register(self.materialize(end, &num, span)?),
            }
        }
        let mut leaf = Num::leaf(held, origin.0, origin.1, num.unit, (num.lo, num.hi));
        leaf.mean = num.mean;
        Ok(leaf)
    }

    /// `let p = ephemeral(server)`: the port of a connection that the story opens later.
    fn ephemeral(&mut self, name: &Ident, call: &crate::lang::Call) -> Done<Num> {
        let args = crate::compile::arguments::arguments(call, &["end"])?;
        let end = end_of(args[0])?;
        let Some(slot) = self.declared.ports.get(&name.span).copied() else {
            return Err(Diagnostic::new(
                name.span,
                format!("no connection goes to port `{}`", name.node),
                "chosen for nothing",
            )
            .help(format!("open one: tcp data = ctl.client -> ctl.server : {}", name.node)));
        };
        if slot == 0 || self.only.is_some() {
            return Err(Diagnostic::new(
                call.name.span,
                "an end can't choose this port",
                "not for this connection",
            ));
        }
        let span = call.name.span;
        if self.chosen.insert(slot, (self.region, end)).is_some() {
            return Err(Diagnostic::new(name.span, "a connection has one port", "a second one for it")
                .help("put one port into the message that the connection follows"));
        }
        let reg = self.register(end, span)?;
        self.put(end, Instr::new(Op::Ephemeral, reg, u16::from(slot), 0), span)?;
        self.put(end, Instr::new(Op::Listen, slot, u16::from(reg), 0), span)?;
        let mut held = [Held::Unknown; 2];
        held[end as usize] = Held::Register(reg);
        let how = if end == End::Client { "chosen by the client" } else { "chosen by the server" };
        Ok(Num::leaf(held, name.span, how, Unit::One, (1, 65_535)))
    }

    /// Marks what a wrong statement would have bound, so that no more errors follow from it.
    pub(super) fn poison(&mut self, stmt: &Stmt) {
        let name = match &stmt.node {
            StmtKind::Let(name, _) | StmtKind::Open { name, .. } => name.node.clone(),
            StmtKind::Send { settings, .. } => {
                for word in ["as", "count"] {
                    if let Some(name) = super::plan::name_of(settings, word) {
                        self.names.push((name.to_owned(), Binding::Wrong));
                    }
                }
                return;
            }
            _ => return,
        };
        self.names.push((name, Binding::Wrong));
    }

    /// The registers of numbers that have names, of each end.
    pub(super) fn bound_registers(&self) -> [u16; 2] {
        let mut bits = [0; 2];
        for (_, binding) in &self.names {
            let (Binding::Number(num) | Binding::Reply(Some((.., num)))) = binding else { continue };
            if let Node::Leaf { held, .. } = &*num.node {
                for (bits, held) in bits.iter_mut().zip(held) {
                    if let Held::Register(reg) = held {
                        *bits |= 1 << reg;
                    }
                }
            }
        }
        bits
    }

    /// The register of a number that an end has taken from a message.
    pub(super) fn learned(&self, end: End, num: &Num) -> Option<u8> {
        let is =
            |(known, who, _): &&(Num, End, u8)| *who == end && std::rc::Rc::ptr_eq(&known.node, &num.node);
        self.learned.iter().rev().find(is).map(|(.., reg)| *reg)
    }

    /// An end has taken a number from a message: from here on it knows it.
    pub(super) fn learn(&mut self, end: End, num: &Num, reg: u8) {
        let Node::Leaf { held, origin, how } = &*num.node else { return };
        let mut held = *held;
        held[end as usize] = Held::Register(reg);
        let mut known = Num::leaf(held, *origin, how, num.unit, (num.lo, num.hi));
        known.mean = num.mean;
        // A name that nobody can write keeps the register as long as the block lasts.
        self.names.push((" taken".to_owned(), Binding::Number(known.clone())));
        self.learned.push((num.clone(), end, reg));
        let is = |other: &Num| std::rc::Rc::ptr_eq(&other.node, &num.node);
        let again: Vec<_> = self
            .names
            .iter()
            .filter_map(|(name, binding)| match binding {
                Binding::Number(other) if is(other) => Some((name.clone(), Binding::Number(known.clone()))),
                Binding::Reply(Some((slot, side, other))) if is(other) => {
                    Some((name.clone(), Binding::Reply(Some((*slot, *side, known.clone())))))
                }
                _ => None,
            })
            .collect();
        self.names.extend(again);
    }
}

/// `client` or `server`.
pub(super) fn end_of(expr: &Expr) -> Done<End> {
    match &expr.node {
        ExprKind::Name(name) if name == "client" => Ok(End::Client),
        ExprKind::Name(name) if name == "server" => Ok(End::Server),
        _ => Err(Diagnostic::new(expr.span, "an end is `client` or `server`", "neither of them")),
    }
}

/// What a number means.
fn number_binding(number: Number) -> Binding {
    if number.micro.is_multiple_of(MICRO) {
        Binding::Number(Num::constant((number.micro / MICRO) as u64, number.unit))
    } else {
        Binding::Fraction(number)
    }
}

impl Names for Compiler<'_, '_> {
    fn given(&self, name: &str) -> Option<Given> {
        match self.names.iter().rev().find(|(known, _)| known == name) {
            None => self.global.given(name),
            Some((_, Binding::Number(num))) => num
                .value()
                .map(|value| Given::Number(Number { micro: u128::from(value) * MICRO, unit: num.unit })),
            Some((_, Binding::Fraction(number))) => Some(Given::Number(*number)),
            Some((_, Binding::Place(place, v4))) => Some(Given::Place(*place, *v4)),
            Some((_, Binding::Text(parts))) => match parts.as_slice() {
                [Part::Bytes(bytes)] => Some(Given::Text(bytes.to_vec())),
                _ => None,
            },
            Some(_) => None,
        }
    }

    fn candidates(&self) -> Vec<String> {
        let own = self.names.iter().map(|(name, _)| name.clone());
        own.chain(self.global.candidates())
            .chain(super::call::WORDS.iter().map(|word| (*word).to_owned()))
            .collect()
    }

    fn place(&self, address: std::net::IpAddr, span: Span) -> Result<Given, Diagnostic> {
        self.global.place(address, span)
    }

    fn rows(&self, file: &str, span: Span) -> Result<Vec<Expr>, Diagnostic> {
        self.global.rows(file, span)
    }
}

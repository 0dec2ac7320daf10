//! The syntax tree: a file as its author wrote it.

use std::net::IpAddr;

use super::{Ident, Number, Span, Spanned};

/// An operation between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `mod`
    Mod,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `and`
    And,
    /// `or`
    Or,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Its name, if it has one.
    pub name: Option<Ident>,
    /// Its value.
    pub value: Expr,
}

/// A call: `http.get(path = "/")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name, with dots.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Arg>,
}

/// What a value is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A number.
    Number(Number),
    /// Bytes.
    Text(Vec<u8>),
    /// A name, with dots: `size`, `ctl.server`.
    Name(String),
    /// A call.
    Call(Call),
    /// An address.
    Address(IpAddr),
    /// `not x`
    Not(Box<Expr>),
    /// Two values and an operation.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `lo..hi`
    Range(Box<Expr>, Box<Expr>),
    /// `x clamp lo..hi`, or `x max hi` with no low end.
    Clamp(Box<Expr>, Option<Box<Expr>>, Box<Expr>),
    /// Values one after the other: `"USER " user "\r\n"`.
    Join(Vec<Expr>),
    /// A row of a table: `10: 1 KiB`.
    Row(Box<Expr>, Box<Expr>),
}

/// A value.
pub type Expr = Spanned<ExprKind>;

/// The sides of a connection, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Where it comes from.
    pub from: Expr,
    /// `*` behind it: any address of the pool, in each packet.
    pub from_any: bool,
    /// Where it goes.
    pub to: Expr,
    /// The port, unless the target says it.
    pub port: Option<Expr>,
}

/// An option: a word with what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The word.
    pub name: Ident,
    /// What follows.
    pub value: Option<Expr>,
}

/// What a declaration of a connection makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A TCP connection.
    Tcp,
    /// A UDP connection.
    Udp,
    /// An attempt to open a TCP connection.
    Probe,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Bytes.
    Bytes(Expr),
    /// `close`
    Close,
    /// `half_close`
    HalfClose,
    /// `reset`
    Reset,
    /// `abandon`
    Abandon,
}

/// A statement of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// `tcp c = inside -> outside : 80`
    Open {
        /// What is opened.
        opening: Opening,
        /// Its name.
        name: Ident,
        /// From where to where.
        sides: Sides,
        /// `timeout`, `retry`, `window`, `half_open`, `as`.
        settings: Vec<Setting>,
    },
    /// `raw tcp inside* -> target : 80 flags S`
    Raw {
        /// `tcp`, `udp`, `icmp` or `ip`.
        protocol: Ident,
        /// From where to where.
        sides: Sides,
        /// Fields and how they are filled.
        settings: Vec<Setting>,
    },
    /// `c > "text"`
    Send {
        /// The connection.
        connection: Ident,
        /// The client sends, not the server.
        client: bool,
        /// What is sent.
        what: What,
        /// `as`, `count`, `match`.
        settings: Vec<Setting>,
    },
    /// `let x = 1..4`
    Let(Ident, Expr),
    /// `check x == 4`
    Check(Expr),
    /// `fail "reason"`
    Fail(Ident),
    /// `count part`, `count part n`
    Count(Ident, Option<Expr>),
    /// `repeat n { }`, `repeat n as i { }`
    Repeat(Expr, Option<Ident>, Block),
    /// `choose { 30 % { } 70 % { } }`
    Choose(Vec<(Expr, Block)>),
    /// `if x { } else { }`
    If(Expr, Block, Option<Block>),
    /// `think exp(20 ms) max 1 s`, `think server 5 ms`
    Think {
        /// The server waits, not the client.
        server: bool,
        /// How long.
        time: Expr,
    },
    /// `parallel { { } { } }`
    Parallel(Vec<Block>),
    /// `measure login { }`
    Measure(Ident, Block),
}

/// A statement with its place.
pub type Stmt = Spanned<StmtKind>;

/// Statements between braces.
pub type Block = Vec<Stmt>;

/// A parameter of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its default.
    pub default: Option<Expr>,
}

/// A story or an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// An attack.
    pub attack: bool,
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its statements.
    pub body: Block,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolItem {
    /// Its name.
    pub name: Ident,
    /// Addresses: first one, and prefix length or last one.
    pub ranges: Vec<PoolRange>,
    /// `port`, `mac`, `vlan`, and the choices.
    pub settings: Vec<Setting>,
}

/// Addresses of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRange {
    /// The first address, or any with a prefix length.
    pub first: Spanned<IpAddr>,
    /// What ends it.
    pub end: RangeEnd,
}

/// What ends the addresses of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeEnd {
    /// Nothing: a single address.
    Single,
    /// A prefix length.
    Prefix(Spanned<u128>),
    /// The last address.
    Last(Spanned<IpAddr>),
}

/// A line of a run: a load, or something that holds for all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunItem {
    /// `office ramp 0..100 flows/s in 10 s hold 60 s`
    Load(Call, Vec<Setting>),
    /// `concurrent max 200 k`, `seed 42`, `drain 5 s`
    Set(Setting),
    /// `stop failed > 1 %`
    Stop(Expr),
}

/// What stands at the top of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `pool inside = 198.18.0.0/18`
    Pool(PoolItem),
    /// `define size = 64 KiB`
    Define(Ident, Expr),
    /// `flow web(...) { }`, `attack flood(...) { }`
    Story(Story),
    /// `mix office { web 55 % }`
    Mix(Ident, Vec<(Call, Expr)>),
    /// `run { }`
    Run(Span, Vec<RunItem>),
    /// `expect { }`
    Expect(Vec<Expr>),
    /// `include "file"`
    Include(Spanned<String>),
}

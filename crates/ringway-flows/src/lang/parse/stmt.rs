//! Statements of stories.

use super::words::{self, Word};
use super::{MAX_BLOCKS, Noted, Parsed, Parser};
use crate::lang::token::Token;
use crate::lang::{Block, Diagnostic, Expr, Opening, Setting, Sides, Spanned, StmtKind, What, nearest};

/// Words that begin a statement.
const STATEMENTS: [&str; 14] = [
    "check", "choose", "count", "fail", "if", "let", "measure", "parallel", "probe", "raw", "repeat", "tcp",
    "think", "udp",
];

impl Parser<'_> {
    /// Statements between braces.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let open = self.need_sign('{')?;
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return self.fail(Diagnostic::new(
                open,
                "blocks are more than 32 deep",
                "one too many begins here",
            ));
        }
        let mut block = Block::new();
        loop {
            while self.eat_sign(';') {}
            match self.peek() {
                Some(Token::Sign('}')) => break,
                None => {
                    let end = self.span();
                    let diagnostic = Diagnostic::new(end, "a block is not closed", "expected `}`");
                    return self.fail(diagnostic.and(open, "the block begins here"));
                }
                Some(_) => match self.statement() {
                    Ok(statement) => block.push(statement),
                    Err(Noted) => self.skip_statement(),
                },
            }
            if self.errors.len() >= super::MAX_ERRORS {
                return Err(Noted);
            }
        }
        self.at += 1;
        self.blocks -= 1;
        Ok(block)
    }

    /// One statement.
    fn statement(&mut self) -> Parsed<Spanned<StmtKind>> {
        let start = self.span();
        let blocks = self.blocks;
        let node = self.statement_kind();
        if node.is_err() {
            self.blocks = blocks;
        }
        let node = node?;
        let span = start.to(self.last_span());
        let same_line = !matches!(self.same_line(), None | Some(Token::Sign('}' | ';')));
        let block = matches!(self.tokens[self.at - 1].token, Token::Sign('}'));
        if same_line && !block && !self.begins_statement() {
            return self.unexpected("the end of the statement");
        }
        Ok(Spanned { node, span })
    }

    /// Whether the next words begin a statement.
    pub(super) fn begins_statement(&self) -> bool {
        match self.peek() {
            Some(Token::Name(name)) => {
                STATEMENTS.contains(&name.as_str())
                    || matches!(self.peek_second(), Some(Token::Sign('<' | '>')))
            }
            _ => false,
        }
    }

    /// One statement, by its first word.
    fn statement_kind(&mut self) -> Parsed<StmtKind> {
        let first = self.name("a statement")?;
        if let Some(Token::Sign(sign @ ('<' | '>'))) = self.peek() {
            let client = *sign == '>';
            self.at += 1;
            return self.send(first, client);
        }
        match first.node.as_str() {
            "tcp" => self.open(Opening::Tcp),
            "udp" => self.open(Opening::Udp),
            "probe" => self.open(Opening::Probe),
            "raw" => self.raw(),
            "let" => {
                let name = self.name("a name for the value")?;
                self.need_sign('=')?;
                Ok(StmtKind::Let(name, self.joined()?))
            }
            "check" => Ok(StmtKind::Check(self.value()?)),
            "fail" => Ok(StmtKind::Fail(self.utf8("the reason, as a text")?)),
            "count" => {
                let name = self.name("the name of the counter")?;
                let more = !matches!(self.same_line(), None | Some(Token::Sign('}' | ';')));
                Ok(StmtKind::Count(name, if more { Some(self.value()?) } else { None }))
            }
            "repeat" => {
                let times = self.value()?;
                let index = if self.eat_word("as") {
                    Some(self.name("a name for the number of the turn")?)
                } else {
                    None
                };
                Ok(StmtKind::Repeat(times, index, self.block()?))
            }
            "choose" => self.choose(),
            "if" => self.condition(),
            "think" => {
                let server = self.eat_word("server");
                if !server {
                    self.eat_word("client");
                }
                Ok(StmtKind::Think { server, time: self.value()? })
            }
            "parallel" => self.parallel(),
            "measure" => Ok(StmtKind::Measure(self.name("a name for the latency")?, self.block()?)),
            word => {
                let diagnostic =
                    Diagnostic::new(first.span, format!("`{word}` begins no statement"), "unknown word");
                let help = match nearest(word, STATEMENTS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        "to send on a connection, write its name and `>` (client sends) or `<` (server sends)"
                            .to_owned()
                    }
                };
                self.fail(diagnostic.help(help))
            }
        }
    }

    /// What is sent behind `c >`.
    fn send(&mut self, connection: Spanned<String>, client: bool) -> Parsed<StmtKind> {
        let what = if self.eat_word("close") {
            What::Close
        } else if self.eat_word("half_close") {
            What::HalfClose
        } else if self.eat_word("reset") {
            What::Reset
        } else if self.eat_word("abandon") {
            What::Abandon
        } else {
            What::Bytes(self.joined()?)
        };
        let settings = self.settings(words::MESSAGE)?;
        Ok(StmtKind::Send { connection, client, what, settings })
    }

    /// A connection, behind its first word.
    fn open(&mut self, opening: Opening) -> Parsed<StmtKind> {
        let name = self.name("a name for the connection")?;
        self.need_sign('=')?;
        let sides = self.sides()?;
        let settings = self.settings(words::CONNECTION)?;
        Ok(StmtKind::Open { opening, name, sides, settings })
    }

    /// A raw packet, behind its first word.
    fn raw(&mut self) -> Parsed<StmtKind> {
        let protocol = self.name("a protocol: tcp, udp, icmp or ip")?;
        let sides = self.sides()?;
        let settings = self.settings(words::RAW)?;
        Ok(StmtKind::Raw { protocol, sides, settings })
    }

    /// `from -> to : port`
    fn sides(&mut self) -> Parsed<Sides> {
        let from = self.primary()?;
        let from_any = self.eat_sign('*');
        if !self.eat(&Token::Arrow) {
            return self.unexpected("`->` and where the connection goes");
        }
        let to = self.primary()?;
        self.operations = 0;
        let port = if self.eat_sign(':') { Some(self.value()?) } else { None };
        Ok(Sides { from, from_any, to, port })
    }

    /// The value of a setting. The data of a packet goes on up to the next setting.
    fn setting_value(&mut self, word: &str, list: &'static [Word]) -> Parsed<Expr> {
        if !matches!(word, "data" | "options") {
            return self.value();
        }
        self.stops = list;
        let value = self.joined();
        self.stops = &[];
        value
    }

    /// Settings: words of a list, in any order.
    pub(super) fn settings(&mut self, list: &'static [Word]) -> Parsed<Vec<Setting>> {
        let mut settings: Vec<Setting> = Vec::new();
        while let Some(Token::Name(word)) = self.peek() {
            let Some(has_value) = words::find(list, word) else { break };
            // `count` begins a statement too, if it stands at the start of a line.
            if word == "count" && self.same_line().is_none() {
                break;
            }
            let name = self.name("a setting")?;
            let value = if has_value { Some(self.setting_value(&name.node, list)?) } else { None };
            settings.push(Setting { name, value });
            if settings.len() > 1_000 {
                let span = self.last_span();
                return self.fail(Diagnostic::new(
                    span,
                    "there are more than 1000 settings",
                    "they go on here",
                ));
            }
        }
        match self.same_line() {
            Some(Token::Name(word)) if !self.begins_statement() => {
                let (word, span) = (word.clone(), self.span());
                let Some(near) = nearest(&word, list.iter().map(|(name, _)| *name)) else {
                    return Ok(settings);
                };
                let diagnostic =
                    Diagnostic::new(span, format!("`{word}` is no setting here"), "unknown word");
                self.fail(diagnostic.help(format!("did you mean `{near}`?")))
            }
            _ => Ok(settings),
        }
    }

    /// `choose { 30 % { } 70 % { } }`
    fn choose(&mut self) -> Parsed<StmtKind> {
        self.need_sign('{')?;
        let mut cases = Vec::new();
        while !self.eat_sign('}') {
            let weight = self.primary()?;
            self.operations = 0;
            cases.push((weight, self.block()?));
        }
        Ok(StmtKind::Choose(cases))
    }

    /// `if x { } else { }`, behind `if`.
    fn condition(&mut self) -> Parsed<StmtKind> {
        let condition = self.value()?;
        let then = self.block()?;
        if !self.eat_word("else") {
            return Ok(StmtKind::If(condition, then, None));
        }
        let start = self.span();
        if !self.eat_word("if") {
            return Ok(StmtKind::If(condition, then, Some(self.block()?)));
        }
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return self.fail(Diagnostic::new(
                start,
                "blocks are more than 32 deep",
                "one too many begins here",
            ));
        }
        let node = self.condition()?;
        self.blocks -= 1;
        let inner = Spanned { node, span: start.to(self.last_span()) };
        Ok(StmtKind::If(condition, then, Some(vec![inner])))
    }

    /// `parallel { { } { } }`
    fn parallel(&mut self) -> Parsed<StmtKind> {
        self.need_sign('{')?;
        let mut branches = Vec::new();
        while !self.eat_sign('}') {
            branches.push(self.block()?);
        }
        Ok(StmtKind::Parallel(branches))
    }
}

//! Items: what stands at the top of a file.

use super::words::{ITEMS, LOAD, POOL};
use super::{Noted, Parsed, Parser};
use crate::lang::token::{MICRO, Token};
use crate::lang::{
    Call, Diagnostic, Expr, Item, Param, PoolItem, PoolRange, RangeEnd, RunItem, Setting, Spanned, Story,
    nearest,
};

impl Parser<'_> {
    /// One item, by its first word.
    pub(super) fn item(&mut self) -> Parsed<Item> {
        let span = self.span();
        let first = self.name("an item: pool, flow, attack, mix, run, expect, define or include")?;
        match first.node.as_str() {
            "include" => Ok(Item::Include(self.utf8("the name of a file, as a text")?)),
            "pool" => self.pool().map(Item::Pool),
            "define" => {
                let name = self.name("a name for the value")?;
                self.need_sign('=')?;
                Ok(Item::Define(name, self.joined()?))
            }
            "flow" | "story" => self.story(false).map(Item::Story),
            "attack" => self.story(true).map(Item::Story),
            "mix" => {
                let name = self.name("a name for the mix")?;
                let shares = self.entries(|parser| {
                    let call = parser.call("the name of a flow")?;
                    let weight = parser.primary()?;
                    parser.operations = 0;
                    Ok((call, weight))
                })?;
                Ok(Item::Mix(name, shares))
            }
            "run" => {
                let items = self.entries(Self::run_item)?;
                Ok(Item::Run(span.to(self.last_span()), items))
            }
            "expect" => Ok(Item::Expect(self.entries(Self::value)?)),
            word => {
                let diagnostic =
                    Diagnostic::new(first.span, format!("`{word}` begins no item"), "unknown word");
                let help = match nearest(word, ITEMS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "a file has pools, flows, attacks, mixes, a run and expectations".to_owned(),
                };
                self.fail(diagnostic.help(help))
            }
        }
    }

    /// Entries between braces. A wrong one is left out.
    fn entries<T>(&mut self, entry: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let open = self.need_sign('{')?;
        let mut list = Vec::new();
        while !self.eat_sign('}') {
            if self.peek().is_none() {
                let end = self.span();
                let diagnostic = Diagnostic::new(end, "a block is not closed", "expected `}`");
                return self.fail(diagnostic.and(open, "the block begins here"));
            }
            if self.errors.len() >= super::MAX_ERRORS {
                return Err(Noted);
            }
            match entry(self) {
                Ok(entry) => list.push(entry),
                Err(Noted) => self.skip_statement(),
            }
            while self.eat_sign(';') {}
        }
        Ok(list)
    }

    /// A pool, behind its first word.
    fn pool(&mut self) -> Parsed<PoolItem> {
        let name = self.name("a name for the pool")?;
        self.need_sign('=')?;
        let mut ranges = vec![self.pool_range()?];
        while self.eat_sign(',') {
            ranges.push(self.pool_range()?);
        }
        let mut settings = Vec::new();
        while let Some(Token::Name(word)) = self.peek() {
            if word == "mac" {
                let name = self.name("mac")?;
                let address = self.mac()?;
                settings.push(Setting { name, value: Some(address) });
                if self.is_word("count") {
                    let name = self.name("count")?;
                    settings.push(Setting { name, value: Some(self.value()?) });
                }
                continue;
            }
            let before = settings.len();
            settings.extend(self.settings(POOL)?);
            if settings.len() == before {
                break;
            }
        }
        Ok(PoolItem { name, ranges, settings })
    }

    /// `198.18.0.0/18`, `198.18.0.1..198.18.0.9`, or one address.
    fn pool_range(&mut self) -> Parsed<PoolRange> {
        let first = self.address()?;
        let end = if self.eat_sign('/') {
            let span = self.span();
            match self.peek() {
                Some(Token::Number(micro)) => {
                    let node = micro / MICRO;
                    self.at += 1;
                    RangeEnd::Prefix(Spanned { node, span })
                }
                _ => return self.unexpected("the length of a prefix"),
            }
        } else if self.eat(&Token::Dots) {
            RangeEnd::Last(self.address()?)
        } else {
            RangeEnd::Single
        };
        Ok(PoolRange { first, end })
    }

    /// A hardware address, as a value of six bytes.
    fn mac(&mut self) -> Parsed<Expr> {
        let span = self.span();
        let Some(Token::Colons(text)) = self.peek() else { return self.unexpected("a hardware address") };
        let bytes: Option<Vec<u8>> = text
            .split(':')
            .map(|part| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2))
            .collect();
        match bytes {
            Some(bytes) if bytes.len() == 6 => {
                self.at += 1;
                Ok(Spanned { node: crate::lang::ExprKind::Text(bytes), span })
            }
            _ => {
                let diagnostic = Diagnostic::new(span, "this is no hardware address", "not an address");
                self.fail(diagnostic.help("for example: mac 02:00:00:00:00:01"))
            }
        }
    }

    /// A story or an attack, behind its first word.
    fn story(&mut self, attack: bool) -> Parsed<Story> {
        let name = self.name(if attack { "a name for the attack" } else { "a name for the flow" })?;
        let mut params = Vec::new();
        if self.eat_sign('(') {
            self.parens += 1;
            while self.peek() != Some(&Token::Sign(')')) {
                let name = self.name("the name of a parameter")?;
                let default = if self.eat_sign('=') { Some(self.joined()?) } else { None };
                params.push(Param { name, default });
                if !self.eat_sign(',') {
                    break;
                }
            }
            self.parens -= 1;
            self.need_sign(')')?;
        }
        Ok(Story { attack, name, params, body: self.block()? })
    }

    /// A line of a run.
    fn run_item(&mut self) -> Parsed<RunItem> {
        if self.eat_word("stop") {
            return Ok(RunItem::Stop(self.value()?));
        }
        let second_is_number = matches!(self.peek_second(), Some(Token::Number(_)));
        if self.is_word("concurrent") {
            let name = self.name("concurrent")?;
            self.need_word("max")?;
            return Ok(RunItem::Set(Setting { name, value: Some(self.value()?) }));
        }
        if second_is_number && (self.is_word("seed") || self.is_word("drain")) {
            let name = self.name("a setting")?;
            return Ok(RunItem::Set(Setting { name, value: Some(self.value()?) }));
        }
        let call: Call = self.call("the name of a flow, an attack or a mix")?;
        let settings = self.settings(LOAD)?;
        if settings.is_empty() {
            return self.unexpected("how much of it starts: `ramp`, `hold` or `rate`");
        }
        Ok(RunItem::Load(call, settings))
    }
}

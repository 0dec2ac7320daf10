//! The parser: one function for each form of the language. After an error it goes on with the next statement.

mod call;
mod expr;
mod item;
mod number;
mod stmt;
mod words;

use super::token::{Placed, Token, words as split};
use super::{Diagnostic, Expr, Ident, Item, Span, Spanned, Unit};

/// An error has been noted. The parser goes on behind it.
#[derive(Clone, Copy, Debug)]
struct Noted;

/// What a form is parsed into.
type Parsed<T> = Result<T, Noted>;

/// Most blocks inside each other.
const MAX_BLOCKS: usize = 32;
/// Most errors of a file: behind them the parser stops.
const MAX_ERRORS: usize = 100;

/// The items of a file.
pub(crate) fn parse_file(file: u16, source: &str, errors: &mut Vec<Diagnostic>) -> Vec<Item> {
    let tokens = split(file, source, errors);
    let mut parser = Parser::new(tokens, file, source.len(), errors);
    let mut items = Vec::new();
    while parser.peek().is_some() && parser.errors.len() < MAX_ERRORS {
        match parser.item() {
            Ok(item) => items.push(item),
            Err(Noted) => parser.skip_to_item(),
        }
    }
    items
}

/// A single value, as on a command line.
pub(crate) fn parse_value(file: u16, source: &str, errors: &mut Vec<Diagnostic>) -> Option<Expr> {
    let before = errors.len();
    let tokens = split(file, source, errors);
    let mut parser = Parser::new(tokens, file, source.len(), errors);
    let value = parser.joined().ok()?;
    if parser.peek().is_some() {
        let _ = parser.unexpected::<()>("the end of the value");
    }
    (errors.len() == before).then_some(value)
}

/// The words of a file, and how far they are read.
struct Parser<'a> {
    tokens: Vec<Placed>,
    at: usize,
    /// Behind the last byte.
    end: Span,
    /// Open parentheses, in which the end of a line means nothing.
    parens: usize,
    /// Blocks around the statement.
    blocks: usize,
    /// Operations of the expression that is being read.
    operations: usize,
    /// Words that end a joined value.
    stops: &'static [words::Word],
    /// Unit and factor of the last number.
    factor: (Unit, u128),
    errors: &'a mut Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    fn new(tokens: Vec<Placed>, file: u16, len: usize, errors: &'a mut Vec<Diagnostic>) -> Self {
        let end = Span { file, start: len as u32, end: len as u32 };
        Self {
            tokens,
            at: 0,
            end,
            parens: 0,
            blocks: 0,
            operations: 0,
            stops: &[],
            factor: (Unit::One, 1),
            errors,
        }
    }

    /// The next word.
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    /// The word behind the next one.
    fn peek_second(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|placed| &placed.token)
    }

    /// The next word, if it stands on the line of the word in front of it, or inside parentheses.
    fn same_line(&self) -> Option<&Token> {
        self.tokens.get(self.at).filter(|placed| !placed.first || self.parens > 0).map(|placed| &placed.token)
    }

    /// Where the next word is.
    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |placed| placed.span)
    }

    /// Where the last word was.
    fn last_span(&self) -> Span {
        match self.at.checked_sub(1).and_then(|at| self.tokens.get(at)) {
            Some(placed) => placed.span,
            None => self.span(),
        }
    }

    /// Takes the next word if it is this one.
    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    /// Takes the next word if it is this sign.
    fn eat_sign(&mut self, sign: char) -> bool {
        self.eat(&Token::Sign(sign))
    }

    /// Whether the next word is this name.
    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(name)) if name == word)
    }

    /// Takes the next word if it is this name.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes this sign, or notes that it is missing.
    fn need_sign(&mut self, sign: char) -> Parsed<Span> {
        let span = self.span();
        if self.eat_sign(sign) { Ok(span) } else { self.unexpected(&format!("`{sign}`")) }
    }

    /// Takes this word, or notes that it is missing.
    fn need_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    /// Takes a name.
    fn name(&mut self, what: &str) -> Parsed<Ident> {
        let span = self.span();
        match self.peek() {
            Some(Token::Name(name)) => {
                let node = name.clone();
                self.at += 1;
                Ok(Spanned { node, span })
            }
            _ => self.unexpected(what),
        }
    }

    /// Takes a text, which must be UTF-8.
    fn utf8(&mut self, what: &str) -> Parsed<Ident> {
        let span = self.span();
        let Some(Token::Text(bytes)) = self.peek() else { return self.unexpected(what) };
        match String::from_utf8(bytes.clone()) {
            Ok(node) => {
                self.at += 1;
                Ok(Spanned { node, span })
            }
            Err(_) => self.fail(Diagnostic::new(span, "this text must be readable text", "it is not UTF-8")),
        }
    }

    /// Notes an error.
    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parsed<T> {
        self.errors.push(diagnostic);
        Err(Noted)
    }

    /// Notes that something else was expected.
    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        let found = match self.peek() {
            None => "the file ends here".to_owned(),
            Some(token) => format!("found {}", describe(token)),
        };
        let span = self.span();
        self.fail(Diagnostic::new(span, format!("expected {expected}"), found))
    }

    /// Goes to the next statement: the first word of a line at this depth of braces, or the brace that closes it.
    fn skip_statement(&mut self) {
        let (mut depth, start) = (0usize, self.at);
        self.parens = 0;
        while let Some(placed) = self.tokens.get(self.at) {
            match placed.token {
                _ if depth == 0 && self.at > start && placed.first && placed.token != Token::Sign('}') => {
                    return;
                }
                Token::Sign('}') if depth == 0 => return,
                Token::Sign(';') if depth == 0 => {
                    self.at += 1;
                    return;
                }
                Token::Sign('{') => depth += 1,
                Token::Sign('}') => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Goes to the next item: a word that begins one, at the start of a line.
    fn skip_to_item(&mut self) {
        (self.parens, self.blocks) = (0, 0);
        self.at += 1;
        while let Some(placed) = self.tokens.get(self.at) {
            if placed.first
                && matches!(&placed.token, Token::Name(name) if words::ITEMS.contains(&name.as_str()))
            {
                return;
            }
            self.at += 1;
        }
    }
}

/// A word as messages name it.
fn describe(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("`{name}`"),
        Token::Number(_) => "a number".to_owned(),
        Token::V4(address) => format!("the address {address}"),
        Token::Colons(text) => format!("the address {text}"),
        Token::Text(_) => "a text".to_owned(),
        Token::Arrow => "`->`".to_owned(),
        Token::Dots => "`..`".to_owned(),
        Token::Equal => "`==`".to_owned(),
        Token::Unequal => "`!=`".to_owned(),
        Token::AtMost => "`<=`".to_owned(),
        Token::AtLeast => "`>=`".to_owned(),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}

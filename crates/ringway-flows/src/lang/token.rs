//! Words of the language.

use std::net::Ipv4Addr;

use logos::{Lexer, Logos};

use super::{Diagnostic, Span};

/// A word.
#[derive(Logos, Clone, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n]+", skip(r"#[^\n]*", allow_greedy = true))]
pub(super) enum Token {
    /// A name or a word of the language.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*", |lex| lex.slice().to_owned(), priority = 3)]
    Name(String),
    /// A number in decimal, in millionths.
    #[regex(r"[0-9][0-9_]*(\.[0-9]+)?", decimal, priority = 3)]
    #[regex(r"0x[0-9A-Fa-f_]+", hexadecimal, priority = 5)]
    Number(u128),
    /// An IPv4 address.
    #[regex(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+", |lex| lex.slice().parse().ok())]
    V4(Ipv4Addr),
    /// An IPv6 or hardware address.
    #[regex(r"[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,7}", |lex| lex.slice().to_owned(), priority = 4)]
    Colons(String),
    /// Bytes between quotation marks, with their escapes taken away.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#, text)]
    Text(Vec<u8>),
    /// `->`
    #[token("->")]
    Arrow,
    /// `..`
    #[token("..")]
    Dots,
    /// `==`
    #[token("==")]
    Equal,
    /// `!=`
    #[token("!=")]
    Unequal,
    /// `<=`
    #[token("<=")]
    AtMost,
    /// `>=`
    #[token(">=")]
    AtLeast,
    /// One of the other signs.
    #[regex(r"[-+*/%<>=(){}:.,;]", |lex| lex.slice().chars().next())]
    Sign(char),
}

/// A word with its place, and whether it is the first one of its line.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) span: Span,
    pub(crate) first: bool,
}

/// Millionths of a unit.
pub(crate) const MICRO: u128 = 1_000_000;

/// A decimal number, with at most six digits behind the point that count.
fn decimal(lex: &mut Lexer<'_, Token>) -> Option<u128> {
    let text = lex.slice().replace('_', "");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let rest: String = rest.chars().chain("000000".chars()).take(6).collect();
    let whole: u64 = whole.parse().ok()?;
    Some(u128::from(whole) * MICRO + rest.parse::<u128>().ok()?)
}

/// A hexadecimal number.
fn hexadecimal(lex: &mut Lexer<'_, Token>) -> Option<u128> {
    let digits = lex.slice()[2..].replace('_', "");
    u64::from_str_radix(&digits, 16).ok().map(|n| u128::from(n) * MICRO)
}

/// The bytes of a literal. `None` for an escape that does not exist.
fn text(lex: &mut Lexer<'_, Token>) -> Option<Vec<u8>> {
    let slice = lex.slice();
    let mut bytes = slice.as_bytes()[1..slice.len() - 1].iter().copied();
    let mut out = Vec::with_capacity(slice.len());
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b'r' => b'\r',
            b'n' => b'\n',
            b't' => b'\t',
            b'0' => 0,
            b'\\' => b'\\',
            b'"' => b'"',
            b'x' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            _ => return None,
        });
    }
    Some(out)
}

/// The words of a text. What is no word is an error, and is left out.
pub(crate) fn words(file: u16, source: &str, errors: &mut Vec<Diagnostic>) -> Vec<Placed> {
    let mut lexer = Token::lexer(source);
    let (mut list, mut last_end) = (Vec::new(), 0);
    while let Some(token) = lexer.next() {
        let range = lexer.span();
        let span = Span { file, start: range.start as u32, end: range.end as u32 };
        match token {
            Ok(token) => {
                let first = list.is_empty() || source[last_end..range.start].contains('\n');
                list.push(Placed { token, span, first });
                last_end = range.end;
            }
            Err(()) => {
                let (diagnostic, token) = wrong_word(span, lexer.slice(), &source[range.start..]);
                errors.push(diagnostic);
                // Something of its kind stands for it, so that no more errors follow from it.
                let first = list.is_empty() || source[last_end..range.start].contains('\n');
                list.extend(token.map(|token| Placed { token, span, first }));
                last_end = range.end;
            }
        }
    }
    list
}

/// The error about what is no word, and the word that was meant, as far as its kind shows.
fn wrong_word(span: Span, slice: &str, rest: &str) -> (Diagnostic, Option<Token>) {
    let number = slice.starts_with(|c: char| c.is_ascii_digit());
    if slice.starts_with('"') && slice.len() > 1 && slice.ends_with('"') {
        let diagnostic = Diagnostic::new(span, "a text has an escape that does not exist", "in this text")
            .help(r#"the escapes are \r \n \t \0 \\ \" and \xHH with two hexadecimal digits"#);
        (diagnostic, Some(Token::Text(Vec::new())))
    } else if rest.starts_with('"') {
        let diagnostic = Diagnostic::new(span, "a text does not end on its line", "it begins here")
            .help("write \\n for a new line, and a quotation mark at the end");
        (diagnostic, Some(Token::Text(Vec::new())))
    } else if number && slice.matches('.').count() == 3 {
        let diagnostic =
            Diagnostic::new(span, "this is no IPv4 address", "each of the four numbers is at most 255");
        (diagnostic, Some(Token::V4(Ipv4Addr::UNSPECIFIED)))
    } else if number {
        let diagnostic = Diagnostic::new(span, "a number is too large", "it does not fit into 64 bits");
        (diagnostic, Some(Token::Number(0)))
    } else {
        let diagnostic =
            Diagnostic::new(span, "this character has no meaning here", "not part of the language")
                .help("comments begin with #, texts stand between quotation marks");
        (diagnostic, None)
    }
}

/// Words that are no names of values, because something else follows in a message or a value.
pub(crate) const RESERVED: [&str; 15] = [
    "and", "as", "clamp", "count", "else", "from", "in", "match", "max", "mod", "not", "or", "retry",
    "timeout", "to",
];

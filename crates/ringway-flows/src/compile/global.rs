//! What all passes share: tables, names, errors.

use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

use super::constant::{Given, Names, constant};
use super::source::{Options, Read, beside};
use super::tables::Tables;
use crate::code::Place;
use crate::lang::{Diagnostic, Expr, ExprKind, Ident, Span, Story, parse_value};

/// Most bytes of a file that a story sends.
const MAX_FILE: usize = 16 << 20;

/// Most errors that are kept.
pub(super) const MAX_ERRORS: usize = 200;

/// What all passes share.
pub(super) struct Global<'a> {
    pub(super) tables: Tables,
    pub(super) errors: Vec<Diagnostic>,
    /// Name and text of each file.
    pub(super) files: Vec<(String, String)>,
    pub(super) read: &'a Read<'a>,
    /// Reason to allow pools anywhere.
    pub(super) lab: &'a str,
    /// Pools by name: index and place.
    pub(super) pools: HashMap<String, (u32, Span)>,
    defines: HashMap<String, Given>,
    /// Values of the command line that no `define` took: for parameters.
    parameters: HashMap<String, Given>,
    given: &'a [(String, String)],
    /// Stories by name.
    pub(super) stories: HashMap<String, Rc<Story>>,
    /// Names of stories in the order of the file.
    pub(super) order: Vec<String>,
    /// Flows that are compiled, by story and arguments. `None`: with errors.
    pub(super) flows: HashMap<String, Option<u32>>,
    /// The story of each flow.
    pub(super) story_of: Vec<String>,
    contents: HashMap<String, Rc<Vec<u8>>>,
    /// Instructions of all flows.
    pub(super) instructions: usize,
}

impl<'a> Global<'a> {
    /// Nothing so far.
    pub(super) fn new(read: &'a Read<'a>, options: &'a Options) -> Self {
        let mut tables = Tables::default();
        tables.bundle.lab.clone_from(&options.lab);
        Self {
            tables,
            errors: Vec::new(),
            files: Vec::new(),
            read,
            lab: &options.lab,
            pools: HashMap::new(),
            defines: HashMap::new(),
            parameters: HashMap::new(),
            given: &options.defines,
            stories: HashMap::new(),
            order: Vec::new(),
            flows: HashMap::new(),
            story_of: Vec::new(),
            contents: HashMap::new(),
            instructions: 0,
        }
    }

    /// Notes an error, once. One without a place follows from another one.
    pub(super) fn error(&mut self, diagnostic: Diagnostic) {
        let new = |errors: &[Diagnostic]| errors.len() < MAX_ERRORS && !errors.contains(&diagnostic);
        if !diagnostic.labels.is_empty() && new(&self.errors) {
            self.errors.push(diagnostic);
        }
    }

    /// The text at a place, shortened.
    pub(super) fn text_of(&self, span: Span) -> String {
        let text = self.files.get(usize::from(span.file)).map_or("", |(_, text)| text.as_str());
        let text = text.get(span.start as usize..span.end as usize).unwrap_or("");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(40) {
            Some((at, _)) => format!("{}...", &text[..at]),
            None => text,
        }
    }

    /// Adds a story, unless its name is taken.
    pub(super) fn add_story(&mut self, story: Story) {
        let name = story.name.clone();
        if let Some(other) = self.stories.get(&name.node) {
            let diagnostic =
                Diagnostic::new(name.span, format!("`{}` exists already", name.node), "the second one")
                    .and(other.name.span, "the first one");
            return self.error(diagnostic);
        }
        self.order.push(name.node.clone());
        self.stories.insert(name.node, Rc::new(story));
    }

    /// Sets the values of `define`, from the command line where it has one.
    pub(super) fn set_defines(&mut self, defines: Vec<(Ident, Expr)>) {
        let mut given = HashMap::new();
        for (name, text) in self.given {
            let file = self.files.len() as u16;
            self.files.push((format!("-D {name}"), text.clone()));
            let value = parse_value(file, text, &mut self.errors);
            match value.map(|value| constant(&value, self)) {
                Some(Ok(value)) => {
                    let end = Span { file, start: 0, end: text.len() as u32 };
                    given.insert(name.clone(), (value, end));
                }
                Some(Err(diagnostic)) => self.error(diagnostic),
                None => {}
            }
        }
        for (name, expr) in defines {
            let default = constant(&expr, self);
            let value = match (given.remove(&name.node), default) {
                (_, Err(diagnostic)) => {
                    self.error(diagnostic);
                    continue;
                }
                (None, Ok(default)) => default,
                (Some((value, span)), Ok(default)) => match fits(&value, &default, span, expr.span) {
                    Ok(()) => value,
                    Err(diagnostic) => {
                        self.error(diagnostic);
                        default
                    }
                },
            };
            if self.defines.insert(name.node.clone(), value).is_some() {
                self.error(Diagnostic::new(
                    name.span,
                    format!("`{}` exists already", name.node),
                    "the second one",
                ));
            }
        }
        for (name, (value, span)) in given {
            self.set_parameter(&name, value, span);
        }
    }

    /// Keeps a value of the command line for parameters of this name.
    fn set_parameter(&mut self, name: &str, value: Given, span: Span) {
        let takes = |story: &Story| {
            let mut params = story.params.iter();
            params.any(|p| p.name.node == *name || format!("{}.{}", story.name.node, p.name.node) == *name)
        };
        if !self.stories.values().any(|story| takes(story)) {
            let message = format!("no `define` and no parameter is called `{name}`");
            return self.error(Diagnostic::new(span, message, "given on the command line"));
        }
        self.parameters.insert(name.to_owned(), value);
    }

    /// The value of the command line for a parameter of a story.
    pub(super) fn parameter(&self, story: &str, name: &str) -> Option<&Given> {
        self.parameters.get(&format!("{story}.{name}")).or_else(|| self.parameters.get(name))
    }

    /// The bytes of a file that a story sends.
    pub(super) fn content(&mut self, name: &str, span: Span) -> Result<Rc<Vec<u8>>, Diagnostic> {
        let from = self.files.get(usize::from(span.file)).map_or("", |(name, _)| name.as_str());
        let path = beside(from, name);
        if let Some(bytes) = self.contents.get(&path) {
            return Ok(bytes.clone());
        }
        let bytes = (self.read)(&path)
            .map_err(|why| Diagnostic::new(span, format!("`{path}` cannot be read"), why))
            .map(Rc::new)?;
        if bytes.is_empty() || bytes.len() > MAX_FILE || self.contents.len() >= 64 {
            return Err(Diagnostic::new(
                span,
                "a file is empty, longer than 16 MiB, or one of more than 64",
                "this file",
            ));
        }
        self.contents.insert(path, bytes.clone());
        Ok(bytes)
    }
}

impl Names for Global<'_> {
    fn given(&self, name: &str) -> Option<Given> {
        if let Some(value) = self.defines.get(name) {
            return Some(value.clone());
        }
        let (index, _) = self.pools.get(name)?;
        let v4 = self.tables.bundle.pools.get(*index as usize).is_some_and(crate::code::Pool::is_ipv4);
        Some(Given::Place(Place::Pool(*index), v4))
    }

    fn candidates(&self) -> Vec<String> {
        self.defines.keys().chain(self.pools.keys()).cloned().collect()
    }

    fn place(&self, address: IpAddr, span: Span) -> Result<Given, Diagnostic> {
        if self.tables.bundle.pools.iter().any(|pool| pool.contains(address)) {
            return Ok(Given::Place(Place::Fixed(address), address.is_ipv4()));
        }
        Err(Diagnostic::new(
            span,
            "flows go only to addresses of pools",
            format!("{address} lies in no pool"),
        )
        .help("declare a pool that has this address"))
    }

    fn rows(&self, file: &str, span: Span) -> Result<Vec<Expr>, Diagnostic> {
        let from = self.files.get(usize::from(span.file)).map_or("", |(name, _)| name.as_str());
        let path = beside(from, file);
        let wrong = |why: String| Diagnostic::new(span, format!("`{path}` is no table"), why);
        let bytes = (self.read)(&path).map_err(&wrong)?;
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or("").trim())
            .filter(|line| !line.is_empty());
        let rows: Vec<&str> = lines.collect();
        let mut errors = Vec::new();
        let list = parse_value(span.file, &format!("table({})", rows.join(",")), &mut errors);
        match list.map(|list| list.node) {
            Some(ExprKind::Call(call)) if errors.is_empty() => {
                Ok(call.args.into_iter().map(|arg| moved(arg.value, span)).collect())
            }
            _ => Err(wrong("each line has a weight, a colon, and a value or a range".to_owned())),
        }
    }
}

/// An expression of another text, whose place is where that text is named.
fn moved(mut expr: Expr, span: Span) -> Expr {
    expr.span = span;
    expr.node = match expr.node {
        ExprKind::Row(a, b) => ExprKind::Row(Box::new(moved(*a, span)), Box::new(moved(*b, span))),
        ExprKind::Range(a, b) => ExprKind::Range(Box::new(moved(*a, span)), Box::new(moved(*b, span))),
        other => other,
    };
    expr
}

/// Whether a value may replace a default: it is of the same type.
pub(super) fn fits(value: &Given, default: &Given, span: Span, at: Span) -> Result<(), Diagnostic> {
    let unit = |given: &Given| match given {
        Given::Number(number) => Some(number.unit),
        Given::Dist(_, unit) => Some(*unit),
        _ => None,
    };
    let same = match (unit(value), unit(default)) {
        (Some(one), Some(other)) => super::constant::common(one, other).is_some(),
        (None, None) => std::mem::discriminant(value) == std::mem::discriminant(default),
        _ => false,
    };
    if same {
        return Ok(());
    }
    let unit_name = |given: &Given| unit(given).map_or(given.what(), crate::lang::Unit::name);
    let message = "a value is of another type than its default";
    Err(Diagnostic::new(span, message, format!("this is {}", unit_name(value)))
        .and(at, format!("this is {}", unit_name(default))))
}

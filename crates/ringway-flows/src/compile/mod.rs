//! The compiler: from the text of stories to a [`Bundle`].
//!
//! | step | where |
//! | --- | --- |
//! | read the file and what it includes | `files` |
//! | pools, with the guard on where they may lie | `pools` |
//! | values that are known before a run | `value`, `constant` |
//! | a story with its arguments: types, bounds, and who knows what | `instance`, `story` |
//! | projection into two programs | `story` |
//! | mixes, the run with the guards on attacks, expectations | `run`, `expect` |
//!
//! [`Forecast`] says what a run will ask of the network and of memory.
//!
//! The result passes the [verifier](crate::code::verify) like any other bundle.

mod arguments;
mod constant;
mod emit;
mod estimate;
mod expect;
mod files;
mod forecast;
mod global;
mod instance;
mod load;
mod num;
mod part;
mod pools;
mod run;
mod source;
mod story;
mod tables;
mod value;

use crate::code::{Bundle, verify};
use crate::lang::{Diagnostic, Diagnostics, Item, Span};
pub use forecast::Forecast;
use global::Global;
pub use source::{Options, Read, Source};

/// Compiles stories.
///
/// # Errors
/// All errors that were found, each with its place.
///
/// ```
/// use ringway_flows::compile::{Options, Source, compile};
///
/// let text = r#"
///     pool inside  = 198.18.0.0/24
///     pool outside = 198.19.0.0/24
///     flow hello(name = "world") {
///       tcp c = inside -> outside : 7
///       c > "hello " name "\r\n"
///       c < "goodbye\r\n"
///       c > close
///     }
/// "#;
/// let source = Source { name: "hello.flow", text, read: &|_| Err("no other files".to_owned()) };
/// let bundle = compile(&source, &Options::default()).unwrap();
/// assert_eq!(bundle.name(bundle.flows[0].name), "hello");
///
/// let wrong = text.replace("c < ", "d < ");
/// let source = Source { text: &wrong, ..source };
/// let errors = compile(&source, &Options::default()).unwrap_err();
/// assert_eq!(errors.list[0].message, "`d` is no connection");
/// ```
pub fn compile(source: &Source<'_>, options: &Options) -> Result<Bundle, Diagnostics> {
    let mut global = Global::new(source.read, options);
    let items = files::load(&mut global, source.name, source.text);
    if global.errors.is_empty() {
        run_passes(&mut global, items);
    }
    let (bundle, mut list, files) = (global.tables.bundle, global.errors, global.files);
    if list.is_empty()
        && let Err(refusal) = verify(&bundle)
    {
        let label = format!("the verifier refuses it: {refusal}");
        list.push(
            Diagnostic::new(Span::default(), "the compiler has made a wrong program of this file", label)
                .help("this is a fault of Ringway; report it with the file"),
        );
    }
    if list.is_empty() { Ok(bundle) } else { Err(Diagnostics { files, list }) }
}

/// All passes behind the parser.
fn run_passes(global: &mut Global<'_>, items: Vec<Item>) {
    let (mut mixes, mut runs, mut expects) = (Vec::new(), Vec::new(), Vec::new());
    let mut defines = Vec::new();
    for item in items {
        match item {
            Item::Pool(pool) => pools::add(global, &pool),
            Item::Define(name, value) => defines.push((name, value)),
            Item::Story(story) => global.add_story(story),
            Item::Mix(name, shares) => mixes.push((name, shares)),
            Item::Run(span, items) => runs.push((span, items)),
            Item::Expect(list) => expects.extend(list),
            Item::Include(_) => {}
        }
    }
    global.set_defines(defines);
    run::add_all(global, &mixes, &runs);
    expect::add_all(global, &expects);
}

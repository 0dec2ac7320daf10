//! Routes, updates and streams of one family, read or made when they are needed first.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ringway_fib::{NextHop, Prefix, Reference, generate, text};

use super::family::Family;
use super::stream::{Kind, Stream};
use crate::suite::Fault;

/// Routes of made tables.
const MADE_4: usize = 1_100_000;
const MADE_6: usize = 250_000;

/// Seed of all that is made.
const SEED: u64 = 1;

/// Where tables come from.
#[derive(Debug, Clone, Default)]
pub struct Source {
    table: Option<PathBuf>,
}

impl Source {
    /// A file with the routes of either family or both; `None` for the usual places.
    pub fn new(table: Option<PathBuf>) -> Self {
        Self { table }
    }

    /// The routes of IPv4.
    pub(in crate::suite) fn routes4(&self) -> Result<Vec<(Prefix<u32>, NextHop)>, Fault> {
        self.routes()
    }

    fn routes<A: Family>(&self) -> Result<Vec<(Prefix<A>, NextHop)>, Fault> {
        match (&self.table, folder()) {
            (Some(file), _) => table(file),
            (None, Some(folder)) => table(&folder.join(A::FILE)),
            (None, None) => Ok(generate::table(if A::BITS == 32 { MADE_4 } else { MADE_6 }, SEED)),
        }
    }

    /// Says where tables will come from.
    pub fn describe(&self) -> String {
        match (&self.table, folder()) {
            (Some(file), _) => format!("table {}", file.display()),
            (None, Some(folder)) => format!("tables and updates of {}", folder.display()),
            (None, None) => "made tables, no updates: set RINGWAY_DATA to the folder that holds fib/".into(),
        }
    }
}

/// The first folder that has tables.
fn folder() -> Option<PathBuf> {
    let data = ringway::environment("RINGWAY_DATA").map(PathBuf::from);
    let folders = [data, Some("data".into())];
    folders.into_iter().flatten().map(|f| f.join("fib")).find(|f| f.join(<u32 as Family>::FILE).exists())
}

/// What is read or made once.
type Once<T> = OnceLock<Result<T, Fault>>;

/// All that cases of one family share.
#[derive(Debug)]
pub(super) struct World<A: Family> {
    source: Source,
    routes: Once<Vec<(Prefix<A>, NextHop)>>,
    updates: Once<Vec<text::Update<A>>>,
    reference: Once<Reference<A>>,
    streams: [Once<Stream<A>>; Kind::ALL.len()],
}

impl<A: Family> World<A> {
    pub(super) fn new(source: Source) -> Self {
        let streams = std::array::from_fn(|_| OnceLock::new());
        let (routes, updates, reference) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { source, routes, updates, reference, streams }
    }

    pub(super) fn routes(&self) -> Result<&[(Prefix<A>, NextHop)], Fault> {
        self.routes.get_or_init(|| self.source.routes()).as_deref().map_err(Clone::clone)
    }

    /// The updates of the trace.
    pub(super) fn updates(&self) -> Result<&[text::Update<A>], Fault> {
        let read = || {
            let folder = folder().ok_or_else(|| {
                Fault::Unavailable(
                    "no trace of updates here; set RINGWAY_DATA to the folder that holds fib/".into(),
                )
            })?;
            let text = text::read(&folder.join("updates-2019-01-01.txt.xz"));
            text.and_then(|t| text::updates(&t)).map_err(broken)
        };
        self.updates.get_or_init(read).as_deref().map_err(Clone::clone)
    }

    /// The slow and obvious match over all routes.
    pub(super) fn reference(&self) -> Result<&Reference<A>, Fault> {
        let make = || {
            let mut reference = Reference::new();
            reference.extend(self.routes()?.iter().copied());
            Ok(reference)
        };
        self.reference.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// Keys with the answers to them.
    pub(super) fn stream(&self, kind: Kind) -> Result<&Stream<A>, Fault> {
        let make = || match kind {
            Kind::Uniform => Ok(Stream::uniform(self.reference()?)),
            Kind::Covered => Ok(Stream::covered(self.routes()?, self.reference()?)),
            of_covered => Ok(self.stream(Kind::Covered)?.rearranged(of_covered)),
        };
        self.streams[kind as usize].get_or_init(make).as_ref().map_err(Clone::clone)
    }
}

fn table<A: Family>(file: &Path) -> Result<Vec<(Prefix<A>, NextHop)>, Fault> {
    let routes = text::read(file).and_then(|t| text::table(&t)).map_err(broken)?;
    if routes.is_empty() {
        return Err(Fault::Unavailable(format!("{} has no {} routes", file.display(), A::NAME)));
    }
    Ok(routes)
}

pub(super) fn broken(e: ringway_fib::FibError) -> Fault {
    Fault::Failed(e.to_string())
}

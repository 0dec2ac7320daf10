//! Look-ups by scripts of Python, beside the same in Rust: cases of suite `python`.

use std::cell::{OnceCell, RefCell};
use std::fs;
use std::rc::Rc;
use std::sync::Arc;

use ringway_lab::TemporaryFolder;

use super::data::World;
use super::engine::{Engine, Ours};
use super::family::Family;
use super::stream::{KEYS, Kind, Stream};
use crate::suite::bed::receiver;
use crate::suite::python::Shared;
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// Keys for the table that takes a call for each.
const FEW_KEYS: usize = 1 << 16;

const NOTE: &str = "covered keys of a whole table: 1,048,576 (pytricia: 65,536), the fastest pass of each run, on CPU 1; every answer was \
                    compared. ringway: one call of lookup_array from one array of numpy to another; pytricia: get for each; rust: \
                    lookup_burst of 64, as in suite fib";

/// The case of one family.
pub(super) fn case<'a, A: Family>(bed: Bed<'a>, world: Arc<World<A>>, scripts: &Shared) -> Case<'a> {
    let tables = Rc::new(Tables { world, files: OnceCell::new() });
    let case = Case::new("lookups", Unit::Mlookups).variant(A::NAME).frame(0).burst(KEYS as u32).note(NOTE);
    let case = [("ringway", KEYS), ("pytricia", FEW_KEYS)].into_iter().fold(case, |case, (system, keys)| {
        let (tables, scripts) = (tables.clone(), scripts.clone());
        case.system(system, move || tables.look(bed, &scripts, system, keys))
    });
    let ours = RefCell::new(None);
    case.system("rust", move || {
        let mut ours = ours.borrow_mut();
        if ours.is_none() {
            let mut fresh = Ours::<A>::new(None);
            fresh.load(tables.world.routes()?)?;
            *ours = Some(fresh);
        }
        let stream = tables.world.stream(Kind::Covered)?;
        let none = || Fault::Failed("no table".into());
        ours.as_mut().ok_or_else(none)?.lookup(stream, bed.seconds).map(Sample::of)
    })
}

/// Routes as a file, written when they are needed first.
struct Tables<A: Family> {
    world: Arc<World<A>>,
    files: OnceCell<Result<TemporaryFolder, Fault>>,
}

impl<A: Family> Tables<A> {
    /// Has a script look so many keys up, and checks its answers.
    fn look(&self, bed: Bed<'_>, scripts: &Shared, system: &str, keys: usize) -> Result<Sample, Fault> {
        let folder = self.files.get_or_init(|| self.write()).as_ref().map_err(Clone::clone)?.path();
        let stream = self.world.stream(Kind::Covered)?.head(keys);
        let file = |name: &str| folder.join(name).display().to_string();
        let (routes, keys, answers) = (file("routes"), file("keys"), file("answers"));
        fs::write(&keys, stream.keys.iter().flat_map(|key| key.dpdk()).collect::<Vec<_>>())
            .map_err(|e| at(&keys, &e))?;
        let family = if A::BITS == 32 { "4" } else { "6" };
        let seconds = bed.seconds.to_string();
        let args = [family, &routes, &keys, &answers, &seconds];
        let peer = scripts.start("lookups.py", system, &args, None, receiver())?;
        let run = peer.finish()?.lookups().copied().unwrap_or_default();
        compare(&stream, &answers)?;
        Ok(Sample::of(stream.rate(run.seconds)))
    }

    fn write(&self) -> Result<TemporaryFolder, Fault> {
        let routes = self.world.routes()?;
        let folder =
            TemporaryFolder::create(&std::env::temp_dir()).map_err(|e| at("a folder for Python", &e))?;
        let lines: String = routes.iter().map(|(prefix, hop)| format!("{prefix} {hop}\n")).collect();
        fs::write(folder.path().join("routes"), lines).map_err(|e| at("routes for Python", &e))?;
        Ok(folder)
    }
}

fn compare<A: Family>(stream: &Stream<A>, answers: &str) -> Result<(), Fault> {
    let bytes = fs::read(answers).map_err(|e| at(answers, &e))?;
    let (found, _) = bytes.as_chunks::<2>();
    stream.check(&found.iter().map(|hop| u16::from_ne_bytes(*hop)).collect::<Vec<_>>())
}

fn at(what: &str, e: &std::io::Error) -> Fault {
    Fault::Failed(format!("{what}: {e}"))
}

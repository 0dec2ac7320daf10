//! Loading the programs of a router without one, to see whether this kernel takes them.

use ringway::Result;
use ringway_fib::Limits;

use super::maps::{Shared, Tables, cpus};
use super::path::Path;
use super::program::{BEAT, Code, Identity, TAKEN};
use super::spec::Spec;
use super::stages::Stages;

/// What errors name.
const ON: &str = "probe";

/// Loads all programs of a router with small tables. Nothing is attached or pinned.
///
/// # Errors
/// What the kernel says of the program that it refuses.
pub fn try_programs() -> Result<()> {
    let small = Limits { words: 1 << 12 };
    let spec = Spec { limits4: small, limits6: small, groups: 16, ..Spec::default() };
    let cpus = cpus(ON)?;
    let (shared, tables) = (Shared::new(cpus, ON)?, Tables::new(&spec, cpus, ON)?);
    let tables = Some(&tables);
    let code = Code { spec: &spec, cpus, netns: 0, shared: &shared, tables, stages: None, on: ON };
    let stages = Stages::new(cpus, ON)?;
    for path in [Path::Xdp, Path::Tc] {
        code.member(path, Identity::default())?;
        Code { stages: Some(&stages), ..code }.member(path, Identity::default())?;
    }
    code.load(&[BEAT], Identity::default())?;
    code.load(&TAKEN, Identity::default()).map(drop)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_takes_them_or_says_why() {
        let root = rustix::process::geteuid().is_root();
        assert_eq!(super::try_programs().map_err(|e| eprintln!("{e}")).is_ok(), root);
    }
}

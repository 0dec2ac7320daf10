//! Making the port that a name stands for, and the region that several share.

use super::auto::{Chosen, choose};
use super::kinds;
use crate::backend::memif;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Region, RegionSpec, bpf_array};
use crate::port::name::PortName;
use crate::port::{BUF_SIZE, Made, Open, OpenOptions, Port, one_pair};

/// Opens the port that was chosen.
pub(super) fn port(chosen: &Chosen, options: &OpenOptions) -> Result<Port> {
    let options = OpenOptions { zero_copy: chosen.zero_copy(), ..options.clone() };
    Port::assemble(make(&chosen.name, &options)?, &chosen.why)
}

fn make(name: &PortName, options: &OpenOptions) -> Result<Made> {
    check_sharing(name, options)?;
    match kinds::of(name).open {
        Open::Best => make(&choose(name.clone(), &[])?.name, options),
        Open::Alone { open, .. } => open(name, options),
        Open::Around { own_rings, open } => {
            let mut options = options.clone();
            if own_rings && options.region.is_none() {
                options.region = common_region(&[(name, options.zero_copy)], &options)?;
            }
            let inside = make(name.inside().unwrap_or(name), &options)?;
            open(name, inside, &options)
        }
    }
}

/// Refuses options of sharing frames that the port can't do.
fn check_sharing(name: &PortName, options: &OpenOptions) -> Result<()> {
    let refuse = |kind, (what, cure): (&str, &str)| Err(Error::new(kind, name.to_string(), what).cure(cure));
    if let Some(refusal) = (kinds::of(name).refuses)(name, options) {
        return refuse(ErrorKind::Unsupported, refusal);
    }
    // What wraps a port of an interface leaves these options to it.
    if !name.is_of_interface() && (options.take.is_some() || options.copy) {
        let what = "only ports of interfaces can take some frames or copies and leave the rest to the host";
        return refuse(ErrorKind::Invalid, (what, "open it without `take` and `copy`"));
    }
    Ok(())
}

/// How many ports in `name`, the innermost apart, have rings of their own.
fn rings_around(name: &PortName) -> u32 {
    let own = matches!(kinds::of(name).open, Open::Around { own_rings: true, .. });
    u32::from(own) + name.inside().map_or(0, rings_around)
}

/// The region in which all of `names`, with zero copy or without, can be opened, or `None` when each makes its own.
pub(super) fn common_region(names: &[(&PortName, bool)], options: &OpenOptions) -> Result<Option<Region>> {
    let mut spec: Option<RegionSpec> = None;
    for &(name, zero_copy) in names {
        let options = &OpenOptions { zero_copy, ..options.clone() };
        let (one, foreign) = match kinds::of(name.innermost()).open {
            Open::Alone { region, foreign_region, .. } => {
                (region(name.innermost(), options)?, foreign_region)
            }
            _ => (one_pair(options).region(BUF_SIZE), false),
        };
        // Pipes and switch ports lie in regions of their own; what wraps them does not.
        for _ in 0..u32::from(!foreign) + rings_around(name) {
            spec = Some(spec.map_or(one, |s| s.plus(&one)));
        }
    }
    let Some(mut spec) = spec else { return Ok(None) };
    spec.buffers += options.extra_bufs;
    if names.iter().any(|(n, _)| memif::offers_its_buffers(n.innermost())) {
        return Region::with_buffers_apart(&spec).map(Some);
    }
    let bpf = names.iter().map(|(n, _)| n.innermost()).find(|n| matches!(n, PortName::Ebpf { .. }));
    bpf.map_or_else(|| Region::memfd(&spec), |n| bpf_array(&spec, &n.to_string())).map(Some)
}

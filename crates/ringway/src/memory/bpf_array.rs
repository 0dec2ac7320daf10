//! Regions in mapped eBPF arrays, which programs in the kernel reach, too.

use std::os::fd::AsFd;

use super::RegionSpec;
use super::alloc::Alloc;
use super::layout::layout_of;
use super::region::{Backing, Region};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::libbpf::quiet;
use crate::sys::maps::mapped_array;

/// A region's array is one value; the verifier follows offsets up to 512 MiB (BPF_MAX_VAR_OFF) in it.
const REGION_MAX: usize = 1 << 29;

impl Region {
    /// A region in a mapped eBPF array, in which `ebpf:` ports can be opened. Needs privilege; 512 MiB at most.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] without CAP_BPF; [`ErrorKind::Invalid`] when the spec is out of bounds.
    pub fn bpf_array(spec: &RegionSpec) -> Result<Self> {
        bpf_array(spec, "region")
    }
}

/// Makes a region in a mapped eBPF array.
pub(crate) fn bpf_array(spec: &RegionSpec, port: &str) -> Result<Region> {
    quiet();
    let layout = layout_of(spec)?;
    if layout.total > REGION_MAX {
        let what =
            format!("a region of {} MiB is more than the 512 MiB programs can reach", layout.total >> 20);
        return Err(Error::new(ErrorKind::Invalid, port, what).cure("ask for fewer slots"));
    }
    let map = mapped_array("ringway_region", layout.total, 1, port)?;
    let fd = map.as_fd().try_clone_to_owned().map_err(|e| Error::io(port, "dup failed", e))?;
    Region::over(fd, layout, Backing::BpfArray, Alloc::new(&layout))
}

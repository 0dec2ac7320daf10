//! A region that exists, of which some objects are free for one handle: several processes divide one among them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::alloc::Alloc;
use super::free_objects::FreeObjects;
use super::layout::layout_of;
use super::region::{Backing, Region};
use super::{Layout, RegionSpec};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::bpf;

impl Region {
    /// A region over memory that exists: an eBPF array of one value, or a file. Just the objects in `free` are free for this handle, so a
    /// port that is opened in it takes these. The memory is laid out as `spec` says.
    ///
    /// The caller keeps book: no other handle, of any process, has these objects. Nobody makes a file shorter, as nobody
    /// can where it is a memfd whose size is sealed.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the memory is too small, or an object is named twice or does not exist.
    #[doc(hidden)]
    pub fn join(fd: OwnedFd, spec: &RegionSpec, free: FreeObjects) -> Result<Self> {
        let layout = layout_of(spec)?;
        let (backing, bytes) = memory_of(fd.as_fd())?;
        if bytes < layout.total as u64 {
            let what = format!("a region of {} bytes in memory of {bytes}", layout.total);
            return Err(Error::new(ErrorKind::Invalid, "region", what)
                .cure("take the spec that the region was made with"));
        }
        Self::over(fd, layout, backing, Alloc::of(free.checked(&layout)?))
    }

    /// Where the parts of the region lie.
    #[doc(hidden)]
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.shared().layout
    }
}

/// What a descriptor is of, and the bytes that can be mapped.
fn memory_of(fd: BorrowedFd<'_>) -> Result<(Backing, u64)> {
    if let Ok((value, 1)) = bpf::mappable_array(fd) {
        return Ok((Backing::BpfArray, value as u64));
    }
    let meta = fd.try_clone_to_owned().and_then(|copy| File::from(copy).metadata());
    match meta {
        Ok(meta) if meta.is_file() => Ok((Backing::File, meta.len())),
        Ok(_) => Err(Error::io(
            "region",
            "no eBPF array of one value, and no file",
            io::ErrorKind::InvalidInput.into(),
        )
        .with_kind(ErrorKind::Invalid)
        .cure("take the descriptor of a region")),
        Err(e) => Err(Error::io("region", "asking for the size of the memory failed", e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fd;
    use crate::{OpenOptions, Port};

    fn spec() -> RegionSpec {
        RegionSpec { interfaces: 4, rings: 8, slots: 16, buffers: 200, ..RegionSpec::default() }
    }

    fn free() -> FreeObjects {
        FreeObjects { interfaces: vec![2], rings: vec![4, 5], bufs: (100..132).collect() }
    }

    fn fd_of(region: &Region) -> OwnedFd {
        region.as_fd().try_clone_to_owned().unwrap()
    }

    fn refused(fd: OwnedFd, spec: &RegionSpec, free: FreeObjects) {
        let error = Region::join(fd, spec, free).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }

    #[test]
    fn a_port_takes_just_the_objects_that_are_free() {
        let whole = Region::memfd(&spec()).unwrap();
        let joined = Region::join(fd_of(&whole), &spec(), free()).unwrap();
        assert_eq!(
            (joined.backing(), joined.layout(), joined.free_bufs()),
            (Backing::File, whole.layout(), 32)
        );
        let options = OpenOptions::new().slots(16);
        let open = |region: &Region| -> Result<Port> { options.clone().region(region).open("null:") };
        let port = open(&joined).unwrap();
        assert!(open(&joined).is_err(), "no second port");
        assert_eq!(joined.free_bufs(), 0);
        // What is in the memory is what the other handle sees.
        let layout = whole.layout();
        let word = |at: usize| whole.shared().mem.u32(at).load(std::sync::atomic::Ordering::Relaxed);
        let slots = |ring| (0..16).map(move |slot| layout.ring(ring) + 256 + 16 * slot);
        let bufs: Vec<u32> = slots(4).chain(slots(5)).map(word).collect();
        assert_eq!(bufs, (100..132).collect::<Vec<_>>());
        assert_eq!(word(layout.interface(2)), u32::from_ne_bytes(*b"null"));
        drop(port);
        assert!(open(&joined).is_ok(), "what was given back is free again");
    }

    #[test]
    fn memory_that_does_not_fit_is_refused() {
        let region = Region::memfd(&spec()).unwrap();
        refused(fd_of(&region), &RegionSpec { buffers: 400, ..spec() }, free());
        refused(fd::eventfd().unwrap(), &spec(), free());
        refused(File::open("/dev/zero").unwrap().into(), &spec(), free());
        for (interface, ring, buf) in [(4, 0, 2), (0, 8, 2), (0, 0, 1), (0, 0, 200), (0, 0, 199)] {
            let bufs = vec![buf, 199];
            let free = FreeObjects { interfaces: vec![interface], rings: vec![ring], bufs };
            refused(fd_of(&region), &spec(), free);
        }
    }

    #[test]
    fn an_ebpf_array_is_known_as_one() {
        if !crate::sys::is_root() {
            eprintln!("SKIPPED: eBPF arrays need root");
            return;
        }
        let region = Region::bpf_array(&spec()).unwrap();
        let joined = Region::join(fd_of(&region), &spec(), free()).unwrap();
        assert_eq!(joined.backing(), Backing::BpfArray);
        refused(fd_of(&region), &RegionSpec { buffers: 400, ..spec() }, free());
        let bell = crate::sys::maps::bell("rw_test", "test").unwrap();
        refused(bell.as_fd().try_clone_to_owned().unwrap(), &spec(), free());
    }
}

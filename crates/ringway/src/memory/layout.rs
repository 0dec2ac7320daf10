//! Where the parts of a region lie, or why there can't be such a region.

use crate::abi::{Layout, RegionSpec, layout};
use crate::error::{Error, ErrorKind, Result};

// AF_XDP puts received frames where the buffers of a region begin.
const _: () = assert!(layout::HEADROOM == crate::sys::xsk::HEADROOM);

/// Where the parts of the region lie.
///
/// # Errors
/// [`ErrorKind::Invalid`] when a number is out of bounds.
pub(crate) fn layout_of(spec: &RegionSpec) -> Result<Layout> {
    spec.layout().ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "region", format!("{spec:?} is out of bounds"))
            .cure("see RegionSpec for the bounds")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_refused_by_name() {
        let error = layout_of(&RegionSpec { buf_size: 100, ..RegionSpec::default() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("buf_size: 100"), "{error}");
    }
}

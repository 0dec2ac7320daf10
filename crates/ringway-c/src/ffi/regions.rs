//! Memory that ports share, and buffers that belong to no slot.

use std::ffi::{c_int, c_void};

use ringway::{Error, ErrorKind, Region};

use super::ports::Opened;
use super::{check, exclusive, give, invalid, shared, status, store};
use crate::types::{Buf, RegionSpec};

#[unsafe(no_mangle)]
extern "C" fn rw_region_new(spec: *const RegionSpec, region: *mut *mut Region) -> c_int {
    status(|| {
        check(region, "the place for the region")?;
        let RegionSpec { ports, rings, slots, buffers, buf_size, ebpf } = *shared(spec, "the spec")?;
        let spec = ringway::RegionSpec { interfaces: ports, rings, slots, buffers, buf_size };
        let made = if ebpf == 0 { Region::memfd(&spec)? } else { Region::bpf_array(&spec)? };
        store(region, give(made));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_region_free(region: *mut Region) {
    super::free(region);
}

#[unsafe(no_mangle)]
extern "C" fn rw_buf_take(port: *const Opened, buf: *mut Buf) -> c_int {
    status(|| {
        check(buf, "the place for the buffer")?;
        let region = shared(port, "the port")?.port.region();
        let mut taken = region.take_buf().ok_or_else(|| {
            Error::new(ErrorKind::Unfit, "region", "all buffers are in use").cure("open with more extra_bufs")
        })?;
        let (data, size) = (taken.bytes_mut().as_mut_ptr(), region.buf_size());
        let exchanges_in = region.id().cast::<c_void>();
        store(buf, Buf { data, index: taken.into_index(), size, exchanges_in });
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn rw_buf_give(port: *const Opened, buf: *mut Buf) -> c_int {
    status(|| {
        let region = shared(port, "the port")?.port.region();
        let buf = exclusive(buf, "the buffer")?;
        if buf.exchanges_in != region.id().cast() {
            let what = "the buffer is none of the port's region, or was given back";
            return Err(invalid(what.into(), "give back what rw_buf_take() gave, once"));
        }
        // SAFETY: the buffer came from `rw_buf_take`, and the program exchanged its index with slots, but copied it nowhere.
        let token = unsafe { region.buf_from_index(buf.index) };
        if token.is_none() {
            return Err(invalid("the buffer has a wrong index".into(), "leave its fields alone"));
        }
        *buf = Buf::default();
        Ok(0)
    })
}

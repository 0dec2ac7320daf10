//! Runs of programs (`BPF_PROG_RUN`).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

use libbpf_sys as bpf;

use super::errno::check;

/// Runs an XDP program on live frames, once per frame (`BPF_F_TEST_XDP_LIVE_FRAMES`, Linux 5.18).
///
/// `len` is the length of each frame before the program changes it. With `ifindex` the frames seem to have arrived
/// there; without, on the loopback interface of the current network namespace. Fewer frames than asked for are run
/// when a signal is pending; returns whether all were.
pub fn run_live(prog: BorrowedFd<'_>, len: u32, frames: u32, ifindex: Option<u32>) -> io::Result<bool> {
    let data = [0u8; 512];
    let ctx = bpf::xdp_md { data_end: len, ingress_ifindex: ifindex.unwrap_or(0), ..Default::default() };
    let mut opts = bpf::bpf_test_run_opts {
        sz: size_of::<bpf::bpf_test_run_opts>() as _,
        data_in: data.as_ptr().cast(),
        data_size_in: len.min(data.len() as u32),
        repeat: frames as i32,
        flags: bpf::BPF_F_TEST_XDP_LIVE_FRAMES,
        // One page a frame: more than 64 no longer fit the second-level cache together, and are slower.
        batch_size: 64,
        ..Default::default()
    };
    if ifindex.is_some() {
        opts.ctx_in = (&raw const ctx).cast();
        opts.ctx_size_in = size_of::<bpf::xdp_md>() as u32;
    }
    // SAFETY: `opts`, `data` and `ctx` live across the call and carry their sizes.
    match check(unsafe { bpf::bpf_prog_test_run_opts(prog.as_raw_fd(), &mut opts) }) {
        Err(e) if e.raw_os_error() != Some(libc::EINTR) => Err(e),
        ran => Ok(ran.is_ok()),
    }
}

/// Runs a `BPF_PROG_TYPE_SYSCALL` program, which reads and writes `request`, and returns its answer.
pub fn run_syscall<T: Copy, const N: usize>(prog: BorrowedFd<'_>, request: &mut [T; N]) -> io::Result<u32> {
    let mut opts = bpf::bpf_test_run_opts {
        sz: size_of::<bpf::bpf_test_run_opts>() as _,
        ctx_in: request.as_mut_ptr().cast(),
        ctx_size_in: size_of_val(request) as u32,
        ..Default::default()
    };
    // SAFETY: `opts` and `request` live across the call and carry their sizes; callers pass numbers, valid for any bits.
    check(unsafe { bpf::bpf_prog_test_run_opts(prog.as_raw_fd(), &mut opts) })?;
    Ok(opts.retval)
}

/// Runs a program once on `frame`, not live, with a context of its kind unless that is empty; returns its verdict and the frame it left. For
/// tests of this crate and others.
///
/// # Errors
/// What the kernel says.
#[doc(hidden)]
pub fn run_program(program: BorrowedFd<'_>, frame: &[u8], context: &mut [u8]) -> io::Result<(u32, Vec<u8>)> {
    let mut out = vec![0u8; 1 << 16];
    let mut opts = bpf::bpf_test_run_opts {
        sz: size_of::<bpf::bpf_test_run_opts>() as _,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        data_out: out.as_mut_ptr().cast(),
        data_size_out: out.len() as u32,
        repeat: 1,
        ..Default::default()
    };
    if !context.is_empty() {
        (opts.ctx_in, opts.ctx_size_in) = (context.as_ptr().cast(), context.len() as u32);
    }
    // SAFETY: `opts` and all that it names live across the call and carry their sizes.
    check(unsafe { bpf::bpf_prog_test_run_opts(program.as_raw_fd(), &mut opts) })?;
    out.truncate(opts.data_size_out as usize);
    Ok((opts.retval, out))
}

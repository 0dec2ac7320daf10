//! bpf(2): running and attaching programs, maps by id, doorbells.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use libbpf_rs::{AsRawLibbpf, OpenObject};
use libbpf_sys as bpf;

use super::mmap::Mmap;

/// libbpf returns `-errno`.
pub(super) fn check(ret: i32) -> io::Result<i32> {
    if ret < 0 { Err(io::Error::from_raw_os_error(-ret)) } else { Ok(ret) }
}

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

/// An object that was not loaded.
#[derive(Debug)]
pub struct Unloaded {
    /// What libbpf says.
    pub error: libbpf_rs::Error,
    /// A program and what the verifier said of it, when it refused one.
    refused: Option<(String, String)>,
}

impl Unloaded {
    /// The program that the verifier refused, and its log.
    pub fn said(&self) -> Option<(&str, &str)> {
        self.refused.as_ref().map(|(program, log)| (&program[..], &log[..]))
    }
}

/// Loads an object. RINGWAY_LIBBPF_LOG has libbpf print what the verifier says.
pub fn load_object(mut object: OpenObject) -> Result<libbpf_rs::Object, Unloaded> {
    // Zeroed memory of this size costs nothing until it is written; the longest log has its end in it.
    const LOG: usize = 16 << 20;
    let printed = crate::environment::environment("RINGWAY_LIBBPF_LOG").is_some();
    let mut logs = Vec::new();
    for program in object.progs_mut().filter(|p| p.autoload()) {
        let name = program.name().to_string_lossy().into_owned();
        let mut log = vec![0u8; LOG];
        if !printed {
            // SAFETY: the program lives in `object`; libbpf writes to the buffer only while it loads, which ends before the
            // buffer does.
            unsafe {
                bpf::bpf_program__set_log_buf(
                    program.as_libbpf_object().as_ptr(),
                    log.as_mut_ptr().cast(),
                    LOG as _,
                )
            };
        }
        logs.push((name, log));
    }
    object.load().map_err(|error| {
        let said = |(name, log): (String, Vec<u8>)| {
            let len = log.iter().position(|&b| b == 0).unwrap_or(LOG);
            (len > 0).then(|| (name, String::from_utf8_lossy(&log[..len]).into_owned()))
        };
        // The last one that has a log is the one that was refused: libbpf loads one after the other.
        let mut refused = logs.into_iter().filter_map(said).next_back();
        if printed && error.kind() != libbpf_rs::ErrorKind::NotFound && super::is_root() {
            refused = refused.or_else(|| Some(("(see above)".into(), "its log is on standard error".into())));
        }
        Unloaded { error, refused }
    })
}

/// `BPF_F_XDP_HAS_FRAGS` of linux/bpf.h: the program knows frames in several buffers.
pub const XDP_HAS_FRAGS: u32 = 1 << 5;

/// Loads a program made here, called `ringway_take`.
pub fn load(
    kind: bpf::bpf_prog_type,
    attach: bpf::bpf_attach_type,
    flags: u32,
    code: &[bpf::bpf_insn],
) -> io::Result<OwnedFd> {
    let mut opts = bpf::bpf_prog_load_opts {
        sz: size_of::<bpf::bpf_prog_load_opts>() as _,
        expected_attach_type: attach,
        prog_flags: flags,
        ..Default::default()
    };
    let (name, license) = (c"ringway_take".as_ptr(), c"Dual BSD/GPL".as_ptr());
    // SAFETY: all pointers are to NUL-terminated constants or to locals that live across the call; `code` carries its
    // length, `opts` its size. What the instructions may do is for the kernel's verifier to decide.
    let fd =
        check(unsafe { bpf::bpf_prog_load(kind, name, license, code.as_ptr(), code.len() as _, &mut opts) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Attaches a program to an interface for as long as the returned link is open.
pub fn link(
    prog: BorrowedFd<'_>,
    ifindex: u32,
    kind: bpf::bpf_attach_type,
    flags: u32,
) -> io::Result<OwnedFd> {
    // SAFETY: the options are plain data; all zero means "none".
    let mut opts: bpf::bpf_link_create_opts = unsafe { std::mem::zeroed() };
    opts.sz = size_of::<bpf::bpf_link_create_opts>() as _;
    opts.flags = flags;
    // SAFETY: `opts` lives across the call and carries its size.
    let fd = check(unsafe { bpf::bpf_link_create(prog.as_raw_fd(), ifindex as i32, kind, &opts) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What a kernel that does not know a place for programs says to a link there.
pub fn is_unknown_hook(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

/// Detaches what a link attached, for all who hold it.
pub fn detach(link: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { bpf::bpf_link_detach(link.as_raw_fd()) }).map(drop)
}

/// Has a link attach `new` in place of `old`. `ENOLINK` when what it attached to is gone.
pub fn update_link(link: BorrowedFd<'_>, new: BorrowedFd<'_>, old: BorrowedFd<'_>) -> io::Result<()> {
    let opts = bpf::bpf_link_update_opts {
        sz: size_of::<bpf::bpf_link_update_opts>() as _,
        flags: bpf::BPF_F_REPLACE,
        old_prog_fd: old.as_raw_fd() as u32,
        ..Default::default()
    };
    // SAFETY: `opts` lives across the call and carries its size.
    check(unsafe { bpf::bpf_link_update(link.as_raw_fd(), new.as_raw_fd(), &opts) }).map(drop)
}

/// The program that a link attaches.
pub fn program_of(link: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    program_by_id(link_info(link)?.prog_id)
}

/// Whether the interface that a link attaches an XDP program to still exists.
pub fn xdp_lives(link: BorrowedFd<'_>) -> io::Result<bool> {
    let info = link_info(link)?;
    // SAFETY: plain numbers, of which the kernel fills those of the link's type.
    Ok(info.type_ == bpf::BPF_LINK_TYPE_XDP && unsafe { info.__bindgen_anon_1.xdp.ifindex } != 0)
}

/// Whether the interface that a link attaches a program of traffic control to still exists.
pub fn tcx_lives(link: BorrowedFd<'_>) -> io::Result<bool> {
    let info = link_info(link)?;
    // SAFETY: plain numbers, of which the kernel fills those of the link's type.
    Ok(info.type_ == bpf::BPF_LINK_TYPE_TCX && unsafe { info.__bindgen_anon_1.tcx.ifindex } != 0)
}

pub(super) fn link_info(link: BorrowedFd<'_>) -> io::Result<bpf::bpf_link_info> {
    let mut info = bpf::bpf_link_info::default();
    let mut len = size_of::<bpf::bpf_link_info>() as u32;
    // SAFETY: `info` lives across the call and has the length given; zero asks for no strings.
    check(unsafe { bpf::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut len) })?;
    Ok(info)
}

/// Opens a program by its id.
pub fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { bpf::bpf_prog_get_fd_by_id(id) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The program in entry 0 of a `BPF_MAP_TYPE_PROG_ARRAY`.
pub fn program_in(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    check_programs(map)?;
    let (key, mut id) = (0u32, 0u32);
    let (key, value) = (&raw const key, &raw mut id);
    // SAFETY: such maps have keys and values of 32 bits; both live across the call.
    check(unsafe { bpf::bpf_map_lookup_elem(map.as_raw_fd(), key.cast(), value.cast()) })?;
    program_by_id(id)
}

fn check_programs(map: BorrowedFd<'_>) -> io::Result<()> {
    match info(map)?.type_ {
        bpf::BPF_MAP_TYPE_PROG_ARRAY => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

/// Puts a program there.
pub fn put_program(map: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    check_programs(map)?;
    let (key, fd) = (0u32, program.as_raw_fd());
    let (key, value) = (&raw const key, &raw const fd);
    // SAFETY: such maps have keys and values of 32 bits; both live across the call.
    check(unsafe { bpf::bpf_map_update_elem(map.as_raw_fd(), key.cast(), value.cast(), 0) }).map(drop)
}

/// Takes it out; done when there is none.
pub fn take_program(map: BorrowedFd<'_>) -> io::Result<()> {
    check_programs(map)?;
    let key = 0u32;
    // SAFETY: such maps have keys of 32 bits; the key lives across the call.
    match check(unsafe { bpf::bpf_map_delete_elem(map.as_raw_fd(), (&raw const key).cast()) }) {
        Err(e) if e.raw_os_error() != Some(libc::ENOENT) => Err(e),
        _ => Ok(()),
    }
}

/// Attaches a BTF tracepoint program, whose target was fixed at load.
pub fn raw_tracepoint(prog: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: a null name is right for programs with a BTF target.
    let fd = check(unsafe { bpf::bpf_raw_tracepoint_open(std::ptr::null(), prog.as_raw_fd()) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Name of a program, at most 15 characters; empty when it has none or is gone.
pub fn prog_name(id: u32) -> String {
    let info = program_by_id(id).and_then(|fd| prog_info(fd.as_fd()));
    let Ok(info) = info else { return String::new() };
    info.name.iter().map(|&c| c as u8 as char).take_while(|&c| c != '\0').collect()
}

/// The kernel's number of a program.
pub fn prog_id(prog: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(prog_info(prog)?.id)
}

fn prog_info(prog: BorrowedFd<'_>) -> io::Result<bpf::bpf_prog_info> {
    let mut info = bpf::bpf_prog_info::default();
    let mut len = size_of::<bpf::bpf_prog_info>() as u32;
    // SAFETY: `info` lives across the call and has the length given; zero asks for no arrays.
    check(unsafe { bpf::bpf_prog_get_info_by_fd(prog.as_raw_fd(), &mut info, &mut len) })?;
    Ok(info)
}

/// The map of a program that uses just one. `EINVAL` when it uses none or several.
pub fn only_map_of(program: u32) -> io::Result<OwnedFd> {
    let program = program_by_id(program)?;
    let mut ids = [0u32; 1];
    let mut info = bpf::bpf_prog_info {
        nr_map_ids: ids.len() as u32,
        map_ids: ids.as_mut_ptr() as u64,
        ..Default::default()
    };
    let mut len = size_of::<bpf::bpf_prog_info>() as u32;
    // SAFETY: `info` has the length given, `ids` as many places as it says; both live across the call.
    check(unsafe { bpf::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut len) })?;
    if info.nr_map_ids != 1 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    map_by_id(ids[0])
}

/// Opens a map by its id.
pub fn map_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { bpf::bpf_map_get_fd_by_id(id) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn info(map: BorrowedFd<'_>) -> io::Result<bpf::bpf_map_info> {
    let mut info = bpf::bpf_map_info::default();
    let mut len = size_of::<bpf::bpf_map_info>() as u32;
    // SAFETY: `info` lives across the call and has the length given.
    check(unsafe { bpf::bpf_map_get_info_by_fd(map.as_raw_fd(), &mut info, &mut len) })?;
    Ok(info)
}

/// The kernel's number of a map.
pub fn map_id(map: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(info(map)?.id)
}

/// Copies the value at `key` of a plain array map. `EINVAL` when it is another map, or its values have not the length of
/// `out`.
pub fn lookup(map: BorrowedFd<'_>, key: u32, out: &mut [u8]) -> io::Result<()> {
    let is = info(map)?;
    if is.type_ != bpf::BPF_MAP_TYPE_ARRAY || is.value_size as usize != out.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let key = &raw const key;
    // SAFETY: `key` and `out` live across the call, and the map's values have the length of `out`.
    check(unsafe { bpf::bpf_map_lookup_elem(map.as_raw_fd(), key.cast(), out.as_mut_ptr().cast()) }).map(drop)
}

/// A `BPF_MAP_TYPE_RINGBUF` used as a doorbell: programs put a record in, its descriptor becomes readable.
#[derive(Debug)]
pub struct Bell {
    map: OwnedFd,
    consumer: Mmap,
    producer: Mmap,
}

impl Bell {
    /// Maps the ring buffer `map`.
    pub fn new(map: OwnedFd) -> io::Result<Self> {
        // The consumer's position is on the first page, the producer's on the second, which is read-only
        // (kernel/bpf/ringbuf.c, ringbuf_map_mmap_user).
        let consumer = Mmap::shared(map.as_fd(), 4096, 0, true)?;
        let producer = Mmap::shared(map.as_fd(), 4096, 4096, false)?;
        Ok(Self { map, consumer, producer })
    }

    /// Makes the descriptor unreadable again.
    pub fn drain(&self) {
        let end = self.producer.u64(0).load(Acquire);
        self.consumer.u64(0).store(end, Release);
    }

    /// Sleeps until the descriptor is readable, a signal came or the time, in whole milliseconds, is over.
    pub fn wait(&self, limit: Duration) -> io::Result<()> {
        let mut fd = libc::pollfd { fd: self.map.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let ms = limit.as_millis().min(i32::MAX as u128) as i32;
        // SAFETY: one descriptor's record is passed, which lives across the call.
        if unsafe { libc::poll(&raw mut fd, 1, ms) } >= 0 {
            return Ok(());
        }
        let e = io::Error::last_os_error();
        if e.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(e) }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
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

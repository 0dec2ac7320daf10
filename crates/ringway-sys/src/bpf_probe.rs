//! bpf(2) for probing: the smallest programs and maps of each kind, and who is attached to an interface.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_sys as bpf;

use super::bpf::check;

/// A map of one kind.
pub fn map(kind: u32, flags: u32, sizes: (u32, u32), entries: u32) -> io::Result<OwnedFd> {
    let opts = bpf::bpf_map_create_opts {
        sz: size_of::<bpf::bpf_map_create_opts>() as _,
        map_flags: flags,
        ..Default::default()
    };
    // SAFETY: the name is NUL-terminated, `opts` lives across the call and carries its size.
    let fd = check(unsafe {
        bpf::bpf_map_create(kind, c"ringway_probe".as_ptr(), sizes.0, sizes.1, entries, &opts)
    })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A program that does nothing but return `verdict`.
pub fn program(kind: u32, attach: u32, flags: u32, verdict: i32) -> io::Result<OwnedFd> {
    // BPF_ALU64 | BPF_MOV | BPF_K to r0, then BPF_JMP | BPF_EXIT
    // (Documentation/bpf/standardization/instruction-set.rst).
    let code = [
        bpf::bpf_insn { code: 0xb7, imm: verdict, ..Default::default() },
        bpf::bpf_insn { code: 0x95, ..Default::default() },
    ];
    let mut opts = bpf::bpf_prog_load_opts {
        sz: size_of::<bpf::bpf_prog_load_opts>() as _,
        expected_attach_type: attach,
        prog_flags: flags,
        ..Default::default()
    };
    let (name, licence): (&CStr, &CStr) = (c"ringway_probe", c"GPL");
    // SAFETY: strings are NUL-terminated, `code` has two instructions, `opts` carries its size; all live across the
    // call.
    let fd = check(unsafe {
        bpf::bpf_prog_load(kind, name.as_ptr(), licence.as_ptr(), code.as_ptr(), 2, &mut opts)
    })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Runs a `BPF_PROG_TYPE_SYSCALL` program once; what it returned.
pub fn run_syscall(prog: BorrowedFd<'_>) -> io::Result<u32> {
    let mut opts =
        bpf::bpf_test_run_opts { sz: size_of::<bpf::bpf_test_run_opts>() as _, ..Default::default() };
    // SAFETY: `opts` lives across the call and carries its size.
    check(unsafe { bpf::bpf_prog_test_run_opts(prog.as_raw_fd(), &mut opts) })?;
    Ok(opts.retval)
}

/// Whether bpf(2) itself answers: asks about a descriptor that is none. Since Linux 5.16 the kernel refuses that
/// without looking at capabilities, so EPERM comes from a filter or a security module.
pub fn answers() -> io::Result<()> {
    // union bpf_attr, its part `info`: descriptor, length, address.
    let mut attr = [0u32; 4];
    attr[0] = u32::MAX;
    let size = size_of_val(&attr);
    // SAFETY: `attr` has the size given and lives across the call.
    let ret = unsafe { libc::syscall(libc::SYS_bpf, bpf::BPF_OBJ_GET_INFO_BY_FD, attr.as_mut_ptr(), size) };
    match io::Error::last_os_error() {
        e if ret < 0 && matches!(e.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS)) => Err(e),
        _ => Ok(()),
    }
}

/// Makes the queueing discipline that carries tc programs on an interface.
pub fn clsact(ifindex: u32) -> io::Result<()> {
    let mut hook = bpf::bpf_tc_hook {
        sz: size_of::<bpf::bpf_tc_hook>() as _,
        ifindex: ifindex as i32,
        attach_point: bpf::BPF_TC_EGRESS,
        ..Default::default()
    };
    // SAFETY: `hook` lives across the call and carries its size.
    check(unsafe { bpf::bpf_tc_hook_create(&mut hook) }).map(drop)
}

/// Ids of the programs attached at a tcx hook.
pub fn tcx_programs(ifindex: u32, hook: u32) -> io::Result<Vec<u32>> {
    let mut ids = [0u32; 64];
    let mut opts = bpf::bpf_prog_query_opts {
        sz: size_of::<bpf::bpf_prog_query_opts>() as _,
        prog_ids: ids.as_mut_ptr(),
        __bindgen_anon_1: bpf::bpf_prog_query_opts__bindgen_ty_1 { count: ids.len() as u32 },
        ..Default::default()
    };
    // SAFETY: `opts` carries its size and the length of `ids`; both live across the call.
    check(unsafe { bpf::bpf_prog_query_opts(ifindex as i32, hook, &mut opts) })?;
    // SAFETY: a union of two names for the same number.
    let count = unsafe { opts.__bindgen_anon_1.count } as usize;
    Ok(ids[..count.min(ids.len())].to_vec())
}

/// Name of a program.
pub fn program_name(id: u32) -> io::Result<String> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { bpf::bpf_prog_get_fd_by_id(id) })?;
    // SAFETY: the call just made this descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: plain data; all zero asks for nothing beyond the fixed part.
    let mut info: bpf::bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<bpf::bpf_prog_info>() as u32;
    // SAFETY: `info` has `len` bytes and lives across the call.
    check(unsafe { bpf::bpf_obj_get_info_by_fd(fd.as_raw_fd(), (&raw mut info).cast(), &mut len) })?;
    let bytes: Vec<u8> = info.name.iter().map(|&c| c as u8).take_while(|&b| b != 0).collect();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

//! The system's libpcap, loaded when a filter expression is compiled: Ringway neither links nor needs it otherwise.
#![allow(unsafe_code, reason = "it calls a library of C")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Sonames: of Debian and its kin, and of everybody else.
const NAMES: [&CStr; 2] = [c"libpcap.so.0.8", c"libpcap.so.1"];

/// `DLT_EN10MB` and `PCAP_NETMASK_UNKNOWN` of pcap/pcap.h, and the snapshot length that tcpdump uses.
const ETHERNET: c_int = 1;
const NO_NETMASK: u32 = u32::MAX;
const SNAPLEN: c_int = 262_144;

/// An instruction of classic BPF: `struct sock_filter` of linux/filter.h, `struct bpf_insn` of libpcap.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Insn {
    /// Operation.
    pub code: u16,
    /// Instructions to skip when a condition holds.
    pub jt: u8,
    /// Instructions to skip when it does not.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// `struct bpf_program` of pcap/bpf.h.
#[repr(C)]
struct Program {
    len: u32,
    insns: *mut Insn,
}

/// The functions in use, with the signatures of pcap/pcap.h.
struct Library {
    open_dead: unsafe extern "C" fn(c_int, c_int) -> *mut c_void,
    compile: unsafe extern "C" fn(*mut c_void, *mut Program, *const c_char, c_int, u32) -> c_int,
    geterr: unsafe extern "C" fn(*mut c_void) -> *mut c_char,
    freecode: unsafe extern "C" fn(*mut Program),
    close: unsafe extern "C" fn(*mut c_void),
}

/// Why an expression was not compiled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no libpcap here.
    Missing,
    /// What libpcap said.
    Refused(String),
}

/// Compiles `expr` for Ethernet frames of captures, so that no instruction asks for what only a socket knows.
pub(crate) fn compile(expr: &str) -> Result<Vec<Insn>, Failure> {
    // Before 1.8 the compiler had global state.
    static LIBRARY: OnceLock<Option<Mutex<Library>>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| Library::load().map(Mutex::new)).as_ref().ok_or(Failure::Missing)?;
    let text = CString::new(expr).map_err(|_| Failure::Refused("a NUL byte in the expression".into()))?;
    library.lock().unwrap_or_else(PoisonError::into_inner).compile(&text)
}

impl Library {
    fn load() -> Option<Self> {
        // SAFETY: NUL-terminated names; libpcap's initialisers have no demands on the process. The handle is never
        // closed, so the functions stay where they are.
        let open = |name: &&CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NAMES.iter().map(open).find(|h| !h.is_null())?;
        let symbol = |name: &CStr| {
            // SAFETY: a handle that is open and a NUL-terminated name.
            let at = unsafe { libc::dlsym(handle, name.as_ptr()) };
            (!at.is_null()).then_some(at)
        };
        // SAFETY: the types are those that pcap/pcap.h has declared for these functions since libpcap 0.8.
        unsafe {
            use std::mem::transmute;
            Some(Self {
                open_dead: transmute::<*mut c_void, unsafe extern "C" fn(c_int, c_int) -> *mut c_void>(
                    symbol(c"pcap_open_dead")?,
                ),
                compile: transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, *mut Program, *const c_char, c_int, u32) -> c_int,
                >(symbol(c"pcap_compile")?),
                geterr: transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_char>(symbol(
                    c"pcap_geterr",
                )?),
                freecode: transmute::<*mut c_void, unsafe extern "C" fn(*mut Program)>(symbol(
                    c"pcap_freecode",
                )?),
                close: transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(symbol(c"pcap_close")?),
            })
        }
    }

    /// The caller has the lock.
    fn compile(&self, expr: &CStr) -> Result<Vec<Insn>, Failure> {
        let mut program = Program { len: 0, insns: null_mut() };
        // SAFETY: plain numbers.
        let pcap = unsafe { (self.open_dead)(ETHERNET, SNAPLEN) };
        if pcap.is_null() {
            return Err(Failure::Refused("out of memory".into()));
        }
        // SAFETY: `pcap` is open, `program` and `expr` outlive the call. On success `program` points to `len`
        // instructions, which are copied before they are freed; on failure it holds nothing, and the text of the error
        // lives as long as `pcap`, which is closed last and once.
        unsafe {
            let result = match (self.compile)(pcap, &raw mut program, expr.as_ptr(), 1, NO_NETMASK) {
                0 => {
                    let insns = std::slice::from_raw_parts(program.insns, program.len as usize).to_vec();
                    (self.freecode)(&raw mut program);
                    Ok(insns)
                }
                _ => {
                    let text = CStr::from_ptr((self.geterr)(pcap)).to_string_lossy();
                    Err(Failure::Refused(text.lines().collect::<Vec<_>>().join(" ")))
                }
            };
            (self.close)(pcap);
            result
        }
    }
}

/// Runs a program that passed the checks with libpcap's own interpreter; `None` without libpcap. For tests.
#[cfg(test)]
pub(crate) fn interpret(insns: &[Insn], frame: &[u8]) -> Option<u32> {
    type Interpreter = unsafe extern "C" fn(*const Insn, *const u8, u32, u32) -> u32;
    static FUNCTION: OnceLock<Option<Interpreter>> = OnceLock::new();
    let function = (*FUNCTION.get_or_init(|| {
        // SAFETY: as in `load`; the type is that of pcap/bpf.h.
        unsafe {
            let open = |name: &&CStr| libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            let handle = NAMES.iter().map(open).find(|h| !h.is_null())?;
            let at = libc::dlsym(handle, c"bpf_filter".as_ptr());
            (!at.is_null()).then(|| std::mem::transmute::<*mut c_void, Interpreter>(at))
        }
    }))?;
    let len = frame.len() as u32;
    // SAFETY: a checked program stays within its instructions and scratch words, and the interpreter within `len` bytes.
    Some(unsafe { function(insns.as_ptr(), frame.as_ptr(), len, len) })
}

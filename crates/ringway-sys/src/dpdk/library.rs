//! Finding the plugin, loading it, and starting DPDK: once for a process.

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::abi::{ABI, Table};
use crate::environment::environment;
use crate::error::{Error, ErrorKind, Result};
use crate::trusted_file::{is_missing, open_trusted};

/// The plugin's file.
const LIBRARY: &str = "libringway_dpdk.so";

/// Where an installation has it.
const INSTALLED: [&str; 2] = ["/usr/local/lib/ringway", "/usr/lib/ringway"];

/// Arguments of DPDK, unless RINGWAY_DPDK_EAL has others instead: 512 MiB of ordinary memory, of which the kernel gives what is used.
const MEMORY: &str = "--no-huge -m 512";

/// No PCI device has this address. A list of devices that DPDK may take at its start keeps it from all others.
const NO_DEVICE: &str = "ffff:ff:1f.7";

/// DPDK, started.
#[derive(Clone, Copy)]
pub(super) struct Dpdk(pub(super) &'static Table);

impl std::fmt::Debug for Dpdk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dpdk")
    }
}

impl Dpdk {
    /// What failed in the plugin, with `error` as it returned it.
    pub(super) fn failure(self, on: &str, error: c_int) -> Error {
        // SAFETY: the function returns a NUL-terminated text of the calling thread, which is copied before the thread's next call.
        let text = unsafe { CStr::from_ptr((self.0.error)()) }.to_string_lossy();
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        // Where the text says all that is known, the number only tells the kind.
        let kind = match error.saturating_neg() {
            libc::ENOENT => ErrorKind::NotFound,
            libc::EEXIST | libc::EBUSY => ErrorKind::Busy,
            libc::EOPNOTSUPP | libc::ERANGE => ErrorKind::Unsupported,
            libc::EIO => ErrorKind::Io,
            errno => return Error::io(on, text, io::Error::from_raw_os_error(errno)),
        };
        Error::new(kind, on, text)
    }
}

/// DPDK, or why it did not start.
type Started = std::result::Result<Dpdk, (ErrorKind, String)>;

/// DPDK, for the port `on`. The first call loads the plugin and starts DPDK, which starts once in a process: when that fails, each later
/// call fails for the same reason. A plugin that can't be had may be there at the next call.
pub(super) fn start(on: &str) -> Result<Dpdk> {
    static STARTED: Mutex<Option<Started>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*started {
        Some(Ok(dpdk)) => return Ok(*dpdk),
        Some(Err((kind, why))) => {
            return Err(Error::new(*kind, on, why.clone()).cure("start the program again"));
        }
        None => {}
    }
    if crate::is_secure() {
        let what =
            "a process with more rights than its user does not load DPDK, which believes its environment";
        return Err(
            Error::new(ErrorKind::Denied, on, what).cure("run it as root, or with ambient capabilities")
        );
    }
    let (file, path) = find(on)?;
    let dpdk = Dpdk(load(&file, &path, on)?);
    let result = initialise(dpdk, on).map(|()| dpdk);
    *started = Some(result.as_ref().map(|dpdk| *dpdk).map_err(|e| (e.kind(), e.brief())));
    result
}

/// The directory of RINGWAY_LIB alone, or the directories of a build, of an installation of this program, and of the system.
fn directories() -> Vec<PathBuf> {
    if let Some(dir) = environment("RINGWAY_LIB") {
        return vec![dir.into()];
    }
    let exe = std::env::current_exe().unwrap_or_default();
    let beside = exe.parent().unwrap_or(Path::new("/")).to_owned();
    let installed = beside.join("../lib/ringway");
    [beside, installed].into_iter().chain(INSTALLED.map(PathBuf::from)).collect()
}

/// Opens the first that there is; one that others can change is refused, not passed over.
fn find(on: &str) -> Result<(File, PathBuf)> {
    let dirs = directories();
    for dir in &dirs {
        match open_trusted(dir, LIBRARY, on) {
            Err(e) if is_missing(&e) => {}
            found => return found,
        }
    }
    let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
    let what = format!("DPDK's plugin {LIBRARY} is not in {}", dirs.join(", "));
    Err(Error::new(ErrorKind::NotFound, on, what)
        .cure("install Debian's libdpdk-dev and build with `make all`, or name the plugin's directory in RINGWAY_LIB"))
}

/// Loads just the file that was looked at.
fn load(file: &File, path: &Path, on: &str) -> Result<&'static Table> {
    let unfit = |what: String| {
        Error::new(ErrorKind::Unfit, on, what)
            .cure("build the plugin with the program: `make all`, then `make install`")
    };
    let text =
        CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|e| unfit(e.to_string()))?;
    // SAFETY: a NUL-terminated path to a file that nobody else can change. Whatever its initialisers do is the plugin's, which is
    // trusted like this program. It is never unloaded: DPDK's threads run in it.
    let handle =
        unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE) };
    if handle.is_null() {
        return Err(unfit(format!("{} can't be loaded: {}", path.display(), loader_error())));
    }
    // SAFETY: a handle that is open and a NUL-terminated name.
    let table = unsafe { libc::dlsym(handle, c"ringway_dpdk".as_ptr()) };
    if table.is_null() {
        return Err(unfit(format!("{} is not the plugin: it has no symbol ringway_dpdk", path.display())));
    }
    // SAFETY: in each version the symbol begins with two words, and it stays where it is.
    let [abi, size] = unsafe { table.cast::<[u32; 2]>().read() };
    if abi != ABI || size as usize != size_of::<Table>() {
        let what =
            format!("{} speaks version {abi} of the plugin's interface, this program {ABI}", path.display());
        return Err(unfit(what));
    }
    // SAFETY: this version has this table, all of it constant.
    Ok(unsafe { &*table.cast::<Table>() })
}

fn loader_error() -> String {
    // SAFETY: returns null or a NUL-terminated text of the calling thread, which is copied at once.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "for no reason that the loader gives".into();
    }
    // SAFETY: see above; it is not null.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().replace('\n', " ")
}

fn initialise(dpdk: Dpdk, on: &str) -> Result<()> {
    let loud = environment("RINGWAY_DPDK_LOG").is_some();
    let level = if loud { "info" } else { "error" };
    let memory =
        environment("RINGWAY_DPDK_EAL").map_or_else(|| MEMORY.into(), |v| v.to_string_lossy().into_owned());
    let fixed = format!(
        "ringway --no-shconf --no-telemetry --log-level={level} --file-prefix=ringway-{} --lcores=0@({}) -a {NO_DEVICE}",
        std::process::id(),
        own_cpus()
    );
    let words = fixed.split(' ').chain(memory.split_whitespace());
    let words: std::result::Result<Vec<CString>, _> = words.map(CString::new).collect();
    let words = words.map_err(|_| Error::new(ErrorKind::Invalid, on, "a NUL byte in RINGWAY_DPDK_EAL"))?;
    let mut arguments: Vec<*mut c_char> = words.iter().map(|w| w.as_ptr().cast_mut()).collect();
    let count = arguments.len() as c_int;
    arguments.push(std::ptr::null_mut());
    // SAFETY: `count` NUL-terminated words and a null behind them; DPDK exchanges the pointers and keeps none that it does not copy.
    let result = unsafe { (dpdk.0.start)(count, arguments.as_mut_ptr(), loud.into()) };
    if result < 0 {
        let cure = "look at DPDK's log with RINGWAY_DPDK_LOG=1; RINGWAY_DPDK_EAL has other arguments than `--no-huge -m 512`";
        return Err(dpdk.failure(on, result).cure(cure));
    }
    Ok(())
}

/// The CPUs that the calling thread may use: `0,2,3`.
fn own_cpus() -> String {
    // SAFETY: plain bits; all zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most the size of the set.
    let known = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } == 0;
    // SAFETY: reads a bit inside the set.
    let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    let cpus: Vec<_> = (0..libc::CPU_SETSIZE as usize).filter(has).map(|cpu| cpu.to_string()).collect();
    if known && !cpus.is_empty() { cpus.join(",") } else { "0".into() }
}

//! Compiles the eBPF programs in `bpf/` with clang, for kernels on machines of the target's architecture.

mod btf;
mod elf;

use std::path::{Path, PathBuf};
use std::process::Command;

use btf::Btf;

/// Objects that all kernels take: the source, and the name of the object.
const PLAIN: [(&str, &str); 3] =
    [("port/xsk", "xsk"), ("common/probe", "probe"), ("switch/look", "switch_look")];

/// What the library knows of one folder of programs.
struct Layout {
    folder: &'static str,
    /// `config` is what programs have as constants.
    structs: &'static [&'static str],
    /// `numbers` are macros.
    enums: &'static [&'static str],
}

const LAYOUTS: [Layout; 4] = [
    Layout { folder: "port", structs: &["config", "ctl", "kring", "pools"], enums: &["drop", "numbers"] },
    Layout {
        folder: "switch",
        structs: &[
            "config",
            "ctl",
            "fdb",
            "info",
            "look",
            "module_run",
            "port_conf",
            "port_state",
            "request",
            "rx_state",
            "secrets",
            "stages",
            "tx_state",
            "vlans",
        ],
        enums: &["answer", "feature", "numbers", "stage"],
    },
    Layout { folder: "nic", structs: &["nic_config", "nic_cpu", "nic_key"], enums: &["numbers"] },
    Layout {
        folder: "router",
        structs: &[
            "budget",
            "control",
            "counts",
            "hop",
            "hop_count",
            "member",
            "nic_key",
            "router_config",
            "stage_counts",
            "stage_lease",
        ],
        enums: &["cut", "numbers", "outcome", "stage", "verdict"],
    },
];

/// The level of DEFLATE that looks longest for repetitions.
const BEST: u8 = 10;

/// What decides where frames of a switch go, in the order of the numbers in bpf/switch/state.h.
const DECISIONS: [&str; 3] = ["bridge", "hub", "module"];

fn main() {
    let dir = PathBuf::from(env("CARGO_MANIFEST_DIR")).join("bpf");
    println!("cargo::rerun-if-changed={}", dir.display());
    let clang = Clang { dir, out: PathBuf::from(env("OUT_DIR")) };
    for (source, object) in PLAIN {
        pack(&clang.compile(source, object, &[]));
    }
    for (decision, name) in DECISIONS.iter().enumerate() {
        for source in ["switch", "nic"] {
            let (source, object) = (format!("{source}/{source}"), format!("{source}_{name}"));
            for object in clang.compile_builds(&source, &object, decision, &[]) {
                // A user's module is linked to these when a switch is made: the verifier's words about it need the lines.
                if *name != "module" {
                    without_lines(&object);
                }
                pack(&object);
            }
        }
    }
    clang.compile_builds("port/port", "port", 0, &[]).iter().for_each(|object| pack(object));
    for name in ["router", "router_tc"] {
        let source = format!("router/{name}");
        for (object, more) in [(name.to_owned(), &[][..]), (format!("{name}_timed"), &["-DTIMED"])] {
            clang.compile_builds(&source, &object, 0, more).iter().for_each(|object| pack(object));
        }
    }
    let layouts: String = LAYOUTS.iter().map(|layout| clang.layout(layout)).collect();
    std::fs::write(clang.out.join("layout.rs"), layouts).expect("cargo made the folder");
}

struct Clang {
    dir: PathBuf,
    out: PathBuf,
}

impl Clang {
    /// An object in the two builds of bpf/common/loop.h.
    fn compile_builds(&self, source: &str, object: &str, decision: usize, more: &[&str]) -> [PathBuf; 2] {
        let decision = format!("-DDECISION={decision}");
        [("", "-DOLD_KERNEL=0"), ("_old", "-DOLD_KERNEL=1")].map(|(suffix, build)| {
            self.compile(source, &format!("{object}{suffix}"), &[&[&*decision, build], more].concat())
        })
    }

    /// A module of Rust with the places of all members of the structures, and the numbers of the enumerations.
    fn layout(&self, Layout { folder, structs, enums }: &Layout) -> String {
        let object = self.compile(&format!("layout/{folder}"), &format!("layout_{folder}"), &[]);
        let bytes = std::fs::read(object).expect("clang wrote it");
        let (at, len) = elf::section(&bytes, b".BTF").expect("clang -g makes the section");
        let found =
            Btf::new(&bytes[at..at + len]).and_then(|b| b.find()).expect("clang's BTF is as Linux says");
        let missing = |what: &str| panic!("bpf/layout/{folder}.bpf.c has no {what}");
        let struct_text = |wanted: &&str| match found.structs.iter().find(|s| s.name == *wanted) {
            Some(found) => found.to_rust(),
            None => missing(&format!("struct {wanted}")),
        };
        let enum_text = |wanted: &&str| match found.enums.iter().find(|e| e.name == *wanted) {
            Some(found) => found.to_rust(),
            None => missing(&format!("enum {wanted}")),
        };
        let texts: String = structs.iter().map(struct_text).chain(enums.iter().map(enum_text)).collect();
        format!("/// Of `bpf/{folder}/`.\npub mod {folder} {{\n{texts}}}\n")
    }

    fn compile(&self, source: &str, object: &str, more: &[&str]) -> PathBuf {
        let object = self.out.join(format!("{object}.bpf.o"));
        let status = Command::new("clang")
            .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-target", "bpf", "-mcpu=v3"])
            // Debian keeps asm/types.h in the directory of the host's architecture.
            .arg(format!("-I/usr/include/{}-linux-gnu", env("CARGO_CFG_TARGET_ARCH")))
            .arg("-I")
            .arg(&self.dir)
            .args(more)
            .arg("-c")
            .arg(self.dir.join(format!("{source}.bpf.c")))
            .arg("-o")
            .arg(&object)
            .status();
        match status {
            Ok(s) if s.success() => {
                strip(&object);
                object
            }
            Ok(s) => panic!("clang failed on {source}.bpf.c: {s}; `make setup` installs what it needs"),
            Err(e) => panic!("clang can't be run: {e}; `make setup` installs it"),
        }
    }
}

/// Takes what is for debuggers out of an object, a third of its bytes, and what libbpf looks past: relocations of `.BTF.ext`, and a
/// name for each jump. Types and lines for the verifier (BTF) stay. Without llvm-strip the object works the same, and programs that
/// carry it are larger.
fn strip(object: &Path) {
    let done = Command::new("llvm-strip")
        .args(["--strip-debug", "--remove-section=.rel.BTF.ext", "--wildcard", "--strip-symbol=LBB*"])
        .arg(object)
        .status();
    if !done.is_ok_and(|status| status.success()) {
        println!("cargo::warning=eBPF objects keep their debug information: install llvm");
    }
}

/// Takes the numbers of source lines out of an object. The kernel would keep them with each program: 75 KiB.
fn without_lines(object: &Path) {
    let mut bytes = std::fs::read(object).expect("clang wrote it");
    let (at, _) = elf::section(&bytes, b".BTF.ext").expect("clang -g makes the section");
    // struct btf_ext_header: magic, version, flags, hdr_len, then offset and length of functions and of lines, from the header's end.
    let [header, lines, len] = [4, 16, 20].map(|word| {
        let word = bytes[at + word..][..4].try_into().expect("four bytes");
        u32::from_ne_bytes(word) as usize
    });
    bytes[at + header + lines..][..len].fill(0);
    bytes[at + 20..at + 24].fill(0);
    std::fs::write(object, bytes).expect("clang wrote it");
}

/// Writes a packed copy of an object beside it.
fn pack(object: &Path) {
    let bytes = std::fs::read(object).expect("clang wrote it");
    let packed = miniz_oxide::deflate::compress_to_vec(&bytes, BEST);
    std::fs::write(object.with_extension("o.deflate"), packed).expect("cargo made the folder");
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

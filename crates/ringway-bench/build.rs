//! Compiles the peer programs of `peers/` into executables that `src/peers/image.rs` embeds.
//!
//! A peer whose build packages are missing is left out with a warning, and is a named skip at run time. A
//! peer that does not compile although they are there fails the build.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program, the eBPF source it embeds, and what it needs from the build machine.
struct Program {
    name: &'static str,
    bpf: bool,
    probe: &'static str,
    libraries: &'static [&'static str],
    /// Name of a library whose flags pkg-config knows.
    config: Option<&'static str>,
    /// Folders of this repository with headers.
    include: &'static [&'static str],
    packages: &'static str,
}

const PROGRAMS: [Program; 10] = [
    Program {
        name: "pcap",
        bpf: false,
        probe: "#include <pcap/pcap.h>\nint main(void) { return !pcap_lib_version(); }\n",
        libraries: &["-lpcap"],
        config: None,
        include: &[],
        packages: "libpcap-dev",
    },
    plain_program("socket"),
    plain_program("flows"),
    plain_program("idle"),
    Program {
        name: "netmap",
        bpf: false,
        probe: "int main(void) { return 0; }\n",
        libraries: &[],
        config: None,
        include: &[NETMAP_HEADERS],
        packages: "",
    },
    bpf_program("afxdp"),
    bpf_program("xdp"),
    bpf_program("l3"),
    Program {
        name: "fib",
        bpf: false,
        probe: "#include <rte_fib.h>\n#include <rte_fib6.h>\nint main(void) { return !rte_fib_find_existing(\"\"); }\n",
        libraries: &[],
        config: Some("libdpdk"),
        include: &[],
        packages: "libdpdk-dev, pkg-config",
    },
    Program {
        name: "ring",
        bpf: false,
        probe: "#include <rte_mempool.h>\n#include <rte_ring.h>\nint main(void) { return !rte_ring_get_memsize(8); }\n",
        libraries: &["-pthread"],
        config: Some("libdpdk"),
        include: &[],
        packages: "libdpdk-dev, pkg-config",
    },
];

/// One that needs nothing but the system.
const fn plain_program(name: &'static str) -> Program {
    let probe = "int main(void) { return 0; }\n";
    Program { name, bpf: false, probe, libraries: &[], config: None, include: &[], packages: "" }
}

const fn bpf_program(name: &'static str) -> Program {
    let (probe, libraries, packages) = (BPF_PROBE, BPF_LIBRARIES, BPF_PACKAGES);
    Program { name, bpf: true, probe, libraries, config: None, include: &[], packages }
}

/// What programs for netmap include, from this crate's folder.
const NETMAP_HEADERS: &str = "../ringway-netmap/include";

const BPF_PROBE: &str = "#include <bpf/libbpf.h>\nint main(void) { return !libbpf_version_string(); }\n";
const BPF_LIBRARIES: &[&str] = &["-lbpf", "-lelf", "-lz"];
const BPF_PACKAGES: &str = "clang, libbpf-dev, libelf-dev, zlib1g-dev";

fn main() {
    println!("cargo:rerun-if-changed=peers");
    println!("cargo:rerun-if-changed={NETMAP_HEADERS}");
    println!("cargo:rerun-if-env-changed=CLANG");
    let build = Build {
        sources: PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("peers"),
        out: PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")),
        clang: env::var("CLANG").unwrap_or_else(|_| "clang".into()),
    };
    for program in &PROGRAMS {
        let missing = if build.can(program) {
            build.compile(program);
            ""
        } else {
            println!("cargo:rerun-if-changed=/var/lib/dpkg/status"); // looks again when a package was installed
            println!("cargo:warning=peer-{} left out: install {}", program.name, program.packages);
            fs::write(build.executable(program), []).expect("OUT_DIR is writable");
            program.packages
        };
        println!("cargo:rustc-env=PEER_{}_MISSING={missing}", program.name.to_uppercase());
    }
}

struct Build {
    sources: PathBuf,
    out: PathBuf,
    clang: String,
}

impl Build {
    fn executable(&self, program: &Program) -> PathBuf {
        self.out.join(format!("peer-{}", program.name))
    }

    /// True if the build machine has what the program needs.
    fn can(&self, program: &Program) -> bool {
        let source = self.out.join("probe.c");
        fs::write(&source, program.probe).expect("OUT_DIR is writable");
        let linked = output(self.cc(&source, &self.out.join("probe"), program));
        let clang = !program.bpf || Command::new(&self.clang).arg("--version").output().is_ok();
        linked.is_some_and(|o| o.status.success()) && clang
    }

    fn compile(&self, program: &Program) {
        let source = self.sources.join(format!("peer-{}.c", program.name));
        let mut cc = self.cc(&source, &self.executable(program), program);
        if program.bpf {
            cc.arg(format!("-DBPF_OBJECT=\"{}\"", self.bpf_header(program).display()));
        }
        must(cc);
    }

    fn cc(&self, source: &Path, executable: &Path, program: &Program) -> Command {
        let compiler = cc::Build::new().opt_level(2).debug(false).get_compiler();
        let mut cc = compiler.to_command();
        cc.args(["-Wall", "-Wextra", "-Werror"])
            .arg(source)
            .arg("-o")
            .arg(executable)
            .args(program.libraries)
            .args(program.include.iter().map(|folder| format!("-I{folder}")));
        cc.args(program.config.into_iter().flat_map(flags));
        cc
    }

    /// Compiles the eBPF source and writes its object as a C array.
    fn bpf_header(&self, program: &Program) -> PathBuf {
        let source = self.sources.join(format!("peer-{}.bpf.c", program.name));
        let object = self.out.join(format!("peer-{}.bpf.o", program.name));
        let mut clang = Command::new(&self.clang);
        clang.args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3"]);
        if let Some(triple) = multiarch() {
            clang.arg(format!("-I/usr/include/{triple}")); // where Debian keeps asm/types.h
        }
        clang.arg("-c").arg(source).arg("-o").arg(&object);
        must(clang);
        let bytes: Vec<String> =
            fs::read(&object).expect("clang wrote it").iter().map(ToString::to_string).collect();
        let header = object.with_extension("h");
        let array = "static const unsigned char bpf_object_bytes[] __attribute__((aligned(8)))";
        fs::write(&header, format!("{array} = {{ {} }};\n", bytes.join(","))).expect("OUT_DIR is writable");
        header
    }
}

/// The multiarch triple of the build host: eBPF objects need its kernel headers whatever the target is.
fn multiarch() -> Option<String> {
    let mut cc = Command::new("cc");
    cc.arg("-print-multiarch");
    let triple = String::from_utf8(output(cc)?.stdout).ok()?.trim().to_owned();
    (!triple.is_empty()).then_some(triple)
}

/// What pkg-config says of a library. Its headers are not ours to be warned of, and only libraries that are used are linked.
fn flags(library: &str) -> Vec<String> {
    let mut config = Command::new("pkg-config");
    config.args(["--cflags", "--libs", library]);
    let text = output(config).map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let words = text.split_whitespace().map(|w| match w.strip_prefix("-I") {
        Some(folder) => format!("-isystem{folder}"),
        None => w.to_owned(),
    });
    ["-Wl,--as-needed".to_owned()].into_iter().chain(words).collect()
}

fn output(mut command: Command) -> Option<Output> {
    command.output().ok()
}

/// Runs a compiler; its messages are the build's failure.
fn must(mut command: Command) {
    let output = command.output().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

//! A filter before a program of a port, in the kernel.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use super::Filter;
use super::ebpf::{Hook, translate};
use ringway_sys::bpf;
use ringway_sys::error::{Error, ErrorKind, Result};

/// The loaded filter and the array with the program behind it. The kernel empties the array when its last descriptor is
/// closed, so a gate is kept for as long as its program is attached.
#[derive(Debug)]
pub struct Gate {
    filter: Filter,
    entry: OwnedFd,
    _array: MapHandle,
}

impl Gate {
    /// Loads `filter` in front of `then`, a program for the same hook; `port` is for errors.
    pub fn new(filter: &Filter, hook: Hook, then: BorrowedFd<'_>, port: &str) -> Result<Self> {
        let fail = |e: libbpf_rs::Error| {
            Error::new(ErrorKind::Unsupported, port, format!("making the filter's program array failed: {e}"))
        };
        let opts = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
            ..Default::default()
        };
        let array =
            MapHandle::create(MapType::ProgArray, Some("ringway_take"), 4, 4, 1, &opts).map_err(fail)?;
        let fd = then.as_raw_fd().to_ne_bytes();
        array.update(&0u32.to_ne_bytes(), &fd, MapFlags::ANY).map_err(fail)?;
        let code = translate(&filter.0.ops, hook, array.as_fd().as_raw_fd())
            .map_err(|what| Error::new(ErrorKind::Invalid, port, what).cure("take a simpler filter"))?;
        let entry = match hook {
            Hook::Xdp => {
                bpf::load(libbpf_sys::BPF_PROG_TYPE_XDP, libbpf_sys::BPF_XDP, bpf::XDP_HAS_FRAGS, &code)
            }
            Hook::TcxEgress => {
                bpf::load(libbpf_sys::BPF_PROG_TYPE_SCHED_CLS, libbpf_sys::BPF_TCX_EGRESS, 0, &code)
            }
        };
        let entry = entry.map_err(|e| refused(port, e))?;
        Ok(Self { filter: filter.clone(), entry, _array: array })
    }

    /// What it lets through.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The program to attach.
    pub fn entry(&self) -> BorrowedFd<'_> {
        self.entry.as_fd()
    }
}

fn refused(port: &str, e: std::io::Error) -> Error {
    match e.raw_os_error() {
        Some(libc::E2BIG) => {
            Error::new(ErrorKind::Invalid, port, "the filter has too many paths for the kernel's verifier")
                .cure("take a simpler filter")
        }
        Some(libc::EPERM) => Error::io(port, "loading the filter failed", e).cure("run as root"),
        _ => Error::io(port, "loading the filter failed", e).cure("filters in the kernel need Linux 5.18"),
    }
}

#[cfg(test)]
mod tests {
    use libbpf_sys::{BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_XDP, BPF_TCX_EGRESS, BPF_XDP, bpf_insn};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::Insn;
    use crate::tests::{EXPRESSIONS, captured, frame, insn, libpcap, program};

    /// Verdicts: of the program behind the gate, and of the gate.
    const TAKEN: u32 = 1;
    const PASSED: [u32; 2] = [2, u32::MAX];
    const HOOKS: [Hook; 2] = [Hook::Xdp, Hook::TcxEgress];

    fn is_root() -> bool {
        if !ringway_sys::is_root() {
            eprintln!("SKIPPED: loading eBPF programs needs root");
        }
        ringway_sys::is_root()
    }

    /// A program that takes everything: r0 = 1; exit.
    fn taker(hook: Hook) -> OwnedFd {
        let code = [
            bpf_insn { code: 0xb7, imm: TAKEN as i32, ..Default::default() },
            bpf_insn { code: 0x95, ..Default::default() },
        ];
        match hook {
            Hook::Xdp => bpf::load(BPF_PROG_TYPE_XDP, BPF_XDP, bpf::XDP_HAS_FRAGS, &code).unwrap(),
            Hook::TcxEgress => bpf::load(BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_EGRESS, 0, &code).unwrap(),
        }
    }

    /// The filter behind each hook, and whether it takes a frame.
    struct Gates([(Gate, u32); 2], [OwnedFd; 2]);

    impl Gates {
        fn new(filter: &Filter) -> Result<Self> {
            let takers = HOOKS.map(taker);
            let gate =
                |i: usize| Gate::new(filter, HOOKS[i], takers[i].as_fd(), "test").map(|g| (g, PASSED[i]));
            Ok(Self([gate(0)?, gate(1)?], takers))
        }

        fn take(&self, frame: &[u8]) -> [bool; 2] {
            self.0.each_ref().map(|(gate, passed)| {
                match bpf::run_program(gate.entry(), frame, &mut []).unwrap() {
                    (TAKEN, _) => true,
                    (verdict, _) if verdict == *passed => false,
                    (verdict, _) => panic!("verdict {verdict}"),
                }
            })
        }
    }

    #[test]
    fn expressions_take_the_same_frames_in_the_kernel() {
        if !is_root() || !libpcap() {
            return;
        }
        let mut frames: Vec<_> = captured().into_iter().filter(|f| (14..3000).contains(&f.len())).collect();
        let step = frames.len() / 300 + 1;
        frames = frames.into_iter().step_by(step).collect();
        for expr in EXPRESSIONS {
            let filter = Filter::compile(expr).unwrap();
            let gates = Gates::new(&filter).unwrap();
            for f in &frames {
                assert_eq!(gates.take(f), [filter.matches(f); 2], "{expr}: {f:02x?}");
            }
        }
    }

    /// Of a frame in several buffers only the first part can be read directly.
    #[test]
    fn loads_reach_every_byte_of_a_frame_in_several_buffers() {
        if !is_root() {
            return;
        }
        let frame: Vec<u8> = (0..9000u32).map(|i| (i * 7 / 3) as u8).collect();
        for at in (3200..3600).chain([0, 8990, 8995, 8996, 8997, 8999, 9000, 0xfefe, 0xff01, 0xffff, 1 << 20])
        {
            for (code, bytes) in [(0x20, 4), (0x28, 2), (0x30, 1)] {
                let expected =
                    frame.get(at..at + bytes).map(|b| b.iter().fold(0, |v, &b| v << 8 | u32::from(b)));
                for indexed in [0, 0x60] {
                    let x = if indexed == 0 { 0 } else { (at as u32).min(5) };
                    let f = Filter::from_instructions(&[
                        insn(0x01, 0, 0, x),
                        insn(code ^ indexed, 0, 0, at as u32 - x),
                        insn(0x15, 0, 1, expected.unwrap_or_default()),
                        insn(0x06, 0, 0, 1),
                        insn(0x06, 0, 0, 0),
                    ]);
                    let then = taker(Hook::Xdp);
                    let gate = Gate::new(&f.unwrap(), Hook::Xdp, then.as_fd(), "test").unwrap();
                    let taken = bpf::run_program(gate.entry(), &frame, &mut []).unwrap().0 == TAKEN;
                    assert_eq!(taken, expected.is_some(), "{bytes} bytes at {at}");
                }
            }
        }
    }

    #[test]
    fn an_empty_slot_passes_all() {
        if !is_root() {
            return;
        }
        let all = Filter::from_instructions(&[insn(0x06, 0, 0, 1)]).unwrap();
        let Gates([(gate, _), _], takers) = Gates::new(&all).unwrap();
        let Gate { entry, _array: array, .. } = gate;
        assert_eq!(bpf::run_program(entry.as_fd(), &[0; 60], &mut []).unwrap().0, TAKEN);
        drop((array, takers));
        // The kernel empties the array a little later.
        let gone = (0..15_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            bpf::run_program(entry.as_fd(), &[0; 60], &mut []).unwrap().0 == PASSED[0]
        });
        assert!(gone);
    }

    /// `n` comparisons, each of which may be true, then a refusal.
    fn comparisons(n: usize) -> Vec<Insn> {
        let mut all = Vec::new();
        for k in 0..n as u32 {
            all.push(insn(0x28, 0, 0, k % 50));
            all.push(insn(0x15, 0, 1, k));
            all.push(insn(0x06, 0, 0, 1));
        }
        all.push(insn(0x06, 0, 0, 0));
        all
    }

    #[test]
    fn long_filters_load_or_are_refused_by_name() {
        if !is_root() {
            return;
        }
        let filter = Filter::from_instructions(&comparisons(1000)).unwrap();
        let gates = Gates::new(&filter).unwrap();
        let mut frame = [0xff; 60];
        assert_eq!(gates.take(&frame), [false; 2]);
        frame[40..42].copy_from_slice(&990u16.to_be_bytes()); // 990 % 50 = 40
        assert!(filter.matches(&frame));
        assert_eq!(gates.take(&frame), [true; 2]);
        // A jump over all of a longest program's loads.
        let mut longest = vec![insn(0x30, 0, 0, 0); 4096];
        longest[0] = insn(0x05, 0, 0, 4094 - 1);
        longest[4095] = insn(0x06, 0, 0, 1);
        Gates::new(&Filter::from_instructions(&longest).unwrap()).map(drop).unwrap();
        longest[0] = insn(0x15, 0, 254, 0);
        let e = Gates::new(&Filter::from_instructions(&longest).unwrap()).map(drop).unwrap_err();
        assert!(e.to_string().contains("too long"), "{e}");
        // X may have 2^24 values, and the verifier wants to know each: ldb [i]; jeq #1, 0, 3; txa; add #1 << i; tax.
        let choice = |i: u32| {
            let k = [(0x30, 0, i), (0x15, 3, 1), (0x87, 0, 0), (0x04, 0, 1 << i), (0x07, 0, 0)];
            k.map(|(code, jf, k)| insn(code, 0, jf, k))
        };
        let mut wide: Vec<_> = (0..24).flat_map(choice).collect();
        wide.extend([insn(0x50, 0, 0, 0), insn(0x16, 0, 0, 0)]);
        let e = Gates::new(&Filter::from_instructions(&wide).unwrap()).map(drop).unwrap_err();
        assert!(e.to_string().contains("too many paths"), "{e}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn programs_take_the_same_frames_in_the_kernel(program in program(), frames in vec(frame(), 1..16)) {
            if !ringway_sys::is_root() {
                return Ok(());
            }
            let filter = Filter::from_instructions(&program).unwrap();
            let gates = Gates::new(&filter).unwrap();
            for mut frame in frames {
                // BPF_PROG_RUN for tcx takes no shorter frame, and no short one that claims to be IP.
                frame.resize(frame.len().max(18), 0);
                frame[12] = 0xfe;
                prop_assert_eq!(gates.take(&frame), [filter.matches(&frame); 2]);
            }
        }
    }
}

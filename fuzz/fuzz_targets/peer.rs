//! A peer that writes anything into the region of a pipe, between any two steps of this side. Nothing outside the region is read, bursts
//! end, and each frame is counted once.
#![no_main]

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use libfuzzer_sys::fuzz_target;
use ringway::{
    ErrorKind, PipeEnd, Port, forward,
    pipe::{PipeFds, open_pipe_fds, pipe_fds},
};
use ringway_fuzz::Input;

/// Few slots, so that rings are often full and wrap.
const SLOTS: u32 = 8;

/// A pipe with both ends open, and its region as a file. Making one takes long, so one serves for all inputs: its bytes are
/// set to the bytes of a fresh one, and its ends are opened again.
struct Bed {
    fds: PipeFds,
    region: File,
    fresh: Vec<u8>,
}

impl Bed {
    fn new() -> Self {
        let fds = pipe_fds(SLOTS).expect("a pipe");
        let region = File::from(fds.region.try_clone().expect("a descriptor"));
        let len = region.metadata().expect("a size").len() as usize;
        let mut fresh = vec![0; len];
        region.read_exact_at(&mut fresh, 0).expect("the region");
        Self { fds, region, fresh }
    }
}

thread_local!(static BED: RefCell<Bed> = RefCell::new(Bed::new()));

/// Where wild words go: anything before the buffers.
fn wild(bed: &Bed, input: &mut Input<'_>) {
    let buffers = bed.fresh.len() - (2 + 4 * SLOTS as usize) * 2048;
    let word = match input.below(4) {
        0 => input.u32(),
        1 => [0, 1, SLOTS - 1, SLOTS, u32::MAX][input.below(5) as usize],
        2 => input.u16().into(),
        _ => input.below(2 * SLOTS),
    };
    // Control blocks and ring headers with their slots, or anywhere.
    let at = match input.below(3) {
        0 => usize::from(input.u8()) * 4 % 512,
        1 => 8192 + usize::from(input.u16()) * 4 % 2048,
        _ => usize::from(input.u16()) * 4 % buffers,
    };
    bed.region.write_all_at(&word.to_le_bytes(), at as u64).expect("the region takes it");
}

fn synced<T>(result: ringway::Result<T>) {
    if let Err(e) = result {
        assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
    }
}

/// Reads all of what is there, and changes some of it.
fn read(port: &mut Port, max: u32) {
    let mut frames = 0;
    for mut frame in port.rx[0].burst(max) {
        let parts: usize = frame.parts().map(<[u8]>::len).sum();
        assert!(frame.len() == parts && frame.parts().count() <= SLOTS as usize);
        let mut copy = vec![0; frame.len()];
        assert_eq!(frame.copy_to(&mut copy), copy.len());
        let _ = frame.offload();
        frame.bytes_mut().fill(7);
        frames += 1;
    }
    assert!(frames <= max.min(SLOTS), "{frames} frames in a ring of {SLOTS}");
}

fn step(port: &mut Port, other: &mut Port, input: &mut Input<'_>) {
    match input.below(9) {
        0 => synced(port.tx[0].sync()),
        1 => synced(port.rx[0].sync()),
        2 => {
            let len = usize::from(input.u16()) % 9000;
            port.tx[0].push(&vec![1; len]);
        }
        3 => read(port, input.u8().into()),
        4 => {
            let mut burst = port.tx[0].burst();
            while let Some(mut slot) = burst.next_slot() {
                let len = slot.buf().len();
                slot.send(usize::from(input.u16()).min(len) as _);
                if input.is_empty() {
                    break;
                }
            }
        }
        5 => _ = port.rx[0].peek().map(|frame| frame.len()),
        6 => {
            let _ = (port.rx[0].arm(), port.tx[0].arm(), port.tx[0].arm_pending());
        }
        7 => {
            let moved = forward(&mut port.rx[0], &mut other.tx[0], input.u8().into());
            assert!(moved as u32 <= SLOTS);
        }
        _ => {
            assert!(port.rx[0].avail() < SLOTS && port.tx[0].free() < SLOTS && port.tx[0].pending() < SLOTS);
            port.rx[0].fetch(4);
            port.tx[0].fetch(4);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    BED.with_borrow(|bed| {
        bed.region.write_all_at(&bed.fresh, 0).expect("the region takes it");
        let mut input = Input::new(bytes);
        // What the last owner left may be anything, too.
        for _ in 0..input.below(8) {
            wild(bed, &mut input);
        }
        let [mut a, mut b] =
            [PipeEnd::Open, PipeEnd::Close].map(|end| open_pipe_fds(&bed.fds, end).expect("an end"));
        while !input.is_empty() {
            for _ in 0..input.below(4) {
                wild(bed, &mut input);
            }
            if input.u8() & 1 == 0 {
                step(&mut a, &mut b, &mut input)
            } else {
                step(&mut b, &mut a, &mut input)
            }
        }
    });
});

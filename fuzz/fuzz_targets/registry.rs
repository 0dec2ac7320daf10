//! Files by which processes tell of their open ports: sizes and numbers in them are another process's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway::fuzz::registered;
use ringway_fuzz::Input;

/// Bytes of a header, and of a ring's counters.
const HEADER: usize = 2048;
const BLOCK: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let mut file = vec![0; HEADER + usize::from(input.u8() % 16) * BLOCK + usize::from(input.u8() % 8)];
    file[..8].copy_from_slice(b"ringway2");
    while !input.is_empty() {
        let (at, piece) = (usize::from(input.u16()) % file.len(), input.short());
        let end = file.len().min(at + piece.len());
        file[at..end].copy_from_slice(&piece[..end - at]);
    }
    let Some(port) = registered(&file) else { return };
    assert!(port.tx.len() + port.rx.len() <= (file.len() - HEADER) / BLOCK);
    for ring in port.tx.iter().chain(&port.rx) {
        assert!(ring.fill <= ring.slots);
        let _ = (ring.counters.dropped(), ring.counters.to_string());
    }
    assert!(port.name.len() <= 3 * 960 && port.backend.len() <= 3 * 1024);
    let _ = (port.counters.tx.dropped(), port.interface());
});

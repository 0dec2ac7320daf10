//! Fails on a word that only comparisons lead to: `scripts/fuzz --self-test` looks whether that is found and told.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if bytes.len() >= 8
        && u64::from_le_bytes(std::array::from_fn(|k| bytes[k])) == u64::from_le_bytes(*b"ringway!")
    {
        let one_behind = bytes.len();
        std::hint::black_box(bytes[std::hint::black_box(one_behind)]);
    }
});

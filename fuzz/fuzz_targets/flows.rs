//! Stories as text, and bundles as bytes. A text is refused with its places, or becomes a bundle that the verifier accepts; a bundle is
//! refused with its reason, or is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_flows::code::{decode, encode, is_laboratory, list};
use ringway_flows::compile::{Options, Source, compile};
use ringway_fuzz::one_line;

/// Pools in front of each second text, so that more of them mean something.
const POOLS: &str = "pool a = 198.18.0.0/24\npool b = 198.19.0.0/24\n";

fn story(text: &str) {
    let read = |_: &str| Ok(b"10: 5\n".to_vec());
    match compile(&Source { name: "fuzz.flow", text, read: &read }, &Options::default()) {
        Ok(bundle) => {
            assert!(
                bundle.pools.iter().flat_map(|pool| &pool.ranges).all(is_laboratory),
                "a pool got around the guard"
            );
            assert_eq!(decode(&encode(&bundle)).as_ref(), Ok(&bundle), "what is written is read again");
        }
        Err(errors) => {
            assert!(!errors.list.is_empty(), "no bundle and no error");
            let shown = errors.to_string();
            assert!(!shown.contains("the verifier refuses it"), "the compiler is wrong: {shown}");
            for diagnostic in &errors.list {
                one_line(&diagnostic.message);
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    match (kind & 3, std::str::from_utf8(rest)) {
        (0, _) => match decode(rest) {
            Ok(bundle) => {
                assert!(list(&bundle).len() >= bundle.flows.len(), "each flow is listed");
                assert_eq!(encode(&bundle), rest, "what is read is written as it was");
            }
            Err(why) => one_line(&why.to_string()),
        },
        (1, Ok(text)) => story(text),
        (_, Ok(text)) => story(&format!("{POOLS}{text}")),
        _ => {}
    }
});

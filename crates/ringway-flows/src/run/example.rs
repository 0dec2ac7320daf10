//! Bundles for tests.

use crate::code::Bundle;
use crate::compile::{Options, Source, compile};

const POOLS: &str = "pool inside = 198.18.0.0/24 port 10000..60999\npool outside = 198.19.0.0/28\n";

/// A text behind two pools.
pub(crate) fn bundle(text: &str) -> Bundle {
    let text = format!("{POOLS}{text}");
    let source = Source { name: "test.flow", text: &text, read: &|name| Err(format!("{name} is not here")) };
    compile(&source, &Options::default()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A story of one request and one reply.
pub(crate) const ASK: &str = r#"
    flow ask(size = 1..3000 B) {
      tcp c = inside -> outside : 80  timeout 5 s
      c > "get " hex(rand32) "\r\n"
      c < random(size)
      c > close
    }
"#;

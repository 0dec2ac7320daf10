//! A build without the feature `bench` says how to get the commands that it lacks.

#![cfg(not(feature = "bench"))]

mod support;

use support::run;

#[test]
fn benchmarks_and_the_demonstration_name_the_cure() {
    for words in [&["bench"][..], &["bench", "io", "--help"], &["demo", "--seconds", "0.2"], &["demo"]] {
        let ended = run(words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{words:?}: {ended:?}");
        let cure = "ringway: built without benchmarks: cargo build --release -p ringway-cli --features bench [E0006]";
        assert_eq!(ended.stderr.trim_end(), cure, "{words:?}");
    }
    let help = run(&["--help"]).stdout;
    assert!(
        help.contains("\n  rfc2544 ") && !help.contains("\n  bench ") && !help.contains("\n  demo "),
        "{help}"
    );
}

//! Texts that want to be slow, or to get around the guards.

use ringway_flows::code::{Bundle, Kind, Place, What, is_laboratory};
use ringway_flows::compile::{Options, Source, compile};

/// Compiles a text with these files beside it.
fn with_files(text: &str, files: &[(&str, &str)], options: &Options) -> Result<Bundle, String> {
    let read = |path: &str| {
        let known = files.iter().find(|(name, _)| *name == path);
        known.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| "no such file".to_owned())
    };
    compile(&Source { name: "main.flow", text, read: &read }, options).map_err(|errors| errors.to_string())
}

/// What the guards promise of each bundle.
pub(super) fn guarded(bundle: &Bundle) {
    assert!(bundle.pools.iter().flat_map(|pool| &pool.ranges).all(is_laboratory));
    let inside = |place: Place| match place {
        Place::Fixed(address) => bundle.pools.iter().any(|pool| pool.contains(address)),
        _ => true,
    };
    for flow in &bundle.flows {
        assert!(flow.connections.iter().all(|c| inside(c.client) && inside(c.server)));
    }
    assert!(bundle.raws.iter().all(|raw| inside(raw.source) && inside(raw.target)));
    for load in &bundle.plan.loads {
        let What::Flow(index) = load.what else { continue };
        if bundle.flows[index as usize].kind == Kind::Attack {
            assert!(!load.phases.is_empty() && load.phases.iter().all(|phase| phase.length < 1 << 53));
        }
    }
}

#[test]
fn texts_that_want_to_be_deep_or_long_are_refused() {
    let story = |body: &str| {
        format!(
            "pool a = 198.18.0.0/24\npool b = 198.19.0.0/24\nflow f {{\ntcp c = a -> b : 80\n{body}\nc > close\n}}"
        )
    };
    let refused = |text: &str, why: &str| {
        let errors = with_files(text, &[], &Options::default()).unwrap_err();
        assert!(errors.contains(why), "{why} is not in {errors}");
    };
    let deep = 100_000;
    refused(&story(&format!("check {}1{}", "(".repeat(deep), ")".repeat(deep))), "more than 200 operations");
    refused(&story(&format!("check {}1", "not ".repeat(deep))), "more than 200 operations");
    refused(&story(&format!("check 1{}", " + 1".repeat(deep))), "more than 200 operations");
    refused(&story(&format!("c > {}1", "hex(".repeat(deep))), "more than 200 operations");
    refused(&story(&"repeat 2 { ".repeat(deep)), "more than 32 deep");
    refused(&story(&"if 1 { } else ".repeat(deep)), "more than 32 deep");
    refused(&story(&format!("c > {}", "\"a\" ".repeat(deep))), "more than 10000 parts");
    refused(&story("c > random(2 M * 2 M * 2 M)"), "too large");
    refused(&story("c > random(18446744073709551616)"), "does not fit into 64 bits");
    refused(&story(&"c > \"a\"\n".repeat(70_000)), "more than 65536 instructions");
    // Each name is twice as long as the one before.
    let doubled: String = (1..40).map(|i| format!("let x{i} = x{} x{}\n", i - 1, i - 1)).collect();
    refused(&story(&format!("let x0 = \"0123456789\"\n{doubled}")), "longer than 1 MiB");
    // Many of everything.
    let many = |line: &dyn Fn(usize) -> String| (0..60_000).map(line).collect::<String>();
    refused(&story(&many(&|i| format!("let x{i} = {i}\n"))), "more than 1000 names");
    refused(&story(&many(&|i| format!("count x{i}\n"))), "at most 64 counters");
    refused(&story(&many(&|i| format!("measure x{i} {{ }}\n"))), "at most 64 latencies");
    refused(&story(&many(&|i| format!("check x{i} > 1\n"))), "is not known");
    refused(&many(&|i| format!("pool x{i} = 198.18.0.0/24\n")), "at most 256 pools");
    let ranges = many(&|i| format!(", 10.{}.{}.0/24", i / 250, i % 250));
    refused(&format!("pool x = 198.18.0.0/24{ranges}"), "at most 256 pools");
    let draws = many(&|i| format!("think 0..{} ns\n", i + 10));
    refused(&story(&draws), "more than 65536 instructions");
    refused(
        &format!("pool a = 198.18.0.0/24\nexpect {{\n{}}}", many(&|_| "complete > 1 %\n".to_owned())),
        "1000 expectations",
    );
    refused(&"a".repeat(5 << 20), "longer than 4 MiB");
}

#[test]
fn includes_end() {
    let options = Options::default();
    // A file that includes itself is read once.
    let circle = with_files("include \"main.flow\"\npool a = 198.18.0.0/24", &[], &options).unwrap();
    assert_eq!(circle.pools.len(), 1);
    let names: Vec<_> =
        (0..30).map(|i| (format!("{i}.flow"), format!("include \"{}.flow\"", i + 1))).collect();
    let files: Vec<_> = names.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let errors = with_files("include \"0.flow\"", &files, &options).unwrap_err();
    assert!(errors.contains("more than 16 deep"), "{errors}");
}

#[test]
fn nothing_gets_around_the_guards() {
    let pools = "pool inside = 198.18.0.0/24\npool outside = 198.19.0.0/24\n";
    let attack = "attack a(target = outside) { raw tcp inside* -> target : 80 flags S }\n";
    let defines = |name: &str, value: &str| Options {
        defines: vec![(name.to_owned(), value.to_owned())],
        ..Options::default()
    };
    let refused = |text: &str, files: &[(&str, &str)], options: &Options, why: &str| {
        let errors = with_files(text, files, options).unwrap_err();
        assert!(errors.contains(why), "{why} is not in {errors}");
    };
    let run = format!("{pools}{attack}run {{ a rate 10 pkt/s for 5 s }}");
    guarded(&with_files(&run, &[], &Options::default()).unwrap());
    // A target of the command line.
    refused(&run, &[], &defines("target", "8.8.8.8"), "lies in no pool");
    refused(&run, &[], &defines("a.target", "198.20.0.1"), "lies in no pool");
    refused(&run, &[], &defines("a.target", "5 s"), "of another type");
    // A time of the command line.
    let timed = format!("{pools}{attack}define long = 5 s\nrun {{ a rate 10 pkt/s for long }}");
    guarded(&with_files(&timed, &[], &defines("long", "7 s")).unwrap());
    refused(&timed, &[], &defines("long", "0 s"), "a phase lasts above 0");
    refused(&timed, &[], &defines("long", "10000 h"), "at most 30 days");
    refused(&timed, &[], &defines("long", "1 KiB"), "of another type");
    refused(&timed, &[], &defines("lnog", "1 s"), "no `define` and no parameter is called `lnog`");
    // A pool, a run and an attack that an include brings.
    let include = "include \"other.flow\"\n";
    refused(
        include,
        &[("other.flow", "pool p = 9.0.0.0/8")],
        &Options::default(),
        "set aside for laboratories",
    );
    let other = format!("{attack}run {{ a rate 10 pkt/s }}");
    refused(
        &format!("{pools}{include}"),
        &[("other.flow", &other)],
        &Options::default(),
        "needs a time limit",
    );
    let both = format!("{pools}{attack}{include}run {{ a rate 1 pkt/s for 1 s }}");
    let second = [("other.flow", "run { a rate 1 pkt/s for 1 s }")];
    refused(&both, &second, &Options::default(), "there is one run");
    // With a reason, and only then, pools lie anywhere.
    let anywhere = "pool p = 9.0.0.0/8";
    refused(anywhere, &[], &Options::default(), "set aside for laboratories");
    let lab = Options { lab: "a closed room".to_owned(), ..Options::default() };
    assert_eq!(with_files(anywhere, &[], &lab).unwrap().lab, "a closed room");
}

#[test]
fn values_of_the_command_line_replace_defaults() {
    let text = "pool a = 198.18.0.0/24\npool b = 198.19.0.0/24\ndefine port = 80\nflow f(size = 1 KiB, n = 1..4) {\n\
                tcp c = a -> b : port\nrepeat n { c > random(size) }\nc > close\n}\n";
    let options = Options {
        defines: vec![
            ("port".to_owned(), "8080".to_owned()),
            ("size".to_owned(), "64KiB".to_owned()),
            ("f.n".to_owned(), "2".to_owned()),
        ],
        ..Options::default()
    };
    let bundle = with_files(text, &[], &options).unwrap();
    let flow = &bundle.flows[0];
    assert_eq!(flow.connections[0].port, ringway_flows::code::ToPort::Fixed(8080));
    assert_eq!(flow.estimate.payload, 2 * 64 * 1024);
}

//! Texts of stories, right and wrong, through the compiler.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

use ringway_flows::code::{Bundle, decode, encode, list};
use ringway_flows::compile::{Options, Source, compile};

/// The folder of the stories.
const STORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/");

/// Compiles a text, which may name files of the folder of stories.
fn text(name: &str, text: &str, options: &Options) -> Result<Bundle, String> {
    let read = |path: &str| std::fs::read(format!("{STORIES}{path}")).map_err(|error| error.to_string());
    compile(&Source { name, text, read: &read }, options).map_err(|errors| errors.to_string())
}

/// Compiles a file of the folder of stories.
fn story(name: &str) -> Result<Bundle, String> {
    text(name, &std::fs::read_to_string(format!("{STORIES}{name}")).unwrap(), &Options::default())
}

#[test]
fn the_example_of_the_reference_compiles_whole() {
    let bundle = story("example.flow").unwrap_or_else(|errors| panic!("{errors}"));
    let flows: Vec<_> = bundle.flows.iter().map(|flow| bundle.name(flow.name)).collect();
    assert_eq!(flows, ["lookup", "web", "ftp_get(size = 64 KiB)", "syn_flood(target = 198.19.0.1)"]);
    golden("example.plan", &format!("{:#?}\n{:#?}\n", bundle.plan, bundle.expectations));
}

#[test]
fn all_stories_compile() {
    let mut count = 0;
    for entry in std::fs::read_dir(STORIES).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".flow") {
            continue;
        }
        let bundle = story(&name).unwrap_or_else(|errors| panic!("{name}:\n{errors}"));
        assert_eq!(decode(&encode(&bundle)).unwrap(), bundle, "{name}");
        golden(&name.replace(".flow", ".list"), &list(&bundle));
        count += 1;
    }
    assert!(count >= 10, "only {count} stories");
}

#[test]
fn each_attack_compiles_with_a_rate_and_a_time() {
    let all = std::fs::read_to_string(format!("{STORIES}attacks.flow")).unwrap();
    let (attacks, _) = all.split_once("\nrun {").unwrap();
    let names = attacks.lines().filter_map(|line| line.strip_prefix("attack ")?.split('(').next());
    let names: Vec<_> = names.collect();
    let loads = names.iter().map(|name| format!("  {name} rate 10 flows/s for 1 s target outside\n"));
    let whole = format!("{attacks}\nrun {{\n{}}}\n", loads.collect::<String>());
    let bundle =
        text("attacks.flow", &whole, &Options::default()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(bundle.plan.loads.len(), names.len());
    assert!(names.len() > 25, "only {} attacks", names.len());
    golden("each-attack.list", &list(&bundle));
}

#[test]
fn the_examples_of_the_guide_compile() {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stories.md")).unwrap();
    let blocks: Vec<&str> =
        guide.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [file, error, attacks] = blocks[..] else { panic!("the guide has {} blocks", blocks.len()) };
    let whole = text("guide", file, &Options::default()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(whole.flows.len(), 2);
    let known =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/wrong.txt")).unwrap();
    let drawing = |text: &str| text.replace("ftp.flow", "wrong.flow");
    assert!(known.contains(&drawing(error)), "the error of the guide is not a known one");
    let pools = file.lines().take(2).collect::<Vec<_>>().join("\n");
    let run =
        "run { syn_flood rate 1 pkt/s for 1 s target outside\nscan rate 1 flows/s for 1 s target outside }";
    text("guide", &format!("{pools}\n{attacks}\n{run}"), &Options::default())
        .unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn estimates_count_the_packets_of_the_reference() {
    let packets = |file: &str, name: &str| {
        let bundle = story(file).unwrap();
        let flow = bundle.flows.iter().find(|flow| bundle.name(flow.name) == name).unwrap();
        flow.estimate.milli_packets / 1_000
    };
    // The table of the paper's workload has 30 packets with a file of one segment.
    assert_eq!(packets("ftp.flow", "ftp_get"), 30);
    assert_eq!(packets("dns.flow", "lookup"), 2);
    assert_eq!(packets("dns.flow", "lookup_truncated"), 2 + 3 + 2 + 3);
}

#[test]
fn wrong_texts_are_refused_with_the_known_words() {
    let pools = "pool inside = 198.18.0.0/18\npool outside = 198.19.0.0/20";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrong.txt");
    let all = std::fs::read_to_string(path).unwrap();
    let mut said = String::new();
    for case in all.split("\n=== ").skip(1) {
        let (name, body) = case.split_once('\n').unwrap();
        let body = body.replace("POOLS", pools);
        let errors = text("wrong.flow", &body, &Options::default()).expect_err(name);
        assert!(!errors.contains("the verifier refuses it"), "{name}: {errors}");
        said.push_str(&format!("=== {name}\n{errors}"));
    }
    golden("wrong.txt", &said);
}

/// Compares with a file of the folder of golden files. With `RINGWAY_GOLDEN=write` it writes the file instead.
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("RINGWAY_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((line, (new, old))) =
        text.lines().zip(known.lines()).enumerate().find(|(_, (new, old))| new != old)
    {
        panic!("{name}, line {}:\n  new {new}\n  old {old}", line + 1);
    }
    assert_eq!(text.lines().count(), known.lines().count(), "{name} has lines more or less");
}

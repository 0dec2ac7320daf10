//! The programs as clang's assembly.

use std::collections::BTreeMap;
use std::process::Command;

/// The instructions of each function of `source`, a file in `bpf/`.
pub(crate) fn functions(source: &str, definitions: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut all = with_labels(source, definitions);
    all.values_mut().for_each(|lines| lines.retain(|line| !line.ends_with(':')));
    all
}

/// The same with lines such as `LBB_7:`, where jumps go.
pub(crate) fn with_labels(source: &str, definitions: &[&str]) -> BTreeMap<String, Vec<String>> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf");
    let ended = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-S", "-o", "-"])
        .args([&format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH), "-I", dir])
        .args(definitions)
        .arg(format!("{dir}/{source}.bpf.c"))
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    parse(&String::from_utf8(ended.stdout).unwrap())
}

/// Labels of jumps have the number of their function, which other functions move.
fn parse(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    let mut name = None;
    for line in text.lines().map(str::trim) {
        if let Some(label) = line.split_once(':').map(|(label, _)| label).filter(|l| is_name(l)) {
            name = Some(label.to_owned());
        } else if line.starts_with(".Lfunc_end") {
            name = None;
        } else if let Some(name) = name.as_ref().filter(|_| is_instruction(line) || line.starts_with("LBB")) {
            let place: &mut Vec<String> = all.entry(name.clone()).or_default();
            let end =
                line.find(':').filter(|_| line.starts_with("LBB")).map_or(line.len(), |colon| colon + 1);
            place.push(without_number(&line[..end]));
        }
    }
    all
}

fn is_name(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_lowercase())
        && label.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn is_instruction(line: &str) -> bool {
    let is_label = line.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    !(line.is_empty() || line.starts_with(['.', '#']) || is_label)
}

fn without_number(line: &str) -> String {
    let Some((before, after)) = line.split_once("LBB") else { return line.to_owned() };
    format!("{before}LBB{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[test]
fn assembly_is_read_as_functions() {
    let text = "\t.globl f\nf:          # @f\n.Lfunc_begin0:\n\t.loc 1 2\n\tr0 = 1\n\tif r0 > 2 goto LBB3_7\n\
                LBB3_7:   # %x\n1:\n\tcall 5\n\texit\n.Lfunc_end0:\n\tr0 = 9\n";
    let found = parse(text);
    assert_eq!(found["f"], ["r0 = 1", "if r0 > 2 goto LBB_7", "LBB_7:", "call 5", "exit"]);
}

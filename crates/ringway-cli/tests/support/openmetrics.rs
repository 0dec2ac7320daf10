//! A strict reader of OpenMetrics text 1.0, written after its specification and independent of what writes it: it panics
//! at whatever breaks a rule.

use std::collections::{BTreeMap, HashSet};

/// Labels by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// A family with its samples.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) unit: String,
    pub(crate) samples: Vec<(Labels, f64)>,
}

/// All families of `text` by name.
pub(crate) fn parse(text: &str) -> BTreeMap<String, Family> {
    let body = text.strip_suffix("# EOF\n").expect("the end mark is the last line");
    assert!(body.is_empty() || body.ends_with('\n'), "{body}");
    let mut families = BTreeMap::new();
    let mut current = String::new();
    let mut seen = HashSet::new();
    for line in body.lines() {
        assert!(!line.is_empty(), "empty lines are not allowed");
        if let Some(metadata) = line.strip_prefix("# ") {
            let [kind, name, value] = metadata.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            if name != current {
                assert!(!families.contains_key(name), "families are not mixed: {line}");
                current = name.to_owned();
                let family = Family { kind: String::new(), unit: String::new(), samples: Vec::new() };
                families.insert(current.clone(), family);
            }
            let family = families.get_mut(name).unwrap();
            assert!(family.samples.is_empty(), "metadata come before samples: {line}");
            assert!(seen.insert(format!("{kind} {name}")), "once for each family: {line}");
            describe(family, kind, name, value);
        } else {
            let family = families.get_mut(&current).unwrap_or_else(|| panic!("no metadata: {line}"));
            let (labels, value) = sample(family, &current, line);
            let series = format!("{current} {labels:?}");
            assert!(seen.insert(series), "the same labels twice: {line}");
            family.samples.push((labels, value));
        }
    }
    families
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn describe(family: &mut Family, kind: &str, name: &str, value: &str) {
    assert!(is_name(name), "{name}");
    let reserved = ["_total", "_created", "_info", "_count", "_sum", "_bucket"];
    assert!(!reserved.iter().any(|suffix| name.ends_with(suffix)), "{name}: the suffix is for samples");
    match kind {
        "HELP" => assert!(!value.is_empty() && !value.contains(['\\', '"']), "{value}"),
        "TYPE" => {
            assert!(["counter", "gauge", "info"].contains(&value), "{value}");
            family.kind = value.into();
        }
        "UNIT" => {
            assert!(name.ends_with(&format!("_{value}")), "{name} ends with its unit {value}");
            family.unit = value.into();
        }
        _ => panic!("{kind} is no metadata"),
    }
}

/// Reads `NAME{LABELS} VALUE`, the only shape that is written here.
fn sample(family: &Family, name: &str, line: &str) -> (Labels, f64) {
    let suffix = match family.kind.as_str() {
        "counter" => "_total",
        "info" => "_info",
        "gauge" => "",
        other => panic!("no type, or an odd one: {other:?}"),
    };
    let rest = line.strip_prefix(name).and_then(|l| l.strip_prefix(suffix));
    let rest = rest.and_then(|l| l.strip_prefix('{')).unwrap_or_else(|| panic!("{name}{suffix}: {line}"));
    let (labels, rest) = labels(rest);
    let number = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    assert!(number.bytes().all(|b| b.is_ascii_digit() || b == b'.'), "{line}");
    let value: f64 = number.parse().unwrap();
    assert!(family.kind != "info" || value == 1.0, "{line}");
    (labels, value)
}

/// Reads labels up to the closing brace; returns what comes after it.
fn labels(mut rest: &str) -> (Labels, &str) {
    let mut all = Labels::new();
    loop {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{rest}"));
        assert!(is_name(name) && !name.starts_with("__"), "{name}");
        let mut value = String::new();
        let mut chars = after.chars();
        loop {
            match chars.next() {
                Some('"') => break,
                Some('\\') => value.push(match chars.next() {
                    Some('n') => '\n',
                    Some(c @ ('\\' | '"')) => c,
                    other => panic!("\\{other:?}: {rest}"),
                }),
                Some(c) if c != '\n' => value.push(c),
                other => panic!("{other:?}: {rest}"),
            }
        }
        assert!(all.insert(name.into(), value).is_none(), "{name} twice: {rest}");
        rest = chars.as_str();
        if let Some(after) = rest.strip_prefix('}') {
            return (all, after);
        }
        rest = rest.strip_prefix(',').unwrap_or_else(|| panic!("{rest}"));
    }
}

impl Family {
    /// The sample that has all these labels; there must be one.
    pub(crate) fn value(&self, labels: &[(&str, &str)]) -> f64 {
        let has =
            |all: &Labels| labels.iter().all(|(name, value)| all.get(*name).is_some_and(|v| v == value));
        let found: Vec<_> = self.samples.iter().filter(|(all, _)| has(all)).collect();
        let [(_, value)] = found[..] else { panic!("{labels:?}: {found:?}") };
        *value
    }
}

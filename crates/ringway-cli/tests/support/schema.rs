//! docs/json.md as a test reads it: the keys of each command, and their types.

use std::collections::HashMap;
use std::fs;

use serde_json::Value;

/// The page.
pub(crate) struct Schema(HashMap<String, Section>);

/// What stands below a heading.
#[derive(Debug, Default)]
struct Section {
    /// Path of a key and its type.
    keys: HashMap<String, String>,
    /// Other sections whose keys are there, too.
    includes: Vec<String>,
}

impl Schema {
    pub(crate) fn read() -> Self {
        let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
        let (mut sections, mut name) = (HashMap::new(), String::new());
        for line in page.lines() {
            if let Some(heading) = line.strip_prefix('#') {
                name = heading.trim_start_matches('#').trim().replace('`', "");
                let before = sections.insert(anchor(&name), Section::default());
                assert!(before.is_none(), "{name} is there twice");
            } else if let Some(section) = sections.get_mut(&anchor(&name)) {
                section.add(line);
            }
        }
        Self(sections)
    }

    /// The commands that have a section.
    pub(crate) fn has(&self, command: &str) -> bool {
        self.0.contains_key(&anchor(&format!("ringway {command}")))
    }

    /// Each key of the object is in the section of the command, with its type.
    pub(crate) fn check(&self, command: &str, object: &Value) {
        let mut faults = Vec::new();
        self.object(&anchor(&format!("ringway {command}")), "", object, &mut faults);
        assert!(faults.is_empty(), "docs/json.md, ringway {command}: {}: {object:#}", faults.join("; "));
    }

    /// The type of a key in a section, or in one that it includes.
    fn kind(&self, section: &str, path: &str) -> Option<&str> {
        let section = self.0.get(section).unwrap_or_else(|| panic!("there is no section {section}"));
        let own = section.keys.get(path).map(String::as_str);
        own.or_else(|| section.includes.iter().find_map(|other| self.kind(other, path)))
    }

    /// Whether the section has keys within this one.
    fn has_within(&self, section: &str, path: &str) -> bool {
        let section = &self.0[section];
        let own = section.keys.keys().any(|key| {
            key.strip_prefix(path).is_some_and(|rest| rest.starts_with('.') || rest.starts_with("[]"))
        });
        own || section.includes.iter().any(|other| self.has_within(other, path))
    }

    fn object(&self, section: &str, prefix: &str, value: &Value, faults: &mut Vec<String>) {
        let Value::Object(object) = value else {
            return faults.push(format!("{prefix} is no object"));
        };
        for (key, value) in object {
            let path = format!("{prefix}{key}");
            match (self.kind(section, &path), value) {
                (Some("object" | "object or null"), Value::Object(_)) | (None, Value::Object(_)) => {
                    self.object(section, &format!("{path}."), value, faults);
                }
                (None, Value::Array(all)) if self.has_within(section, &path) => {
                    all.iter().for_each(|one| self.object(section, &format!("{path}[]."), one, faults));
                }
                (Some(kind), _) => self.value(kind, &path, value, faults),
                (None, _) => faults.push(format!("{path} is not there")),
            }
        }
    }

    fn value(&self, kind: &str, path: &str, value: &Value, faults: &mut Vec<String>) {
        let plain = kind.strip_suffix(" or null");
        if plain.is_some() && value.is_null() {
            return;
        }
        let kind = plain.unwrap_or(kind);
        let right = match kind {
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "object" => value.is_object(),
            _ => match (kind.split_once(" of "), value) {
                (Some(("array", of)), Value::Array(all)) => {
                    return all.iter().for_each(|one| self.value(of, path, one, faults));
                }
                (Some(("map", of)), Value::Object(all)) => {
                    return all.values().for_each(|one| self.value(of, path, one, faults));
                }
                _ => match link(kind) {
                    Some(section) => return self.object(section, "", value, faults),
                    None => false,
                },
            },
        };
        if !right {
            faults.push(format!("{path} is {value}, not {kind}"));
        }
    }
}

impl Section {
    fn add(&mut self, line: &str) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", "and", kind, ..] => self.includes.extend(link(kind).map(str::to_owned)),
            ["", keys, kind, ..] => {
                for key in keys.split('`').skip(1).step_by(2) {
                    self.keys.insert(key.to_owned(), kind.to_owned());
                }
            }
            _ if line.starts_with("An object") => self.includes.extend(link(line).map(str::to_owned)),
            _ => {}
        }
    }
}

/// The section that a link leads to.
fn link(text: &str) -> Option<&str> {
    text.split_once("](#")?.1.split(')').next()
}

/// The name that links give to a heading.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

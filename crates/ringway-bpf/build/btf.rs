//! Structures and enumerations as clang describes them in the `.BTF` section of an object (Documentation/bpf/btf.rst of Linux).

use std::fmt::Write;

/// The types of an object.
pub(crate) struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
}

/// A structure of C.
pub(crate) struct Struct<'a> {
    pub(crate) name: &'a str,
    size: u32,
    /// Names and offsets in bytes.
    members: Vec<(&'a str, u32)>,
}

/// An enumeration of C.
pub(crate) struct Enum<'a> {
    pub(crate) name: &'a str,
    values: Vec<(&'a str, u32)>,
}

/// What the library learns from an object.
#[derive(Default)]
pub(crate) struct Found<'a> {
    pub(crate) structs: Vec<Struct<'a>>,
    pub(crate) enums: Vec<Enum<'a>>,
}

/// `BTF_KIND_STRUCT` and `BTF_KIND_ENUM`.
const STRUCT: u32 = 4;
const ENUM: u32 = 6;

impl<'a> Btf<'a> {
    /// `None`: these bytes are no `.BTF` section.
    pub(crate) fn new(section: &'a [u8]) -> Option<Self> {
        const MAGIC: u16 = 0xeb9f;
        let magic = u16::from_ne_bytes(section.get(..2)?.try_into().ok()?);
        // struct btf_header: magic, version, flags, hdr_len, then offset and length of types and of strings.
        let [header, types, types_len, strings, strings_len] = [4, 8, 12, 16, 20].map(|at| word(section, at));
        let part = |from: Option<u32>, len: Option<u32>| {
            let from = (header? + from?) as usize;
            section.get(from..from + len? as usize)
        };
        (magic == MAGIC)
            .then_some(Self { types: part(types, types_len)?, strings: part(strings, strings_len)? })
    }

    /// All structures and enumerations that have a name.
    pub(crate) fn find(&self) -> Option<Found<'a>> {
        let (mut at, mut found) = (0, Found::default());
        while at < self.types.len() {
            // struct btf_type: name_off, info, size or type; what follows depends on the kind.
            let [name, info, size] = [0, 4, 8].map(|field| word(self.types, at + field));
            let (kind, count) = (info? >> 24 & 0x1f, (info? & 0xffff) as usize);
            let name = self.string(name?)?;
            if kind == STRUCT && !name.is_empty() {
                let members = (0..count).map(|n| self.member(at + 12 + 12 * n)).collect::<Option<_>>()?;
                found.structs.push(Struct { name, size: size?, members });
            }
            if kind == ENUM && !name.is_empty() {
                let values = (0..count).map(|n| self.value(at + 12 + 8 * n)).collect::<Option<_>>()?;
                found.enums.push(Enum { name, values });
            }
            at += 12 + extra(kind, count)?;
        }
        Some(found)
    }

    /// struct btf_member: name_off, type, offset in bits.
    fn member(&self, at: usize) -> Option<(&'a str, u32)> {
        Some((self.string(word(self.types, at)?)?, (word(self.types, at + 8)? & 0xff_ffff) / 8))
    }

    /// struct btf_enum: name_off, value.
    fn value(&self, at: usize) -> Option<(&'a str, u32)> {
        Some((self.string(word(self.types, at)?)?, word(self.types, at + 4)?))
    }

    fn string(&self, at: u32) -> Option<&'a str> {
        let rest = self.strings.get(at as usize..)?;
        std::str::from_utf8(&rest[..rest.iter().position(|b| *b == 0)?]).ok()
    }
}

impl Struct<'_> {
    /// A module with the size of the structure and the offset of each member that is in use.
    pub(crate) fn to_rust(&self) -> String {
        let Self { name, size, members } = self;
        let mut text = format!("/// `struct {name}`: offsets in bytes.\npub mod {name} {{\n");
        let mut line = |doc: &str, name: &str, value: u32| {
            let _ = writeln!(text, "/// {doc}\npub const {name}: usize = {value};");
        };
        line("Bytes of all.", "SIZE", *size);
        for (member, offset) in members.iter().filter(|(m, _)| !m.starts_with("unused")) {
            line(&format!("Offset of `{member}`."), &member.to_uppercase(), *offset);
        }
        text + "}\n"
    }
}

impl Enum<'_> {
    /// A module with the numbers.
    pub(crate) fn to_rust(&self) -> String {
        let Self { name, values } = self;
        let mut text = format!("/// `enum {name}`.\npub mod {name} {{\n");
        for (value, number) in values {
            let value = value.trim_start_matches("NUMBER_");
            let _ = writeln!(text, "/// `{value}`.\npub const {value}: u32 = {number};");
        }
        text + "}\n"
    }
}

/// Bytes that follow the description of a type.
fn extra(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        2 | 7..=12 | 16 | 18 => 0, // pointers, forward declarations, qualifiers, functions, floats, type tags
        1 | 14 | 17 => 4,          // integers, variables, declaration tags
        3 => 12,                   // arrays
        6 | 13 => 8 * count,       // enumerations, parameters
        4 | 5 | 15 | 19 => 12 * count, // structures, unions, sections, enumerations of 64 bits
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

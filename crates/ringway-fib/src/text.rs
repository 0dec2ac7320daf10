//! Tables and updates as text, one route a line; plain or compressed with xz.
//!
//! | file | a line |
//! | --- | --- |
//! | table | `PREFIX NEXT-HOP [more]` |
//! | updates | `SECONDS a\|w PREFIX NEXT-HOP`: announced or withdrawn; with a withdrawal the next hop is ignored |
//!
//! Empty lines and lines that begin with `#` are skipped, and so are prefixes of the other family; `default` is 0.0.0.0/0. The program `xz`,
//! which Debian has installed anyway, reads `.xz` files: a library for it would be the largest dependency of this crate, for benchmarks alone.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Address, FibError, NextHop, Prefix};

/// A route and its next hop; `None` for a withdrawal.
pub type Update<A> = (Prefix<A>, Option<NextHop>);

/// Reads a file as text; one that ends in `.xz` is decompressed by `xz`. `-` is standard input, which is plain.
///
/// # Errors
/// [`FibError::Os`] when it can't be read, is no text, or there is no `xz`.
pub fn read(file: &Path) -> Result<String, FibError> {
    let os = |what: String| move |source| FibError::Os { what, source };
    let name = file.display();
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(os("standard input can't be read".to_owned()))?;
        return as_text("standard input", bytes);
    }
    if file.extension().is_none_or(|e| e != "xz") {
        return as_text(&name.to_string(), fs::read(file).map_err(os(format!("{name} can't be read")))?);
    }
    fs::metadata(file).map_err(os(format!("{name} can't be read")))?;
    let mut xz = Command::new("xz");
    xz.args(["--decompress", "--stdout", "--"]).arg(file).stdin(Stdio::null());
    let output = xz.output().map_err(os(format!("xz can't be run for {name}; install xz-utils")))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(os(format!("{name} can't be decompressed"))(io::Error::other(reason)));
    }
    as_text(&name.to_string(), output.stdout)
}

fn as_text(name: &str, bytes: Vec<u8>) -> Result<String, FibError> {
    String::from_utf8(bytes).map_err(|_| FibError::Os {
        what: format!("{name} can't be read"),
        source: io::Error::new(io::ErrorKind::InvalidData, "it is no text; plain files are read, and .xz"),
    })
}

/// The routes of one family in a table.
///
/// ```
/// use ringway_fib::text;
/// let routes = text::table::<u32>("10.0.0.0/8 7\n2001:db8::/32 1\n")?;
/// assert_eq!(routes[0].0.to_string(), "10.0.0.0/8");
/// assert_eq!(routes.len(), 1);
/// # Ok::<(), ringway_fib::FibError>(())
/// ```
///
/// # Errors
/// [`FibError::Line`] for the first line that makes no sense.
pub fn table<A: Address>(text: &str) -> Result<Vec<(Prefix<A>, NextHop)>, FibError> {
    lines(text, |fields| {
        let (prefix, next_hop) = (field(fields, "prefix")?, field(fields, "next hop")?);
        if is_other_family::<A>(prefix) {
            return Ok(None);
        }
        Ok(Some((prefix.parse()?, next_hop.parse()?)))
    })
}

/// The updates of one family.
///
/// # Errors
/// [`FibError::Line`] for the first line that makes no sense.
pub fn updates<A: Address>(text: &str) -> Result<Vec<Update<A>>, FibError> {
    lines(text, |fields| {
        field(fields, "time")?;
        let kind = field(fields, "a or w")?;
        let prefix = field(fields, "prefix")?;
        if is_other_family::<A>(prefix) {
            return Ok(None);
        }
        let next_hop = match kind {
            "a" => Some(field(fields, "next hop")?.parse()?),
            "w" => None,
            other => return Err(bad(format!("{other} is neither a nor w"))),
        };
        Ok(Some((prefix.parse()?, next_hop)))
    })
}

type Fields<'a> = std::str::SplitAsciiWhitespace<'a>;

fn lines<T>(
    text: &str,
    parse: impl Fn(&mut Fields<'_>) -> Result<Option<T>, FibError>,
) -> Result<Vec<T>, FibError> {
    let mut out = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parsed = parse(&mut line.split_ascii_whitespace());
        out.extend(parsed.map_err(|e| FibError::Line {
            number,
            what: match e {
                FibError::Line { what, .. } => what,
                other => other.to_string(),
            },
        })?);
    }
    Ok(out)
}

fn field<'a>(fields: &mut Fields<'a>, what: &str) -> Result<&'a str, FibError> {
    fields.next().ok_or_else(|| bad(format!("no {what}")))
}

fn bad(what: String) -> FibError {
    FibError::Line { number: 0, what }
}

fn is_other_family<A: Address>(prefix: &str) -> bool {
    prefix.contains(':') != (A::BITS > 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let text = "# a comment\n0 a 10.0.0.0/8 3\n0 w 2001:db8::/32 0\n\n1 w 10.0.0.0/8 0\n";
        let v4 = updates::<u32>(text).unwrap();
        assert_eq!(v4.iter().map(|u| u.1.map(NextHop::get)).collect::<Vec<_>>(), [Some(3), None]);
        assert_eq!(updates::<u128>(text).unwrap().len(), 1);
        assert_eq!(table::<u128>("::/0 65535 64512\n").unwrap()[0].1.get(), 65535);
    }

    #[test]
    fn bad_lines_are_named() {
        let e = |text| table::<u32>(text).unwrap_err().to_string();
        assert_eq!(e("10.0.0.0/8 1\n10.0.0.0/8\n"), "line 2: no next hop");
        assert!(e("10.0.0.0/40 1").starts_with("line 1: 10.0.0.0/40: no prefix"));
        assert!(e("10.0.0.0/8 0").starts_with("line 1: 0: no next hop"));
        let e = updates::<u32>("0 x 10.0.0.0/8 1").unwrap_err().to_string();
        assert_eq!(e, "line 1: x is neither a nor w");
    }

    #[test]
    fn other_forms_are_named() {
        let e = as_text("x.gz", vec![0x1f, 0x8b, 8]).unwrap_err().to_string();
        assert_eq!(e, "x.gz can't be read: it is no text; plain files are read, and .xz");
    }

    #[test]
    fn a_missing_file_is_named() {
        for name in ["/nonexistent/table", "/nonexistent/table.xz"] {
            let e = read(Path::new(name)).unwrap_err().to_string();
            assert!(e.contains(name), "{e}");
        }
    }
}

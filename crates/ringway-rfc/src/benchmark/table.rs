//! Tables of results: for the terminal, for a page, as CSV files.

use ringway_tester::report::page;
use ringway_tester::report::text::table;
use ringway_tester::trial::rate::Load;

/// The table of a test.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) heads: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

impl Section {
    /// The rows of all results.
    pub(crate) fn of<T, R: IntoIterator<Item = Vec<String>>>(
        title: impl Into<String>,
        heads: &'static [&'static str],
        results: &[T],
        rows: fn(&T) -> R,
    ) -> Self {
        Self { title: title.into(), heads, rows: results.iter().flat_map(rows).collect() }
    }

    /// For the terminal; nothing without rows.
    pub(crate) fn text(&self) -> String {
        match self.rows[..] {
            [] => String::new(),
            _ => format!("\n{}\n{}", self.title, table(self.heads, &self.rows)),
        }
    }

    /// For a page, below a chart; nothing without rows.
    pub(crate) fn html(&self, plot: &str) -> String {
        page::section(&self.title, plot, self.heads, &self.rows, "")
    }
}

/// A CSV file.
#[derive(Debug)]
pub(crate) struct CsvTable {
    pub(crate) name: &'static str,
    pub(crate) head: &'static str,
    pub(crate) rows: Vec<String>,
}

impl CsvTable {
    /// A file of `name` with these rows.
    pub(crate) fn of(name: &'static str, head: &'static str, rows: impl Iterator<Item = String>) -> Self {
        Self { name, head, rows: rows.collect() }
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Name and contents.
    pub(crate) fn file(self) -> (&'static str, String) {
        let lines = std::iter::once(self.head.to_owned()).chain(self.rows);
        (self.name, lines.map(|line| line + "\n").collect())
    }
}

/// A field, in quotes if it needs them (RFC 4180).
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A load in percent; nothing where there is none.
pub(crate) fn percent(load: Option<Load>) -> String {
    load.map_or(String::new(), |load| load.as_percent().to_string())
}

/// All faults of a trial as one field.
pub(crate) fn faults<T: ToString>(faults: &[T]) -> String {
    quoted(&faults.iter().map(T::to_string).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("a b"), "a b");
    }
}

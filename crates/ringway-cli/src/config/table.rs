//! Tables of a configuration file: each key is known and of its type, or refused with its line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::folder::File;
use crate::failure::Failure;

/// A table, which a message calls `what`, such as "a port".
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    file: &'a File,
    what: &'a str,
    table: &'a DeTable<'a>,
    at: usize,
}

/// A value with the byte at which it stands.
type At<T> = (T, usize);

impl<'a> Table<'a> {
    /// The whole of a file.
    pub(super) fn whole(file: &'a File, table: &'a DeTable<'a>) -> Self {
        Self { file, what: "a file", table, at: 0 }
    }

    /// What is wrong with the table as a whole.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> Failure {
        self.file.wrong(self.at, what)
    }

    /// Where it stands.
    pub(super) fn place(&self) -> String {
        self.file.place(self.at)
    }

    /// Where the value of a key stands.
    pub(super) fn place_of(&self, key: &str) -> String {
        self.file.place(self.value(key).map_or(self.at, |value| value.span().start))
    }

    /// The folder of its file.
    pub(super) fn folder(&self) -> &'a std::path::Path {
        self.file.path.parent().unwrap_or(&self.file.path)
    }

    /// Refuses keys other than these.
    pub(super) fn check_keys(&self, known: &[&str]) -> Result<(), Failure> {
        let unknown = self.table.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref()));
        unknown.map_or(Ok(()), |(key, _)| {
            let name = key.get_ref();
            let cure = match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known keys: {}", known.join(", ")),
            };
            Err(self.file.wrong(key.span().start, format!("`{name}` is no key of {}; {cure}", self.what)))
        })
    }

    fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    /// A word: a string, or a number as it is written.
    fn word(&self, key: &str) -> Result<Option<At<String>>, Failure> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            _ => return Err(self.mistyped(key, value, "a string, or a number in decimal")),
        };
        Ok(Some((text, value.span().start)))
    }

    fn mistyped(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) -> Failure {
        let found = value.get_ref().type_str();
        self.file.wrong(value.span().start, format!("`{key}` is of type {found}; write {wanted}"))
    }

    /// A word that `parse` takes.
    pub(super) fn parsed<T>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let Some((text, at)) = self.word(key)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|why| self.file.wrong(at, format!("`{key}` is {text:?}; {why}")))
    }

    /// A number.
    pub(super) fn number(&self, key: &str) -> Result<Option<u32>, Failure> {
        self.parsed(key, |text| text.parse().map_err(|_| "accepted: a whole number".to_owned()))
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, key: &str) -> Result<bool, Failure> {
        let Some(value) = self.value(key) else { return Ok(false) };
        value.get_ref().as_bool().ok_or_else(|| self.mistyped(key, value, "true or false"))
    }

    /// Strings, each with its place.
    pub(super) fn list(&self, key: &str) -> Result<Vec<At<String>>, Failure> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let wanted = "an array of strings";
        let array = value.get_ref().as_array().ok_or_else(|| self.mistyped(key, value, wanted))?;
        let text = |item: &Spanned<DeValue<'_>>| {
            let text = item.get_ref().as_str().ok_or_else(|| self.mistyped(key, item, wanted))?;
            Ok((text.to_owned(), item.span().start))
        };
        array.iter().map(text).collect()
    }

    /// The tables below a key, which is a table of tables, by name.
    pub(super) fn tables(&self, key: &str, what: &'a str) -> Result<Vec<(&'a str, Self)>, Failure> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let wanted = format!("a table for each name, such as [{key}.NAME]");
        let all = value.get_ref().as_table().ok_or_else(|| self.mistyped(key, value, &wanted))?;
        let one = |(name, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let table =
                value.get_ref().as_table().ok_or_else(|| self.mistyped(name.get_ref(), value, &wanted))?;
            let at = name.span().start;
            Ok((name.get_ref().as_ref(), Self { file: self.file, what, table, at }))
        };
        all.iter().map(one).collect()
    }

    /// What is wrong with an item of a list.
    pub(super) fn wrong_at(&self, at: usize, what: impl std::fmt::Display) -> Failure {
        self.file.wrong(at, what)
    }
}

/// The known word that a wrong one is probably meant to be.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let far = |name: &&&str| strsim::damerau_levenshtein(word, name);
    known.iter().min_by_key(far).copied().filter(|name| far(&name) <= word.len().div_ceil(3))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_wrong_word_has_a_near_one() {
        let known = ["slots", "rings", "buffers", "port"];
        for (word, near) in [
            ("slot", Some("slots")),
            ("sltos", Some("slots")),
            ("ports", Some("port")),
            ("bufers", Some("buffers")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, &known), near, "{word}");
        }
    }
}

//! Lengths of time as options have them.

/// A positive number of seconds, up to an hour.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if (0.01..=3600.0).contains(&s) => Ok(s),
        _ => Err("accepted: 0.01 to 3600 seconds".into()),
    }
}

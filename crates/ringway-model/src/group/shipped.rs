//! The files of groups that ship.

use super::{Groups, RuleError};

const FILES: [(&str, &str); 5] = [
    ("linux", include_str!("../../groups/linux.groups")),
    ("router", include_str!("../../groups/router.groups")),
    ("switch", include_str!("../../groups/switch.groups")),
    ("ports", include_str!("../../groups/ports.groups")),
    ("flows", include_str!("../../groups/flows.groups")),
];

/// The names of the files that ship.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Groups that ship, by the name of their file; `None` when there is none of that name.
///
/// # Errors
/// None for a file that ships: a test reads all.
#[must_use]
pub fn shipped(name: &str) -> Option<Result<Groups, RuleError>> {
    FILES.iter().find(|(n, _)| *n == name).map(|(_, text)| Groups::parse(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_that_ship_are_right() {
        for name in names() {
            let groups = shipped(name).unwrap().unwrap();
            assert_eq!(groups.name(), name);
            assert!(!groups.about().is_empty() && groups.columns().count() > 3, "{name}");
        }
        assert!(shipped("absent").is_none());
    }
}

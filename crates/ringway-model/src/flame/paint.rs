//! Colours: one for each group, the same in all images and bars; and from blue to red for what shrank and grew.

/// Groups with colours of their own; others get one of the rest in turn.
const NAMED: [(&str, &str); 14] = [
    ("RX", "#4e79a7"),
    ("alloc", "#a0cbe8"),
    ("prerouting", "#f1ce63"),
    ("routing", "#e15759"),
    ("switch", "#b07aa1"),
    ("postrouting", "#f28e2b"),
    ("free", "#76b7b2"),
    ("TX", "#59a14f"),
    ("sched", "#9c755f"),
    ("parse", "#edc948"),
    ("transport", "#ff9da7"),
    ("other", "#bab0ac"),
    ("idle", "#dddddd"),
    ("foreign", "#c9c9c9"),
];

const REST: [&str; 6] = ["#86bcb6", "#d4a6c8", "#8cd17d", "#d37295", "#b6992d", "#499894"];

/// The colour of a group.
#[must_use]
pub fn colour(group: &str) -> &'static str {
    let named = NAMED.iter().find(|(name, _)| *name == group).map(|(_, colour)| *colour);
    let sum: usize = group.bytes().map(usize::from).sum();
    named.unwrap_or(REST[sum % REST.len()])
}

/// The colour of a change of share, from -1 to 1: blue shrank, red grew, white stayed. A change of a tenth is as strong as colours get.
pub(super) fn change(by: f64) -> String {
    let strength = (by.abs() * 10.0).sqrt().min(1.0);
    let pale = (255.0 - 175.0 * strength) as u8;
    if by >= 0.0 { format!("#ff{pale:02x}{pale:02x}") } else { format!("#{pale:02x}{pale:02x}ff") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_hold_still() {
        assert_eq!(colour("RX"), "#4e79a7");
        assert_eq!(colour("mine"), colour("mine"));
        assert_eq!(
            (change(0.0), change(1.0), change(-1.0)),
            ("#ffffff".into(), "#ff5050".into(), "#5050ff".into())
        );
    }
}

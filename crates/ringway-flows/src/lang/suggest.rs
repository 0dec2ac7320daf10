//! "Did you mean ...?"

/// The candidate that is most like a word, if one is like it.
///
/// A change of one letter in three is near: another letter, one more, one less, or two swapped.
#[must_use]
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).min(3);
    let near = |candidate: &&str| candidate.len().abs_diff(word.len()) <= 3 && word.len() <= 64;
    candidates
        .into_iter()
        .filter(near)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| (1..=most).contains(distance))
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must be changed, put in, taken out or swapped with a neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![vec![0; other.len() + 1]; one.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=other.len()).collect();
    for i in 1..=one.len() {
        for j in 1..=other.len() {
            let change = usize::from(one[i - 1] != other[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["ephemeral", "random", "repeat", "reset"];
        assert_eq!(nearest("efemeral", words), Some("ephemeral"));
        assert_eq!(nearest("radnom", words), Some("random"));
        assert_eq!(nearest("reapet", words), Some("repeat"));
        assert_eq!(nearest("banana", words), None);
        assert_eq!(nearest("reset", ["reset"]), None);
    }
}

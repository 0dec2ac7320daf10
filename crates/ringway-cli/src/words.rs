//! The command line that this process was started with.

/// Its words; what is no text in them is shown as such.
pub(crate) fn words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// As a line that a shell takes as it stands.
pub(crate) fn line() -> String {
    words().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,:/@%^".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        for (word, text) in [
            ("--device", "--device"),
            ("switch:pps=8M,buffer=256", "switch:pps=8M,buffer=256"),
            ("ebpf:eth0^", "ebpf:eth0^"),
            ("udp port 7", "'udp port 7'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("*", "'*'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), text);
        }
    }
}

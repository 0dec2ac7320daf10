//! Changes of texts.

use ringway_flows::content::random::SplitMix64;

/// Words that stand for others.
const WORDS: [&str; 64] = [
    "{",
    "}",
    "(",
    ")",
    "\"",
    "..",
    ">",
    "<",
    "=",
    ":",
    ",",
    "*",
    "/",
    "-",
    "0",
    "1",
    "2",
    "65535",
    "65536",
    "4 GiB",
    "1.5",
    "0x10",
    "100 %",
    "5 s",
    "close",
    "reset",
    "half_close",
    "abandon",
    "repeat 3 {",
    "repeat 0..2 {",
    "if x > 1 {",
    "if 1 {",
    "} else {",
    "choose {",
    "choose { 1 { } 1 {",
    "parallel {",
    "parallel { {",
    "let x = ",
    "let p = ephemeral(server)",
    "let q = ephemeral(client)",
    "let t = now(server)",
    "ephemeral(server)",
    "random(9)",
    "rand16",
    "as r",
    "count n",
    "match",
    "match reply(220)",
    "match length",
    "clamp 1..9",
    "c",
    "ctl.server",
    "timeout 1 s",
    "retry 2",
    "half_open",
    "window 1",
    "\n",
    "198.18.0.1",
    "::",
    "udp",
    "tcp",
    "measure m {",
    "fail \"x\"",
    "think 1 ms",
];

/// Where the words of a text are.
fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, c) in text.char_indices() {
        if !c.is_alphanumeric() && c != '_' {
            if start < at {
                words.push(start..at);
            }
            if c != ' ' {
                words.push(at..at + c.len_utf8());
            }
            start = at + c.len_utf8();
        }
    }
    words
}

/// A text of `seeds` with one to four changes: of words, of lines, of single bytes, and of what comes from other texts.
pub(super) fn changed(seeds: &[String], random: &mut SplitMix64) -> String {
    let any = |random: &mut SplitMix64| seeds[random.below(seeds.len() as u64) as usize].as_str();
    let mut text = any(random).to_owned();
    for _ in 0..=random.below(4) {
        let other = any(random);
        match random.below(10) {
            0..6 => change_word(&mut text, other, random),
            6 => change_byte(&mut text, random),
            _ => change_lines(&mut text, other, random),
        }
    }
    text
}

/// Another word, one more or one less.
fn change_word(text: &mut String, other: &str, random: &mut SplitMix64) {
    let places = words(text);
    if places.is_empty() {
        return;
    }
    let pick = |text: &str, places: &[std::ops::Range<usize>], random: &mut SplitMix64| {
        places
            .get(random.below(places.len() as u64) as usize)
            .map_or_else(String::new, |place| text[place.clone()].to_owned())
    };
    let place = places[random.below(places.len() as u64) as usize].clone();
    let word = match random.below(8) {
        0..3 => WORDS[random.below(WORDS.len() as u64) as usize].to_owned(),
        3 => String::new(),
        4..7 => pick(text, &places, random),
        _ => pick(other, &words(other), random),
    };
    match random.below(3) {
        0 => text.insert_str(place.start, &format!(" {word} ")),
        _ => text.replace_range(place, &word),
    }
}

/// Another character.
fn change_byte(text: &mut String, random: &mut SplitMix64) {
    let at = random.below(text.len() as u64 + 1) as usize;
    let at = (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let most = if random.below(9) == 0 { 0x3000 } else { 128 };
    let new = char::from_u32(random.below(most) as u32).unwrap_or('?');
    if random.below(2) == 0 {
        text.insert(at, new);
    } else if let Some(old) = text[at..].chars().next() {
        text.replace_range(at..at + old.len_utf8(), new.encode_utf8(&mut [0; 4]));
    }
}

/// Lines that move, go, come twice, or come from another text.
fn change_lines(text: &mut String, other: &str, random: &mut SplitMix64) {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return;
    }
    let at = random.below(lines.len() as u64) as usize;
    let line = match random.below(4) {
        0 => lines.remove(at),
        1 => lines[at],
        2 => {
            let others: Vec<&str> = other.lines().collect();
            others.get(random.below(others.len() as u64) as usize).copied().unwrap_or("")
        }
        _ => {
            lines.remove(at);
            *text = lines.join("\n");
            return;
        }
    };
    lines.insert(random.below(lines.len() as u64 + 1) as usize, line);
    *text = lines.join("\n");
}

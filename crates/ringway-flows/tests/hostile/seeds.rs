//! What is changed: each story that ships by itself, and texts that are wrong for one reason.

use ringway_flows::run::stories;

/// Each flow and attack that ships, with the pools of its file, and the other items of these files.
pub(super) fn stories() -> Vec<String> {
    let mut all = Vec::new();
    for file in stories::ALL {
        let items = items(file.text);
        // Small pools are made and searched quickly.
        let pools: String =
            items.iter().filter(|item| item.starts_with("pool")).map(|item| small(item)).collect();
        for item in &items {
            let attack = item.strip_prefix("attack ").and_then(|rest| rest.split(['(', ' ']).next());
            if let Some(name) = attack {
                all.push(format!("{pools}{item}run {{ {name} rate 10 flows/s for 1 s target outside }}\n"));
            } else if item.starts_with("flow ") {
                all.push(format!("{pools}{item}"));
            } else if item.starts_with("run ") {
                let rest = items.iter().filter(|item| !item.starts_with("pool"));
                all.push(rest.fold(pools.clone(), |text, item| text + item));
            }
        }
    }
    assert!(all.len() > 60, "only {} stories", all.len());
    all
}

/// The texts of `wrong.txt`, each of which the compiler refuses.
pub(super) fn wrong() -> Vec<String> {
    let all = include_str!("../wrong.txt");
    let pools = "pool inside = 198.18.0.0/28\npool outside = 198.19.0.0/28";
    let bodies = all.split("\n=== ").skip(1).filter_map(|case| case.split_once('\n'));
    bodies.map(|(_, body)| body.replace("POOLS", pools)).collect()
}

/// The items of a file: each begins a line with its word.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in text.lines() {
        let begins = ["pool ", "flow ", "attack ", "mix ", "run ", "expect ", "define "].iter();
        if begins.clone().any(|word| line.starts_with(word)) {
            items.push(String::new());
        }
        if let (Some(item), false) = (items.last_mut(), line.starts_with('#')) {
            item.push_str(line);
            item.push('\n');
        }
    }
    items
}

/// A pool with few addresses.
fn small(pool: &str) -> String {
    pool.replace("/18", "/28").replace("/20", "/28").replace("/112", "/124")
}

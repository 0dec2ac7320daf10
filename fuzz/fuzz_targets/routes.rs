//! Files of routes and updates. What they say goes into tables, which find what the slow reference finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_fib::{Address, Fib, FibError, Limits, Reference, Walk, text};
use ringway_fuzz::{Input, one_line};

/// Enough for what a small file holds.
const WORDS: u32 = 1 << 16;

fn compared<A: Address + Walk>(table: &str, updates: &str, mut addresses: Vec<A>) {
    let (routes, updates) = match (text::table::<A>(table), text::updates::<A>(updates)) {
        (Ok(routes), Ok(updates)) => (routes, updates),
        (routes, updates) => {
            return routes.err().into_iter().chain(updates.err()).for_each(|e| one_line(&e.to_string()));
        }
    };
    let mut reference = Reference::<A>::new();
    let mut fib = match Fib::<A>::build(Limits { words: WORDS }, routes.iter().copied()) {
        Ok(fib) => fib,
        Err(FibError::Full { .. }) => return,
        Err(e) => panic!("{e}"),
    };
    for (prefix, next_hop) in &routes {
        addresses.push(prefix.addr());
        reference.insert(*prefix, *next_hop);
    }
    for update in &updates {
        addresses.push(update.0.addr());
        if fib.apply([*update]).is_err() {
            continue;
        }
        match update.1 {
            Some(next_hop) => reference.insert(update.0, next_hop),
            None => reference.withdraw(update.0),
        };
    }
    let mut reader = fib.reader().expect("a reader");
    let view = reader.view();
    for address in addresses {
        assert_eq!(view.lookup(address), reference.lookup(address), "{}", address.text());
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let six = input.u8() & 1 == 1;
    let addresses: Vec<u128> =
        (0..4).map(|_| u128::from(input.u64()) << 64 | u128::from(input.u64())).collect();
    let Ok(text) = std::str::from_utf8(input.rest()) else { return };
    let (table, updates) = text.split_once("\n\n").unwrap_or((text, ""));
    if six {
        compared::<u128>(table, updates, addresses);
    } else {
        compared::<u32>(table, updates, addresses.into_iter().map(|a| a as u32).collect());
    }
});

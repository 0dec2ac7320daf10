//! Datagrams of netlink as the library and the router's process read them: nothing outside is read, what was put together is
//! taken apart again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway::fuzz::{netlink_attributes, netlink_messages, netlink_put, netlink_text};
use ringway_fuzz::Input;
use ringway_router::fuzz::chains;

/// `NLA_F_NESTED`, which is set beside the kind.
const NESTED: u16 = 0x8000;

/// Attributes lie one behind the other, so all of them have no more bytes than there are.
fn apart(body: &[u8]) {
    let attributes = netlink_attributes(body);
    let used: usize = attributes.iter().map(|(_, value)| 4 + value.len()).sum();
    assert!(used <= body.len());
    for (_, value) in attributes {
        assert!(netlink_text(value).len() <= 3 * value.len(), "each byte becomes one character at most");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let serial = input.u8().into();
    if let Ok((messages, _)) = netlink_messages(input.rest(), serial) {
        let used: usize = messages.iter().map(|(_, body)| 16 + body.len()).sum();
        assert!(used <= input.rest().len());
        for (_, body) in &messages {
            apart(body);
        }
    }
    apart(input.rest());
    let (_, attributes) = chains(input.rest(), &["eth0".to_owned()]);
    assert!(attributes.iter().map(|(_, value)| 4 + value.len()).sum::<usize>() <= input.rest().len());

    let (mut body, mut put) = (Vec::new(), Vec::new());
    while !input.is_empty() {
        let (kind, value) = (input.u16(), input.short());
        netlink_put(&mut body, kind, value);
        put.push((kind & !NESTED, value));
    }
    assert_eq!(netlink_attributes(&body), put);
});

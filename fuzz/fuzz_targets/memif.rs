//! Messages of a memif control channel: each is a message that means what it says, or has a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::one_line;
use ringway_memif::{Address, Message, text};

fuzz_target!(|bytes: &[u8]| {
    match Message::decode(bytes) {
        Ok(message) => {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
            if let Message::Disconnect { why, .. } = message {
                assert!(text(&why).bytes().all(|b| b == b' ' || b.is_ascii_graphic()));
            }
        }
        Err(why) => {
            one_line(&why.to_string());
            // The peer gets the same text, as far as it fits.
            let Message::Disconnect { code, why: said } = Message::disconnect(&why) else { panic!("{why}") };
            assert!(code == why.code() && why.to_string().starts_with(&text(&said)));
        }
    }
    if let Ok(address) = std::str::from_utf8(bytes)
        && let Some(address) = Address::parse(address)
    {
        assert_eq!(Address::parse(&address.to_string()), Some(address));
    }
});

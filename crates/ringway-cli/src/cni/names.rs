//! Names of host ends, from the network, the container and its interface: `DEL` finds them without a record.

/// With what all begin.
const PREFIX: &str = "rwc";
/// Characters for the network, and for the interface in it: 15 in all, the most that an interface's name has.
const NETWORK: usize = 5;
const INTERFACE: usize = 7;

/// The host end of an interface.
pub(super) fn host_end(network: &str, container: &str, ifname: &str) -> String {
    // No identifier has a zero in it.
    let interface = digest(&format!("{container}\0{ifname}"), INTERFACE);
    format!("{}{interface}", of_network(network))
}

/// With what the host ends of a network begin.
pub(super) fn of_network(network: &str) -> String {
    format!("{PREFIX}{}", digest(network, NETWORK))
}

/// Five bits of the text's hash a character. The hash is FNV-1a: it has to be the same in all versions.
fn digest(text: &str, characters: usize) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mixed = hash ^ hash >> 32;
    (0..characters).map(|n| char::from(DIGITS[(mixed >> (5 * n)) as usize % DIGITS.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_the_same_and_differ() {
        let name = host_end("net", "c1", "eth0");
        assert_eq!((name.len(), name.as_str()), (15, host_end("net", "c1", "eth0").as_str()));
        assert!(name.starts_with(&of_network("net")) && !name.starts_with(&of_network("other")));
        let others = [("net", "c1", "eth1"), ("net", "c2", "eth0"), ("net", "c", "1eth0")];
        assert!(
            others.iter().all(|(network, container, ifname)| host_end(network, container, ifname) != name)
        );
    }
}

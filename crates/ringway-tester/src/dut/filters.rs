//! Packet filters of the kernel's devices, by nftables (RFC 2544, 11.4). All but the last name addresses that
//! no test frame has. The last one permits the test frames, and nothing else of their protocol passes.

use std::env;
use std::fmt::Write;

use super::kind::DutKind;
use super::place::Place;
use super::spec::DutSpec;
use crate::Fault;

/// Installs the filters that were asked for, if any.
pub(super) fn install(kind: DutKind, spec: &DutSpec, place: &Place) -> Result<(), Fault> {
    let Some(inside) = place.inside().filter(|_| spec.filters > 0) else { return Ok(()) };
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|dir| dir.join("nft").is_file()) {
        let what = "packet filters need nft: install the package nftables (scripts/setup --bench)";
        return Err(Fault::Unavailable(what.into()));
    }
    let family = if kind == DutKind::LinuxBridge { "bridge" } else { "inet" };
    Ok(inside.exec("nft", &[&script(family, spec.filters, spec.ipv6)])?)
}

/// The commands for `nft`.
fn script(family: &str, filters: u32, ipv6: bool) -> String {
    let ip = if ipv6 { "ip6" } else { "ip" };
    let mut script = format!("add table {family} dut; ");
    // Writing to a String can't fail.
    let _ = write!(script, "add chain {family} dut filters; ");
    let _ = write!(
        script,
        "add chain {family} dut forward {{ type filter hook forward priority 0; policy accept; }}; "
    );
    let _ = write!(script, "add rule {family} dut forward meta protocol {ip} jump filters; ");
    for k in 1..filters {
        let [from, to] = other(k, ipv6);
        let _ = write!(script, "add rule {family} dut filters {ip} saddr {from} {ip} daddr {to} drop; ");
    }
    let block = if ipv6 { "2001:2::/48" } else { "198.18.0.0/15" };
    let _ = write!(script, "add rule {family} dut filters {ip} saddr {block} {ip} daddr {block} accept; ");
    let _ = write!(script, "add rule {family} dut filters drop");
    script
}

/// Source and destination that filter `k` is about: of no test frame.
fn other(k: u32, ipv6: bool) -> [String; 2] {
    let (high, low) = (k / 250, k % 250 + 1);
    if ipv6 {
        [format!("2001:db8:{k:x}::1"), format!("2001:db8:{k:x}::2")]
    } else {
        [format!("100.64.{high}.{low}"), format!("100.65.{high}.{low}")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_filter_permits_the_test_frames() {
        let script = script("inet", 25, false);
        let rules: Vec<&str> =
            script.split("; ").filter(|c| c.starts_with("add rule inet dut filters")).collect();
        assert_eq!(rules.len(), 26);
        assert!(rules[..24].iter().all(|rule| rule.ends_with(" drop") && rule.contains(" saddr 100.64.")));
        assert!(rules[24].ends_with("ip saddr 198.18.0.0/15 ip daddr 198.18.0.0/15 accept"), "{}", rules[24]);
        assert!(rules[25].ends_with("filters drop"));
        let one = super::script("bridge", 1, true);
        assert!(
            one.matches("saddr").count() == 1
                && one.contains("2001:2::/48 accept")
                && one.contains("meta protocol ip6")
        );
        assert_ne!(other(250, false), other(500, false));
        assert_ne!(other(10, true), other(16, true));
    }
}

//! Next hops in words, much as `ip route` has them.

use serde_json::Value;

/// A prefix and what it leads to.
pub(super) fn route(route: &Value) -> String {
    let text = format!("{} {}", route["prefix"].as_str().unwrap_or("?"), next_hop(route));
    text.replacen(" \n", "\n", 1)
}

/// What a prefix leads to, such as `via 10.0.0.2 dev eth1 lladdr 02:00:00:00:00:02 mtu 1500`. Members of groups follow, a line each.
pub(super) fn next_hop(hop: &Value) -> String {
    let kind = hop["kind"].as_str().unwrap_or("unknown");
    match kind {
        "ready" | "incomplete" => way(hop),
        "group" => members(hop),
        "host" => "by the kernel".to_owned(),
        _ => kind.to_owned(),
    }
}

fn way(hop: &Value) -> String {
    let mut text = hop["via"].as_str().map_or(String::new(), |via| format!("via {via} "));
    text += &format!("dev {}", hop["dev"].as_str().unwrap_or("?"));
    text += &hop["lladdr"].as_str().map_or(" unresolved".to_owned(), |to| format!(" lladdr {to}"));
    text + &format!(" mtu {}", hop["mtu"])
}

/// The members of a group.
pub(super) fn members(hop: &Value) -> String {
    let members = hop["group"].as_array().into_iter().flatten();
    members.map(|m| format!("\n\tnexthop {} weight {}", next_hop(m), m["weight"])).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ways_groups_and_the_rest() {
        let ready = json!({ "kind": "ready", "dev": "e1", "via": "10.0.0.2", "lladdr": "02:00:00:00:00:02", "mtu": 1500 });
        assert_eq!(next_hop(&ready), "via 10.0.0.2 dev e1 lladdr 02:00:00:00:00:02 mtu 1500");
        let link = json!({ "kind": "incomplete", "dev": "e1", "via": null, "mtu": 1400 });
        assert_eq!(next_hop(&link), "dev e1 unresolved mtu 1400");
        assert_eq!(next_hop(&json!({ "kind": "blackhole" })), "blackhole");
        let mut member = link.clone();
        member["weight"] = 3.into();
        let group = json!({ "kind": "group", "group": [member] });
        assert_eq!(next_hop(&group), "\n\tnexthop dev e1 unresolved mtu 1400 weight 3");
        let mut whole = group;
        whole["prefix"] = "10.0.0.0/8".into();
        assert_eq!(route(&whole), "10.0.0.0/8\n\tnexthop dev e1 unresolved mtu 1400 weight 3");
        assert_eq!(route(&json!({ "prefix": "::/0", "kind": "local" })), "::/0 local");
    }
}

//! `vale`, `route` and `run`.

use super::check;

#[test]
fn switches_that_can_not_be_made() {
    check(&[
        ("switch add", 2, "<SWITCH[:IF]>"),
        ("switch add vale0 v0", 2, "write `ringway switch add vale0:v0`"),
        ("switch add-port vale0 v0", 2, "`ringway switch port add vale0:v0`"),
        ("switch fdb show", 2, "<SWITCH>"),
        ("switch fdb add vale0 xx p1", 2, "MAC[@VLAN] such as"),
        ("switch add switch", 2, "vale and up to 11 letters"),
        ("switch add ../x", 2, "vale and up to 11 letters"),
        ("switch add vale-thisnameistoolong", 2, "vale and up to 11 letters"),
        ("switch add vale0 --slots 1000", 2, "take a power of two from 64 to 4096"),
        ("switch add vale0 --slots 1", 2, "take a power of two from 64 to 4096"),
        ("switch add vale0 --slots 8192", 2, "take a power of two from 64 to 4096"),
        ("switch add vale0 --buffers 100", 2, "take a multiple of 64 from 256 to 2112"),
        ("switch add vale0 --buffers 128", 2, "take a multiple of 64 from 256 to 2112"),
        ("switch add vale0 --buffers 2176", 2, "take a multiple of 64 from 256 to 2112"),
        ("switch add vale0 --rings 0", 2, "take 1 to 8"),
        ("switch add vale0 --rings 9", 2, "take 1 to 8"),
        ("switch add vale0 --ageing 5min", 2, "such as 300s or 5m"),
        ("switch add vale0 --ageing 1ms", 2, "32 ms or more"),
        ("switch add vale0 --ageing 1d", 2, "such as 300s or 5m"),
        ("switch add vale0 --quota 0", 2, "take 1 to 131072"),
        ("switch add vale0 --quota 999999", 2, "take 1 to 131072"),
        ("switch add vale0 --nic eth0", 2, "use `ringway router add`"),
        ("switch add vale0 --rpf6 strict", 2, "use `ringway router add`"),
        ("switch add vale0 --host", 2, "name SWITCH:IF, such as vale0:eth1"),
        ("switch add vale0 --path warp", 2, "accepted: xdp, tc"),
        ("switch add vale0:eth0 --module hub", 2, "SWITCH:IF takes --host and --path only"),
        ("router add vale0 a a", 2, "named twice; name it once"),
        ("vale add vale0 --module router --nic a --nic a", 2, "named twice; name it once"),
        ("router add vale0 --budget x", 2, "plain=RATE:BURST"),
        ("switch add vale0", 1, "not in a BPF file system"),
        ("switch add vale0 --module /nowhere/x.o", 1, "not in a BPF file system"),
    ]);
}

#[test]
fn ports_of_switches() {
    check(&[
        ("switch port add", 2, "<SWITCH:PORT>"),
        ("switch port add p1", 2, "SWITCH:PORT such as vale0:p1"),
        ("switch port add vale0:", 2, "SWITCH:PORT such as vale0:p1"),
        ("switch port add vale0:a/b", 2, "1 to 31 letters"),
        ("switch port add vale0:p1 --owner nosuchuser", 2, "there is no such user"),
        ("switch port add vale0:p1 --group nosuchgroup", 2, "there is no such group"),
        ("switch port add vale0:p1 --mode 9", 2, "600, 660, 666"),
        ("switch port add vale0:p1 --mode 777", 2, "600, 660, 666"),
        ("switch port set vale0:p1", 2, "name --owner, --group, --mode, --vlan"),
        ("vale port conf vale0:p1 --vlan access:0", 2, "1 to 4094"),
        ("switch port show vale0", 2, "SWITCH:PORT such as vale0:p1"),
        ("switch port set vale0:p1 --vlan access:0", 2, "1 to 4094"),
        ("switch port set vale0:p1 --vlan access:4095", 2, "1 to 4094"),
        ("switch port set vale0:p1 --vlan trunk:", 2, "such as trunk:1-10,20"),
        ("switch port set vale0:p1 --vlan tag:3", 2, "transparent, access:VID"),
        ("switch port set vale0:p1 --native x", 2, "accepted: a whole number"),
        ("switch port set vale0:p1 --isolated maybe", 2, "true, false"),
        ("switch port set vale0:p1 --storm rain=1", 2, "broadcast, multicast and unknown"),
        ("switch port set vale0:p1 --storm broadcast=x", 2, "such as broadcast=1000"),
        ("switch port set vale0:p1 --mirror a:b", 2, "PORT:tx or none"),
        ("switch port add valeNONE:p1", 1, "there is no such switch"),
        ("switch port set valeNONE:p1 --mode 600", 1, "there is no such switch"),
        ("switch port show valeNONE:p1", 1, "there is no such switch"),
        ("switch port del valeNONE:p1", 1, "there is no such switch"),
    ]);
}

#[test]
fn tables_and_lists_of_switches() {
    check(&[
        ("switch del", 2, "<SWITCH>"),
        ("switch del none", 2, "vale and up to 11 letters"),
        ("switch list extra more", 2, "unexpected argument 'more'"),
        ("switch stats -w 0", 2, "such as 2 or 0.5"),
        ("switch fdb list", 2, "<SWITCH>"),
        ("switch fdb set vale0 xx p1", 2, "MAC[@VLAN] such as"),
        ("switch fdb set vale0 02:00:00:00:00:01@5000 p1", 2, "MAC[@VLAN] such as"),
        ("switch fdb blackhole vale0", 2, "<MAC[@VLAN]>"),
        ("switch fdb del vale0 1:2", 2, "MAC[@VLAN] such as"),
        ("switch del valeNONE", 1, "there is no such switch"),
        ("switch list valeNONE", 1, "valeNONE"),
        ("switch stats valeNONE", 1, "valeNONE"),
        ("switch reload valeNONE", 1, "there is no such switch"),
        ("switch fdb list valeNONE", 1, "there is no such switch"),
        ("switch fdb set valeNONE 02:00:00:00:00:01 p1", 1, "there is no such switch"),
        ("switch fdb flush valeNONE", 1, "there is no such switch"),
        ("switch add vale0:nosuchif0", 1, "there is no such switch"),
    ]);
}

#[test]
fn routes() {
    check(&[
        ("router show 10.0.0.1/8", 2, "did you mean 10.0.0.0/8?"),
        ("router show x", 2, "write it like 192.0.2.0/24"),
        ("router get", 2, "<ADDRESS>"),
        ("router get x", 2, "x is no address"),
        ("router get 10.0.0.1 10.0.0.2", 2, "from, iif, ipproto, sport, dport"),
        ("router get 10.0.0.1 frm 1.2.3.4", 2, "from, iif, ipproto, sport, dport"),
        ("router run", 2, "--port <IF"),
        ("router run -p ''", 2, "no interface is named"),
        ("router run -p a:b:c", 2, "no interface is named"),
        ("router stats -w 0", 2, "such as 2 or 0.5"),
        ("router sync", 1, "there is no such directory of switches"),
        ("router show", 1, "there is no such directory of switches"),
        ("router get 10.0.0.1", 1, "there is no such directory of switches"),
    ]);
}

#[test]
fn programs_to_run() {
    check(&[
        ("run", 2, "<PROGRAM>"),
        ("run --map eth0 -- true", 2, "write NAME=PORT"),
        ("run --map eth0=null: --map eth0=null: -- true", 2, "name each interface once"),
        ("run -- nosuchprogram", 1, "there is no such program in PATH"),
    ]);
}

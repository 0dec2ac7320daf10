//! `vale`, `route` and `run`.

use super::check;

#[test]
fn switches_that_can_not_be_made() {
    check(&[
        ("vale add", 2, "<SWITCH>"),
        ("vale add vale0 v0", 2, "write `ringway vale add vale0:v0`"),
        ("vale add-port vale0 v0", 2, "`ringway vale port add vale0:v0`"),
        ("vale fdb show", 2, "<SWITCH>"),
        ("vale fdb add vale0 xx p1", 2, "MAC[@VLAN] such as"),
        ("vale add switch", 2, "vale and up to 11 letters"),
        ("vale add ../x", 2, "vale and up to 11 letters"),
        ("vale add vale-thisnameistoolong", 2, "vale and up to 11 letters"),
        ("vale add vale0 --slots 1000", 2, "take a power of two from 64 to 4096"),
        ("vale add vale0 --slots 1", 2, "take a power of two from 64 to 4096"),
        ("vale add vale0 --slots 8192", 2, "take a power of two from 64 to 4096"),
        ("vale add vale0 --buffers 100", 2, "take a multiple of 64 from 256 to 2112"),
        ("vale add vale0 --buffers 128", 2, "take a multiple of 64 from 256 to 2112"),
        ("vale add vale0 --buffers 2176", 2, "take a multiple of 64 from 256 to 2112"),
        ("vale add vale0 --rings 0", 2, "take 1 to 8"),
        ("vale add vale0 --rings 9", 2, "take 1 to 8"),
        ("vale add vale0 --ageing 5min", 2, "such as 300s or 5m"),
        ("vale add vale0 --ageing 1ms", 2, "32 ms or more"),
        ("vale add vale0 --ageing 1d", 2, "such as 300s or 5m"),
        ("vale add vale0 --quota 0", 2, "take 1 to 131072"),
        ("vale add vale0 --quota 999999", 2, "take 1 to 131072"),
        ("vale add vale0 --nic eth0", 2, "add --module router"),
        ("vale add vale0 --rpf6 strict", 2, "add --module router"),
        ("vale add vale0 --host", 2, "name SWITCH:IF, such as vale0:eth1"),
        ("vale add vale0 --path warp", 2, "accepted: xdp, tc"),
        ("vale add vale0:eth0 --module hub", 2, "SWITCH:IF takes --host and --path only"),
        ("vale add vale0 --module router --nic a --nic a", 2, "named twice; name it once"),
        ("vale add vale0 --module router --budget x", 2, "plain=RATE:BURST"),
        ("vale add vale0", 1, "not in a BPF file system"),
        ("vale add vale0 --module /nowhere/x.o", 1, "not in a BPF file system"),
    ]);
}

#[test]
fn ports_of_switches() {
    check(&[
        ("vale port add", 2, "<SWITCH:PORT>"),
        ("vale port add p1", 2, "SWITCH:PORT such as vale0:p1"),
        ("vale port add vale0:", 2, "SWITCH:PORT such as vale0:p1"),
        ("vale port add vale0:a/b", 2, "1 to 31 letters"),
        ("vale port add vale0:p1 --owner nosuchuser", 2, "there is no such user"),
        ("vale port add vale0:p1 --group nosuchgroup", 2, "there is no such group"),
        ("vale port add vale0:p1 --mode 9", 2, "600, 660, 666"),
        ("vale port add vale0:p1 --mode 777", 2, "600, 660, 666"),
        ("vale port set vale0:p1", 2, "name --owner, --group or --mode"),
        ("vale port conf vale0:p1 --vlan access:0", 2, "1 to 4094"),
        ("vale port conf vale0:p1 --vlan access:4095", 2, "1 to 4094"),
        ("vale port conf vale0:p1 --vlan trunk:", 2, "such as trunk:1-10,20"),
        ("vale port conf vale0:p1 --vlan tag:3", 2, "transparent, access:VID"),
        ("vale port conf vale0:p1 --native x", 2, "accepted: a whole number"),
        ("vale port conf vale0:p1 --isolated maybe", 2, "true, false"),
        ("vale port conf vale0:p1 --storm rain=1", 2, "broadcast, multicast and unknown"),
        ("vale port conf vale0:p1 --storm broadcast=x", 2, "such as broadcast=1000"),
        ("vale port conf vale0:p1 --mirror a:b", 2, "PORT:tx or none"),
        ("vale port add valeNONE:p1", 1, "there is no such switch"),
        ("vale port set valeNONE:p1 --mode 600", 1, "there is no such switch"),
        ("vale port conf valeNONE:p1", 1, "there is no such switch"),
        ("vale port del valeNONE:p1", 1, "there is no such switch"),
    ]);
}

#[test]
fn tables_and_lists_of_switches() {
    check(&[
        ("vale del", 2, "<SWITCH>"),
        ("vale del none", 2, "vale and up to 11 letters"),
        ("vale list extra more", 2, "unexpected argument 'more'"),
        ("vale stats -w 0", 2, "such as 2 or 0.5"),
        ("vale fdb list", 2, "<SWITCH>"),
        ("vale fdb set vale0 xx p1", 2, "MAC[@VLAN] such as"),
        ("vale fdb set vale0 02:00:00:00:00:01@5000 p1", 2, "MAC[@VLAN] such as"),
        ("vale fdb blackhole vale0", 2, "<MAC[@VLAN]>"),
        ("vale fdb del vale0 1:2", 2, "MAC[@VLAN] such as"),
        ("vale del valeNONE", 1, "there is no such switch"),
        ("vale list valeNONE", 1, "valeNONE"),
        ("vale stats valeNONE", 1, "valeNONE"),
        ("vale reload valeNONE", 1, "there is no such switch"),
        ("vale fdb list valeNONE", 1, "there is no such switch"),
        ("vale fdb set valeNONE 02:00:00:00:00:01 p1", 1, "there is no such switch"),
        ("vale fdb flush valeNONE", 1, "there is no such switch"),
        ("vale add vale0:nosuchif0", 1, "there is no such switch"),
    ]);
}

#[test]
fn routes() {
    check(&[
        ("route show 10.0.0.1/8", 2, "did you mean 10.0.0.0/8?"),
        ("route show x", 2, "write it like 192.0.2.0/24"),
        ("route get", 2, "<ADDRESS>"),
        ("route get x", 2, "x is no address"),
        ("route get 10.0.0.1 10.0.0.2", 2, "from, iif, ipproto, sport, dport"),
        ("route get 10.0.0.1 frm 1.2.3.4", 2, "from, iif, ipproto, sport, dport"),
        ("route run", 2, "--port <IF"),
        ("route run -p ''", 2, "no interface is named"),
        ("route run -p a:b:c", 2, "no interface is named"),
        ("route stats -w 0", 2, "such as 2 or 0.5"),
        ("route sync", 1, "there is no such directory of switches"),
        ("route show", 1, "there is no such directory of switches"),
        ("route get 10.0.0.1", 1, "there is no such directory of switches"),
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

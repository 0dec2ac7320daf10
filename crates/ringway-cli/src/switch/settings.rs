//! `ringway vale port conf`: VLANs, isolation, storm limits, mirrors.

use ringway::switch::{Mirror, PortConf, StormLimits, Switch, VlanMode, VlanSet};
use serde_json::{Value, json};

use super::PortOf;
use crate::console::Console;
use crate::failure::Failure;

/// Show or change VLANs, isolation, storm limits and the mirror of a port
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is not named stays as it is; without options the port is shown. Ports are transparent to VLANs unless told otherwise, and \
then exchange frames with transparent ports only.

Keys of --json: switch, port, vlan (mode, vid, allowed, native), isolated, storm (broadcast, multicast, unknown: frames a second, \
null: no limit), mirror (to, rx, tx; null: none).

Examples:
  ringway vale port conf vale0:p1 --vlan access:10
  ringway vale port conf vale0:up --vlan trunk:10-20,99 --native 99
  ringway vale port conf vale0:p1 --isolated true --storm broadcast=1000,unknown=500
  ringway vale port conf vale0:p1 --mirror monitor        # copies of both directions
  ringway vale port conf vale0:p1 --mirror monitor:rx     # of what p1 receives; tx: of what it sends
  ringway vale port conf vale0:p1 --vlan transparent --storm none --mirror none")]
pub(super) struct Conf {
    /// The port as SWITCH:PORT
    #[arg(value_name = "SWITCH:PORT")]
    port: PortOf,

    /// transparent, access:VID, or trunk:VIDS such as trunk:10-20,30
    #[arg(long, value_parser = vlan)]
    vlan: Option<VlanMode>,

    /// VLAN of frames without a tag on a trunk
    #[arg(long, value_name = "VID")]
    native: Option<u16>,

    /// Whether it is cut off from other isolated ports
    #[arg(long)]
    isolated: Option<bool>,

    /// Frames to all that it may send in a second: broadcast=N,multicast=N,unknown=N, or none
    #[arg(long, value_parser = storm)]
    storm: Option<StormLimits>,

    /// Port that gets copies of its frames: PORT, PORT:rx, PORT:tx, or none
    #[arg(long, value_parser = mirror)]
    mirror: Option<Copies>,
}

impl Conf {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let PortOf { switch: name, port } = &self.port;
        let switch = Switch::open(name)?;
        let was = switch.conf(port)?;
        let conf = self.changed(&was)?;
        if conf != was {
            switch.set_conf(port, &conf)?;
        }
        let conf = switch.conf(port)?; // a native VLAN is in the set of a trunk
        console.result(&format!("{name}:{port}: {}", describe(&conf)), &object(name, port, &conf))?;
        Ok(())
    }

    fn changed(&self, was: &PortConf) -> Result<PortConf, Failure> {
        let mut conf = was.clone();
        if let Some(vlan) = &self.vlan {
            conf.vlan = vlan.clone();
        }
        if let Some(vid) = self.native {
            match &mut conf.vlan {
                VlanMode::Trunk { native, .. } => *native = Some(vid),
                _ => {
                    return Err(Failure::Usage(
                        "--native is for a port that is a trunk: add --vlan trunk:VIDS".into(),
                    ));
                }
            }
        }
        conf.isolated = self.isolated.unwrap_or(conf.isolated);
        conf.storm = self.storm.unwrap_or(conf.storm);
        if let Some(Copies(mirror)) = &self.mirror {
            conf.mirror = mirror.clone();
        }
        Ok(conf)
    }
}

fn vlan(text: &str) -> Result<VlanMode, String> {
    match text.split_once(':') {
        None if text == "transparent" => Ok(VlanMode::Transparent),
        Some(("access", vid)) => match vid.parse() {
            Ok(vid @ 1..=4094) => Ok(VlanMode::Access(vid)),
            _ => Err("a VLAN is a number of 1 to 4094".into()),
        },
        Some(("trunk", vids)) => {
            let wrong =
                |_: ringway::Error| "trunk: and numbers and ranges of 1 to 4094, such as trunk:1-10,20";
            let allowed: VlanSet = vids.parse().map_err(wrong)?;
            Ok(VlanMode::Trunk { allowed, native: None })
        }
        _ => Err("accepted: transparent, access:VID, trunk:VIDS such as trunk:10-20,30".into()),
    }
}

fn storm(text: &str) -> Result<StormLimits, String> {
    let mut limits = StormLimits::default();
    if text == "none" {
        return Ok(limits);
    }
    for part in text.split(',') {
        let (kind, rate) = part.split_once('=').unwrap_or((part, ""));
        let rate = rate
            .parse()
            .map_err(|_| format!("{part}: expected KIND=FRAMES a second, such as broadcast=1000"))?;
        let limit = match kind {
            "broadcast" => &mut limits.broadcast,
            "multicast" => &mut limits.multicast,
            "unknown" => &mut limits.unknown,
            _ => return Err(format!("{kind}: kinds are broadcast, multicast and unknown")),
        };
        if limit.replace(rate).is_some() {
            return Err(format!("{kind} is there twice"));
        }
    }
    Ok(limits)
}

/// Who gets copies, or nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Copies(Option<Mirror>);

fn mirror(text: &str) -> Result<Copies, String> {
    let (to, rx, tx) = match text.split_once(':') {
        None if text == "none" => return Ok(Copies(None)),
        None => (text, true, true),
        Some((to, "rx")) => (to, true, false),
        Some((to, "tx")) => (to, false, true),
        Some(_) => {
            return Err("accepted: PORT, PORT:rx, PORT:tx or none; PORT is one of the same switch".into());
        }
    };
    Ok(Copies(Some(Mirror { to: to.to_owned(), rx, tx })))
}

fn describe(conf: &PortConf) -> String {
    let vlan = match &conf.vlan {
        VlanMode::Access(vid) => format!("access to VLAN {vid}"),
        VlanMode::Trunk { allowed, native: Some(vid) } => format!("trunk of VLANs {allowed}, native {vid}"),
        VlanMode::Trunk { allowed, native: None } => format!("trunk of VLANs {allowed}"),
        _ => "transparent".to_owned(),
    };
    let mut text = vec![vlan];
    if conf.isolated {
        text.push("isolated".into());
    }
    let s = &conf.storm;
    for (kind, rate) in [("broadcast", s.broadcast), ("multicast", s.multicast), ("unknown", s.unknown)] {
        text.extend(rate.map(|n| format!("at most {n} {kind} frames a second")));
    }
    if let Some(m) = &conf.mirror {
        let what = if m.rx && m.tx {
            "all"
        } else if m.rx {
            "what it receives"
        } else {
            "what it sends"
        };
        text.push(format!("{what} mirrored to {}", m.to));
    }
    text.join(", ")
}

fn object(switch: &str, port: &str, conf: &PortConf) -> Value {
    let vlan = match &conf.vlan {
        VlanMode::Access(vid) => json!({ "mode": "access", "vid": vid, "allowed": null, "native": null }),
        VlanMode::Trunk { allowed, native } => {
            json!({ "mode": "trunk", "vid": null, "allowed": allowed.to_string(), "native": native })
        }
        _ => json!({ "mode": "transparent", "vid": null, "allowed": null, "native": null }),
    };
    let s = &conf.storm;
    json!({
        "switch": switch,
        "port": port,
        "vlan": vlan,
        "isolated": conf.isolated,
        "storm": { "broadcast": s.broadcast, "multicast": s.multicast, "unknown": s.unknown },
        "mirror": conf.mirror.as_ref().map(|m| json!({ "to": m.to, "rx": m.rx, "tx": m.tx })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(vlan("access:10"), Ok(VlanMode::Access(10)));
        assert_eq!(vlan("transparent"), Ok(VlanMode::Transparent));
        assert!(matches!(vlan("trunk:1-3,9"), Ok(VlanMode::Trunk { native: None, .. })));
        for wrong in ["access", "access:0", "access:4095", "trunk:", "vlan:3"] {
            assert!(vlan(wrong).is_err(), "{wrong}");
        }
        assert_eq!(storm("none"), Ok(StormLimits::default()));
        assert_eq!(
            storm("broadcast=5,unknown=0").map(|s| (s.broadcast, s.multicast, s.unknown)),
            Ok((Some(5), None, Some(0)))
        );
        for wrong in ["broadcast", "broadcast=x", "rain=1", "unknown=1,unknown=2", ""] {
            assert!(storm(wrong).is_err(), "{wrong}");
        }
        let to = |rx, tx| Ok(Copies(Some(Mirror { to: "m".into(), rx, tx })));
        assert_eq!(mirror("none"), Ok(Copies(None)));
        assert_eq!(
            [mirror("m"), mirror("m:rx"), mirror("m:tx")],
            [to(true, true), to(true, false), to(false, true)]
        );
        for wrong in ["m:", "m:xx", "vale0:m", "vale0:m:rx"] {
            assert!(mirror(wrong).is_err(), "{wrong}");
        }
    }
}

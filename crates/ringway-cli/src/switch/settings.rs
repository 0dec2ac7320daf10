//! VLANs, isolation, storm limits and mirrors of ports: options, words and keys.

use ringway::switch::{Mirror, PortConf, StormLimits, VlanMode, VlanSet};
use serde_json::{Value, json};

use crate::errors;
use crate::failure::Failure;

/// VLANs, isolation, storm limits and the mirror of a port.
#[derive(Debug, clap::Args)]
pub(super) struct Settings {
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

impl Settings {
    /// Whether one of them is given.
    pub(super) fn is_given(&self) -> bool {
        self.vlan.is_some()
            || self.native.is_some()
            || self.isolated.is_some()
            || self.storm.is_some()
            || self.mirror.is_some()
    }

    /// What the settings become.
    pub(super) fn changed(&self, was: &PortConf) -> Result<PortConf, Failure> {
        let mut conf = was.clone();
        if let Some(vlan) = &self.vlan {
            conf.vlan = vlan.clone();
        }
        if let Some(vid) = self.native {
            match &mut conf.vlan {
                VlanMode::Trunk { native, .. } => *native = Some(vid),
                _ => {
                    return Err(Failure::Usage(
                        errors::command::CONFLICT,
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

/// How a port takes part in VLANs.
pub(crate) fn vlan(text: &str) -> Result<VlanMode, String> {
    match text.split_once(':') {
        None if text == "transparent" => Ok(VlanMode::Transparent),
        Some(("access", text)) => vid(text).map(VlanMode::Access),
        Some(("trunk", vids)) => {
            let wrong =
                |_: ringway::Error| "trunk: and numbers and ranges of 1 to 4094, such as trunk:1-10,20";
            let allowed: VlanSet = vids.parse().map_err(wrong)?;
            Ok(VlanMode::Trunk { allowed, native: None })
        }
        _ => Err("accepted: transparent, access:VID, trunk:VIDS such as trunk:10-20,30".into()),
    }
}

/// The number of a VLAN.
pub(crate) fn vid(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(vid @ 1..=4094) => Ok(vid),
        _ => Err("a VLAN is a number of 1 to 4094".into()),
    }
}

/// Limits of frames to all.
pub(crate) fn storm(text: &str) -> Result<StormLimits, String> {
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
pub(super) struct Copies(pub(super) Option<Mirror>);

/// Who gets copies.
pub(super) fn mirror(text: &str) -> Result<Copies, String> {
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

/// All of them in words.
pub(super) fn describe(conf: &PortConf) -> String {
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

/// Adds them to an object.
pub(super) fn add_keys(object: &mut Value, conf: &PortConf) {
    let (mode, vid, allowed, native) = match &conf.vlan {
        VlanMode::Access(vid) => ("access", Some(*vid), None, None),
        VlanMode::Trunk { allowed, native } => ("trunk", None, Some(allowed.to_string()), *native),
        _ => ("transparent", None, None, None),
    };
    let s = &conf.storm;
    for (key, value) in [
        ("vlan", json!({ "mode": mode, "vid": vid, "allowed": allowed, "native": native })),
        ("isolated", json!(conf.isolated)),
        ("storm", json!({ "broadcast": s.broadcast, "multicast": s.multicast, "unknown": s.unknown })),
        ("mirror", json!(conf.mirror.as_ref().map(|m| json!({ "to": m.to, "rx": m.rx, "tx": m.tx })))),
    ] {
        object[key] = value;
    }
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

//! The option for a reverse path filter.

use ringway_fwd::router::Rpf;

/// The reverse path filter of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub(super) struct Rpf6 {
    /// Reverse path filter of IPv6 (that of IPv4 is the kernel's rp_filter): off, loose or strict
    #[arg(long, default_value = "off", value_parser = rpf)]
    pub(super) rpf6: Rpf,
}

impl Rpf6 {
    /// The option with this value.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        Ok(Self { rpf6: rpf(text)? })
    }

    /// Its value.
    pub(super) fn text(self) -> &'static str {
        match self.rpf6 {
            Rpf::Off => "off",
            Rpf::Loose => "loose",
            Rpf::Strict => "strict",
        }
    }
}

/// A reverse path filter, as options have it.
fn rpf(text: &str) -> Result<Rpf, String> {
    match text {
        "off" => Ok(Rpf::Off),
        "loose" => Ok(Rpf::Loose),
        "strict" => Ok(Rpf::Strict),
        _ => Err("accepted: off, loose, strict".into()),
    }
}

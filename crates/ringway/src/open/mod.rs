//! Opening ports: the one place that knows all backends.
//!
//! [`kinds`] has a row for each kind of port. [`auto`] chooses among the kinds for an interface,
//! and [`make`] opens what was chosen.

mod auto;
mod import;
mod kinds;
mod make;
mod open_ports;

pub use kinds::register_backend;
pub use open_ports::open_ports;

use auto::{refuse_packet_sockets, with_chosen};

use crate::error::{Error, ErrorKind, Result};
use crate::port::name::PortName;
use crate::port::{OpenOptions, Port};

impl OpenOptions {
    /// Opens the port called `name`.
    ///
    /// # Errors
    /// See [`PortName`] for what a name can be; each failure names its cure.
    pub fn open(&self, name: &str) -> Result<Port> {
        with_chosen(&[name.parse()?], |chosen| make::port(&chosen[0], self).map_err(|e| (Some(0), e)))
    }

    /// Opens several ports, in one region where their kinds allow it, so that they forward without copying.
    /// [`take`](Self::take) and [`copy`](Self::copy) are for the ports of interfaces.
    ///
    /// ```
    /// use ringway::{OpenOptions, Pairing};
    /// let [source, echo] = OpenOptions::new().open_all(["null:", "loop:"])?;
    /// assert_eq!(Pairing::of(&source.rx[0], &echo.tx[0]), Pairing::Swap);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open); when one fails, none stays open. [`ErrorKind::Unsupported`] for `packet:IF`
    /// with `ebpf:IF^`, between which frames would go round.
    pub fn open_all<const N: usize>(&self, names: [&str; N]) -> Result<[Port; N]> {
        let ports = self.open_each(&names)?;
        Ok(ports.try_into().expect("each name opens one port"))
    }

    /// As [`open_all`](Self::open_all), for as many names as the program has at run time.
    ///
    /// ```
    /// let names = ["null:"; 3];
    /// assert_eq!(ringway::OpenOptions::new().open_each(&names)?.len(), names.len());
    /// # Ok::<(), ringway::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open_all`](Self::open_all).
    pub fn open_each(&self, names: &[&str]) -> Result<Vec<Port>> {
        let names = names.iter().map(|n| n.parse()).collect::<Result<Vec<PortName>>>()?;
        self.refuse_twice(&names)?;
        with_chosen(&names, |chosen| {
            refuse_packet_sockets(chosen).map_err(|e| (None, e))?;
            let mut options = self.clone();
            if options.region.is_none() {
                let all: Vec<_> = chosen.iter().map(|c| (&c.name, c.zero_copy())).collect();
                options.region = make::common_region(&all, self).map_err(|e| (None, e))?;
                if options.region.is_some() {
                    options.extra_bufs = 0; // they are in it
                }
            }
            let plain = Self { take: None, copy: false, ..options.clone() };
            let any = names.iter().any(PortName::is_of_interface);
            let of = |n: &PortName| if any && !n.is_of_interface() { &plain } else { &options };
            let open = |(at, c)| make::port(c, of(&names[at])).map_err(|e| (Some(at), e));
            chosen.iter().enumerate().map(open).collect()
        })
    }

    /// Refuses two ports of which the second could not be opened because the first one has what it takes.
    fn refuse_twice(&self, names: &[PortName]) -> Result<()> {
        let shared = self.send_only || self.copy;
        let first_of = |at: usize| names[..at].iter().find(|n| !shared && n.excludes(&names[at]));
        match (0..names.len()).find_map(|at| Some((&names[at], first_of(at)?))) {
            None => Ok(()),
            Some((name, first)) if name == first => {
                let what = "the port is named twice, and is opened once";
                Err(Error::new(ErrorKind::Invalid, name.to_string(), what).cure("name two ports"))
            }
            Some((name, first)) => {
                let what = format!("{first} takes the same frames, and is named before");
                Err(Error::new(ErrorKind::Invalid, name.to_string(), what).cure("name two interfaces"))
            }
        }
    }
}

impl Port {
    /// Opens the port called `name` with the default options.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(name: &str) -> Result<Self> {
        OpenOptions::new().open(name)
    }
}

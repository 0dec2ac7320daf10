//! The findings as a table for people.

use std::io::IsTerminal;

use ringway::probe::{Backend, Check, Status};

use super::report::Report;

/// Signs and colours, or plain ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Coloured,
}

impl Style {
    /// Colours on a terminal, unless NO_COLOR is set (no-color.org).
    pub(super) fn of_output() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        if std::io::stdout().is_terminal() && !refused { Self::Coloured } else { Self::Plain }
    }

    fn mark(self, status: Status) -> String {
        let (sign, colour) = match status {
            Status::Ok => ("\u{2713}", 32),
            Status::Warn => ("!", 33),
            Status::Missing => ("\u{2717}", 31),
            Status::Unknown => ("?", 36),
        };
        match self {
            Self::Plain => format!("{:<8}", status.name()),
            Self::Coloured => format!("\x1b[{colour}m{sign}\x1b[0m "),
        }
    }

    /// Blanks as wide as a mark.
    fn indent(self) -> &'static str {
        if self == Self::Plain { "        " } else { "  " }
    }
}

/// The whole text.
pub(super) fn page(report: &Report, style: Style) -> String {
    let mut lines = vec!["This machine, for this process".to_owned()];
    lines.extend(report.machine.checks.iter().flat_map(|c| finding(c, style)));
    if let Some((interface, checks)) = &report.interface {
        lines.push(format!("\nInterface {}", interface.name));
        lines.extend(report.fixed.iter().map(|set| format!("{}{}", style.indent(), set.line())));
        lines.extend(checks.iter().flat_map(|c| finding(c, style)));
    }
    lines.push(String::new());
    lines.extend(conclusion(report));
    lines.join("\n")
}

fn finding(c: &Check, style: Style) -> Vec<String> {
    let mut lines = vec![format!("{}{c}", style.mark(c.status))];
    lines.extend(c.cure.as_ref().map(|cure| format!("{}-> {cure}", style.indent())));
    lines
}

fn conclusion(report: &Report) -> Vec<String> {
    match (report.choice(), &report.interface) {
        (Some(choice), Some((i, _))) => {
            let name = &i.name;
            let first = match choice.backend {
                Some(b) => format!("auto:{name} would {} {}{}", verb(report, b), report.port(b), manner(b)),
                None => format!("auto:{name} would find no backend"),
            };
            let steps = choice.steps.iter().map(|s| refusal(report, s.backend, &s.reason));
            std::iter::once(first).chain(steps).collect()
        }
        _ => {
            let kinds = [Backend::Ebpf, Backend::XdpCopy, Backend::Packet];
            let works: Vec<String> =
                kinds.into_iter().filter(|b| report.obstacle(*b).is_none()).map(|b| report.port(b)).collect();
            let first = if works.is_empty() {
                "No port of an interface works here".to_owned()
            } else {
                format!("Ports of interfaces that work here: {}", works.join(" "))
            };
            let rest =
                kinds.into_iter().filter_map(|b| report.obstacle(b).map(|why| refusal(report, b, why)));
            std::iter::once(first).chain(rest).collect()
        }
    }
}

/// What is not known yet shows when the port is opened, and then the next best backend has its turn.
fn verb(report: &Report, b: Backend) -> &'static str {
    let ok = |id: &str| report.interface_checks().iter().any(|c| c.id == id && c.status == Status::Ok);
    let sure = match b {
        Backend::XdpZeroCopy => ok("if-zero-copy"),
        Backend::Ebpf => ok("if-native-xdp"),
        Backend::XdpCopy | Backend::Packet => true,
    };
    if sure { "choose" } else { "first try" }
}

fn refusal(report: &Report, b: Backend, why: &Check) -> String {
    format!("  not {}{}, because of {why}", report.port(b), manner(b))
}

/// Tells the two kinds of AF_XDP ports apart.
fn manner(b: Backend) -> &'static str {
    match b {
        Backend::XdpZeroCopy => " with zero copy",
        Backend::XdpCopy => " in copy mode",
        Backend::Ebpf | Backend::Packet => "",
    }
}

#[cfg(test)]
mod tests {
    use ringway::probe::Machine;

    use super::*;

    fn report(check: Check) -> Report {
        let mut machine = Machine::default();
        machine.checks = vec![Check::new("memfd", "memfd").ok(""), check];
        Report { machine, interface: None, fixed: Vec::new() }
    }

    #[test]
    fn plain_text_has_a_cure_below_what_is_bad() {
        let r = report(Check::new("live-frames", "live frames").missing("refused", "use Linux 5.18"));
        let page = page(&r, Style::Plain);
        assert!(page.is_ascii());
        assert!(
            page.contains("ok      memfd\nmissing live frames: refused\n        -> use Linux 5.18\n"),
            "{page}"
        );
        assert!(
            page.contains("work here: xdp: packet:\n  not ebpf:, because of live frames: refused"),
            "{page}"
        );
    }

    #[test]
    fn a_terminal_gets_signs() {
        let r = report(Check::new("bpffs", "bpf file system").warn("not mounted", "mount it"));
        let page = page(&r, Style::Coloured);
        assert!(page.contains("\x1b[33m!\x1b[0m bpf file system: not mounted\n  -> mount it\n"), "{page}");
        assert!(page.ends_with("ebpf: xdp: packet:"), "{page}");
    }
}

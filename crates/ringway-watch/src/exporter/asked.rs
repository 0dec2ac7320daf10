//! What there is to ask for.

/// A document of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// `/`: the page for people. The server has it.
    Page,
    /// `/metrics`: OpenMetrics text.
    Metrics,
    /// `/state.json`: ports, switches and routers as they are now.
    State,
    /// `/history.json`: what ports counted within the last hour.
    History,
}

/// The page: it asks this server alone, and has all that it needs in itself.
const PAGE: &str = include_str!("page.html");

impl Asked {
    /// All documents.
    pub(super) const ALL: [Self; 4] = [Self::Page, Self::Metrics, Self::State, Self::History];

    /// Its path.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Page => "/",
            Self::Metrics => "/metrics",
            Self::State => "/state.json",
            Self::History => "/history.json",
        }
    }

    /// Headers that say what it is.
    pub(super) const fn headers(self) -> &'static str {
        match self {
            Self::Page => {
                "Content-Type: text/html; charset=utf-8\r\nContent-Security-Policy: default-src 'none'; \
                 script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'\r\n"
            }
            Self::Metrics => "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n",
            Self::State | Self::History => "Content-Type: application/json\r\n",
        }
    }

    /// The text of a document, which `write` writes unless the server has it.
    pub(super) fn text(self, write: impl FnOnce(Self) -> String) -> String {
        match self {
            Self::Page => PAGE.to_owned(),
            other => write(other),
        }
    }
}

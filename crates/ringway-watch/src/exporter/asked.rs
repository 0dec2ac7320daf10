//! What there is to ask for, besides the page.

/// A document, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// `/metrics`: OpenMetrics text.
    Metrics,
    /// `/state.json`: ports, switches and routers as they are now.
    State,
    /// `/history.json`: what ports counted within the last hour.
    History,
}

impl Asked {
    /// All documents.
    pub(super) const ALL: [Self; 3] = [Self::Metrics, Self::State, Self::History];

    /// Its path.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Metrics => "/metrics",
            Self::State => "/state.json",
            Self::History => "/history.json",
        }
    }

    /// The type of its content.
    pub(super) const fn content(self) -> &'static str {
        match self {
            Self::Metrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::State | Self::History => "application/json",
        }
    }
}

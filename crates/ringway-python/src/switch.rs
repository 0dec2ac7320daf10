//! Switches that run in their senders.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ringway::switch::{Module, PortAccess, SwitchSpec};
use ringway::{Error, ErrorKind};

use crate::counters::counters;
use crate::errors::{raise, seconds};
use crate::lock::lock;

/// The names of all switches.
#[pyfunction]
pub(crate) fn switches(py: Python<'_>) -> Vec<String> {
    py.detach(ringway::switch::switches)
}

/// A switch that exists: `Switch("vale0")`; `Switch.create("vale0")` makes one. Its ports are opened as `Port("vale0:p1")`.
#[pyclass(frozen, module = "ringway")]
pub(crate) struct Switch {
    name: String,
    /// `None` after the switch was deleted.
    open: Mutex<Option<ringway::switch::Switch>>,
}

impl Switch {
    fn of(switch: ringway::switch::Switch) -> Self {
        Self { name: switch.name().to_owned(), open: Mutex::new(Some(switch)) }
    }

    /// Works with the switch while Python's lock is released.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&ringway::switch::Switch) -> ringway::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let open = lock(&self.open);
            work(open.as_ref().ok_or_else(|| self.gone())?)
        })
        .map_err(raise)
    }

    fn gone(&self) -> Error {
        Error::new(ErrorKind::Gone, &self.name, "the switch was deleted")
    }
}

/// The module that a switch chooses ports with.
fn module(name: &str) -> Module {
    match name {
        "bridge" => Module::Bridge,
        "hub" => Module::Hub,
        path => Module::Object(PathBuf::from(path)),
    }
}

#[pymethods]
impl Switch {
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        py.detach(|| ringway::switch::Switch::open(name)).map(Self::of).map_err(raise)
    }

    /// Makes a switch. `module` is `bridge`, `hub`, or the file of an eBPF object; `ageing` is in seconds.
    #[staticmethod]
    #[pyo3(signature = (name, *, slots=None, rings=None, buf_size=None, ageing=None, module=None))]
    fn create(
        py: Python<'_>,
        name: &str,
        slots: Option<u32>,
        rings: Option<u32>,
        buf_size: Option<u32>,
        ageing: Option<f64>,
        module: Option<&str>,
    ) -> PyResult<Self> {
        let usual = SwitchSpec::default();
        let spec = SwitchSpec {
            slots: slots.unwrap_or(usual.slots),
            rings: rings.unwrap_or(usual.rings),
            buf_size: buf_size.unwrap_or(usual.buf_size),
            ageing: ageing.map_or(Ok(usual.ageing), seconds)?,
            module: module.map_or(usual.module, self::module),
            quota: usual.quota,
        };
        py.detach(|| ringway::switch::Switch::create(name, &spec)).map(Self::of).map_err(raise)
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Adds a port that stays; returns its number. Ports that a program just opens go away with it.
    fn add_port(&self, py: Python<'_>, name: &str) -> PyResult<u32> {
        self.with(py, |switch| switch.add_port(name, &PortAccess::default()))
    }

    /// Adds an interface as a port; returns its number.
    fn add_interface(&self, py: Python<'_>, interface: &str) -> PyResult<u32> {
        self.with(py, |switch| switch.add_nic(interface))
    }

    /// Removes a port or an interface. `force` removes also a port that is open.
    #[pyo3(signature = (name, force=false))]
    fn remove_port(&self, py: Python<'_>, name: &str, force: bool) -> PyResult<()> {
        self.with(py, |switch| switch.del_port(name, force))
    }

    /// The ports: a list of dicts with `name`, `number`, `open`, `pid`, `rx` and `tx`.
    fn ports<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let all = self.with(py, |switch| Ok(switch.stats()))?;
        let row = |stats: ringway::switch::SwitchPortStats| {
            let row = PyDict::new(py);
            row.set_item("name", &stats.port.name)?;
            row.set_item("number", stats.port.number)?;
            row.set_item("open", stats.port.open)?;
            row.set_item("pid", stats.port.pid)?;
            row.set_item("rx", counters(py, &stats.counters.rx)?)?;
            row.set_item("tx", counters(py, &stats.counters.tx)?)?;
            Ok(row)
        };
        all.into_iter().map(row).collect()
    }

    /// The addresses that the switch knows: a list of the address, its VLAN, and the number of its port or None.
    fn addresses(&self, py: Python<'_>) -> PyResult<Vec<(String, u16, Option<u32>)>> {
        let all = self.with(py, |switch| Ok(switch.fdb()))?;
        Ok(all.into_iter().map(|entry| (entry.mac.to_string(), entry.vlan, entry.port)).collect())
    }

    /// Forgets all addresses that were learnt; returns how many.
    fn forget(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |switch| Ok(switch.fdb_flush()))
    }

    /// Deletes the switch.
    fn delete(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let open = lock(&self.open).take();
            open.ok_or_else(|| self.gone())?.delete()
        })
        .map_err(raise)
    }

    fn __repr__(&self) -> String {
        format!("<Switch {}>", self.name)
    }
}

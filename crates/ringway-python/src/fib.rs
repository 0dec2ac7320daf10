//! `Fib4` and `Fib6`: tables of routes for Python.

use std::path::PathBuf;

use pyo3::prelude::*;
use ringway_fib::text;

use crate::addresses::Addresses;
use crate::arrays;
use crate::table::{Table, hop, prefix, wrong};

/// A prefix and the number of its next hop.
type Route<'py> = (Bound<'py, PyAny>, u16);

/// The class of one family.
macro_rules! family {
    ($(#[$doc:meta])* $name:ident, $address:ty) => {
        $(#[$doc])*
        #[pyclass(frozen, mapping, module = "ringway")]
        pub(crate) struct $name(Table<$address>);

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (routes=None, *, capacity=None))]
            fn new(py: Python<'_>, routes: Option<&Bound<'_, PyAny>>, capacity: Option<usize>) -> PyResult<Self> {
                let mut all = Vec::new();
                if let Some(routes) = routes {
                    for route in routes.try_iter()? {
                        let (at, to): Route<'_> = route?.extract()?;
                        all.push((prefix(&at)?, hop(to)?));
                    }
                }
                py.detach(|| Table::build(all, capacity)).map(Self).map_err(|e| wrong(&e))
            }

            /// A table from a file: a prefix and the number of a next hop in each line.
            #[staticmethod]
            fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
                let build = || Table::build(text::table(&text::read(&path)?)?, None);
                py.detach(build).map(Self).map_err(|e| wrong(&e))
            }

            /// Adds or changes a route; returns the next hop that the prefix had.
            #[pyo3(signature = (prefix, next_hop))]
            fn insert(&self, prefix: &Bound<'_, PyAny>, next_hop: u16) -> PyResult<Option<u16>> {
                let (at, to) = (crate::table::prefix(prefix)?, hop(next_hop)?);
                let before = prefix.py().detach(|| self.0.with(|fib| fib.insert(at, to)));
                before.map(|h| h.map(|h| h.get())).map_err(|e| wrong(&e))
            }

            /// Removes the route of a prefix; returns the next hop that it had.
            #[pyo3(signature = (prefix))]
            fn remove(&self, prefix: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
                let at = crate::table::prefix(prefix)?;
                let before = prefix.py().detach(|| self.0.with(|fib| fib.withdraw(at)));
                before.map(|h| h.map(|h| h.get())).map_err(|e| wrong(&e))
            }

            /// The next hop of a prefix itself.
            #[pyo3(signature = (prefix))]
            fn get(&self, prefix: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
                let at = crate::table::prefix(prefix)?;
                Ok(prefix.py().detach(|| self.0.with(|fib| fib.get(at))).map(|h| h.get()))
            }

            /// The next hop of the longest prefix that covers an address. The address is a number, a text, or an object of `ipaddress`.
            #[pyo3(signature = (address))]
            fn lookup(&self, address: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
                let at = crate::table::address(address)?;
                Ok(address.py().detach(|| self.0.with(|fib| fib.lookup(at))).map(|h| h.get()))
            }

            /// The next hops of many addresses, as an array of uint16: 0 where there is no route.
            ///
            /// The addresses are rows of bytes in network order. For IPv4 they may also be numbers in an array of uint32. They are read
            /// where they lie. Other threads run meanwhile: one that changes the array changes which addresses are looked up.
            fn lookup_array<'py>(&self, addresses: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                let py = addresses.py();
                let all = Addresses::of::<$address>(addresses)?;
                arrays::filled(py, all.len::<$address>(), "uint16", |hops| {
                    py.detach(|| self.0.lookup(&all, hops)).map_err(|e| wrong(&e))
                })
            }

            /// All routes: a list of the text of each prefix with its next hop.
            fn routes(&self, py: Python<'_>) -> Vec<(String, u16)> {
                let routes = py.detach(|| self.0.with(|fib| fib.routes()));
                routes.into_iter().map(|(at, to)| (at.to_string(), to.get())).collect()
            }

            fn __len__(&self, py: Python<'_>) -> usize {
                py.detach(|| self.0.with(|fib| fib.len()))
            }

            fn __repr__(&self, py: Python<'_>) -> String {
                format!(concat!("<", stringify!($name), " of {} routes>"), self.__len__(py))
            }
        }
    };
}

family!(
    /// Routes of IPv4: `Fib4([("10.0.0.0/8", 1)]).lookup("10.1.2.3")`.
    Fib4,
    u32
);
family!(
    /// Routes of IPv6: `Fib6([("2001:db8::/32", 1)]).lookup("2001:db8::1")`.
    Fib6,
    u128
);

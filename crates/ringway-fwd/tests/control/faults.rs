//! Lost messages, bursts, flaps.

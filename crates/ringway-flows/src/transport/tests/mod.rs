//! Two ends joined by a wire in virtual time, the reference model, and other stacks.

mod against;
mod blind;
mod cases;
mod chaos;
mod dice;
mod end;
mod model;
mod program;
mod scenes;
mod verdict;
mod windows;
mod wire;
mod world;

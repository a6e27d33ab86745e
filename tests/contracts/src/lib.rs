//! One suite over every implementation of a port, and over every fake; see `tests/contracts`.

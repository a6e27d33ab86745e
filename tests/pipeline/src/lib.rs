//! Scenarios over the whole pipeline, in the user's words; see `tests/pipeline`.

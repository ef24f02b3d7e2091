//! The tracer library.

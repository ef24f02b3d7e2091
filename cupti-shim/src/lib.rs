//! CUPTI shim.

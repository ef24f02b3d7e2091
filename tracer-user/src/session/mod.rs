//! The `.ttft` session file.

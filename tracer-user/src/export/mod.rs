//! Records for other programs; one format a file.

mod jsonl;

pub use jsonl::write_record as write_jsonl;

//! Counters of the host over time.

use std::collections::HashMap;

use serde_json::Value;

use super::frame::MAX_BLOCK_ITEMS;
use super::varint::{Input, Malformed, put, put_delta};

/// Longest name of a source or counter in a file, in bytes; longer ones are cut.
pub const MAX_NAME_BYTES: usize = 256;

/// A number that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleValue {
    /// A count: exact.
    Count(u64),
    /// A level or a ratio.
    Level(f64),
}

/// One reading of one counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub ts_ns: u64,
    /// Where it was read, as `gpu0` or `cgroup`.
    pub source: String,
    /// What was read, with its unit, as `power_mw`.
    pub name: String,
    /// The reading.
    pub value: SampleValue,
}

/// Something that happened to the recording.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Note {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub ts_ns: u64,
    /// What happened, as `target_exit`.
    pub what: String,
    /// Its details.
    #[serde(default)]
    pub data: Value,
}

fn cut(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Appends `samples` to `out`; returns the earliest and the latest time.
pub(super) fn encode(samples: &[Sample], out: &mut Vec<u8>) -> (u64, u64) {
    let mut series: Vec<(&str, &str, bool)> = Vec::new();
    let mut known = HashMap::new();
    let mut ids = Vec::with_capacity(samples.len());
    for sample in samples {
        let key = (cut(&sample.source), cut(&sample.name), matches!(sample.value, SampleValue::Level(_)));
        ids.push(*known.entry(key).or_insert_with(|| {
            series.push(key);
            series.len() - 1
        }));
    }
    put(out, samples.len() as u64);
    put(out, series.len() as u64);
    for (source, name, level) in &series {
        out.push(u8::from(*level));
        for text in [source, name] {
            put(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
    }
    let (mut before, mut first, mut last) = (0, u64::MAX, 0);
    for sample in samples {
        put_delta(out, before, sample.ts_ns);
        (before, first, last) = (sample.ts_ns, first.min(sample.ts_ns), last.max(sample.ts_ns));
    }
    ids.iter().for_each(|id| put(out, *id as u64));
    let mut before = vec![0; series.len()];
    for (sample, id) in samples.iter().zip(&ids) {
        match sample.value {
            SampleValue::Count(count) => {
                put_delta(out, before[*id], count);
                before[*id] = count;
            }
            SampleValue::Level(level) => {
                // The last bits of a level are often zero: they go to the front.
                put(out, (level.to_bits() ^ before[*id]).swap_bytes());
                before[*id] = level.to_bits();
            }
        }
    }
    (first.min(last), last)
}

/// Reads a payload of `items` samples.
pub(super) fn decode(payload: &[u8], items: u32) -> Result<Vec<Sample>, Malformed> {
    let mut input = Input::new(payload);
    let count = input.count(3, MAX_BLOCK_ITEMS)?;
    if count != items as usize {
        return Err(Malformed("the number of samples differs from the block's header"));
    }
    let series_count = input.count(3, count)?;
    let mut series = Vec::with_capacity(series_count);
    for _ in 0..series_count {
        let level = input.byte()? != 0;
        let mut text = || {
            let length = input.count(1, MAX_NAME_BYTES)?;
            let text = std::str::from_utf8(input.take(length)?);
            text.map_err(|_| Malformed("a name is not UTF-8"))
        };
        series.push((text()?, text()?, level, 0u64));
    }
    let mut times = Vec::with_capacity(count);
    let mut ts = 0;
    for _ in 0..count {
        ts = input.delta(ts)?;
        times.push(ts);
    }
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count {
        let id: usize = input.number()?;
        if id >= series_count {
            return Err(Malformed("a sample has a series that does not exist"));
        }
        ids.push(id);
    }
    let mut samples = Vec::with_capacity(count);
    for (ts_ns, id) in times.into_iter().zip(ids) {
        let (source, name, level, before) = &mut series[id];
        let value = if *level {
            *before ^= input.varint()?.swap_bytes();
            SampleValue::Level(f64::from_bits(*before))
        } else {
            *before = input.delta(*before)?;
            SampleValue::Count(*before)
        };
        samples.push(Sample { ts_ns, source: source.to_string(), name: name.to_string(), value });
    }
    input.end()?;
    Ok(samples)
}

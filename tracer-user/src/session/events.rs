//! Events as columns.
//!
//! Most events of a session look alike but for their time and values, so a block holds a table of *shapes*
//! (everything else of an event) and one small number per event. Values are kept per shape and slot, as the way from
//! the one before: a request counter costs next to nothing after compression. Any batch comes back exactly.

use std::collections::HashMap;

use tracer_abi::{Event, EventHeader, MAX_FIELDS, MAX_TEXT_BYTES};

use super::frame::MAX_BLOCK_ITEMS;
use super::varint::{Input, Malformed, put, put_delta};
use crate::stream::{EventBatch, RawEvent};

/// All of an event but its time, its values and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    pid: u32,
    tid: u32,
    probe: u16,
    kind: u8,
    present: u8,
    /// Slots that are written: those present, and any other that is not 0.
    stored: u8,
    fault: u8,
    fault_step: u8,
    flags: u8,
    text: bool,
}

/// Fewest bytes of a shape in the table.
const SHAPE_MIN_BYTES: usize = 10;
/// Most bytes of an event: a shape of its own (5 + 5 + 3 + 7), its time, its shape's number, values, text and length.
pub(super) const EVENT_MAX_BYTES: usize = 20 + 10 + 3 + 10 * MAX_FIELDS + MAX_TEXT_BYTES + 2;
const CACHE_SLOTS: usize = 256;
const NO_SHAPE: u32 = u32::MAX;

impl Shape {
    fn of(event: &Event) -> Self {
        let header = &event.header;
        let mut stored = header.present;
        for (slot, value) in event.values.iter().enumerate() {
            stored |= u8::from(*value != 0) << slot;
        }
        Shape {
            pid: header.pid,
            tid: header.tid,
            probe: header.probe,
            kind: header.kind,
            present: header.present,
            stored,
            fault: header.fault,
            fault_step: header.fault_step,
            flags: header.flags,
            text: header.text_len != 0,
        }
    }

    fn cache_slot(&self) -> usize {
        let place = u64::from(self.pid) << 32 | u64::from(self.tid);
        let rest = u64::from(self.probe) << 32
            | u64::from(self.kind) << 24
            | u64::from(self.stored) << 16
            | u64::from(self.fault) << 8
            | u64::from(self.flags) << 1
            | u64::from(self.text);
        let mixed = (place ^ rest.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 56) as usize % CACHE_SLOTS
    }

    fn put(&self, out: &mut Vec<u8>) {
        put(out, u64::from(self.pid));
        put(out, u64::from(self.tid));
        put(out, u64::from(self.probe));
        let text = u8::from(self.text);
        out.extend([self.kind, self.present, self.stored, self.fault, self.fault_step, self.flags, text]);
    }

    fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let (pid, tid, probe) = (input.number()?, input.number()?, input.number()?);
        let bytes = input.take(7)?;
        let shape = Shape {
            pid,
            tid,
            probe,
            kind: bytes[0],
            present: bytes[1],
            stored: bytes[2],
            fault: bytes[3],
            fault_step: bytes[4],
            flags: bytes[5],
            text: match bytes[6] {
                0 => false,
                1 => true,
                _ => return Err(Malformed("a shape's text mark is neither 0 nor 1")),
            },
        };
        if shape.present & !shape.stored != 0 {
            return Err(Malformed("a shape has a value that is not stored"));
        }
        Ok(shape)
    }

    fn event(&self, ts_ns: u64) -> Event {
        let header = EventHeader {
            ts_ns,
            pid: self.pid,
            tid: self.tid,
            probe: self.probe,
            kind: self.kind,
            present: self.present,
            fault: self.fault,
            fault_step: self.fault_step,
            flags: self.flags,
            text_len: 0,
        };
        Event { header, values: [0; MAX_FIELDS] }
    }

    /// The slots that are written, in order.
    fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        let stored = self.stored;
        (0..MAX_FIELDS).filter(move |slot| stored & (1 << slot) != 0)
    }
}

/// Event numbers ordered by shape, and where each shape's part ends.
#[derive(Default)]
struct ByShape {
    order: Vec<u32>,
    ends: Vec<u32>,
}

impl ByShape {
    /// `ids` must be below `shapes`.
    fn fill(&mut self, ids: &[u32], shapes: usize) {
        self.ends.clear();
        self.ends.resize(shapes + 1, 0);
        ids.iter().for_each(|id| self.ends[*id as usize + 1] += 1);
        for shape in 1..=shapes {
            self.ends[shape] += self.ends[shape - 1];
        }
        self.order.clear();
        self.order.resize(ids.len(), 0);
        for (event, id) in ids.iter().enumerate() {
            let next = &mut self.ends[*id as usize];
            self.order[*next as usize] = event as u32;
            *next += 1;
        }
    }

    fn of(&self, shape: usize) -> &[u32] {
        let start = if shape == 0 { 0 } else { self.ends[shape - 1] };
        &self.order[start as usize..self.ends[shape] as usize]
    }
}

/// Writes events; keeps its memory from block to block.
pub(super) struct Encoder {
    shapes: Vec<Shape>,
    known: HashMap<Shape, u32>,
    cache: [u32; CACHE_SLOTS],
    ids: Vec<u32>,
    by_shape: ByShape,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Encoder {
            shapes: Vec::new(),
            known: HashMap::new(),
            cache: [NO_SHAPE; CACHE_SLOTS],
            ids: Vec::new(),
            by_shape: ByShape::default(),
        }
    }

    fn id_of(&mut self, shape: Shape) -> u32 {
        let cached = &mut self.cache[shape.cache_slot()];
        if self.shapes.get(*cached as usize) == Some(&shape) {
            return *cached;
        }
        let next = self.shapes.len() as u32;
        *cached = *self.known.entry(shape).or_insert(next);
        if *cached == next {
            self.shapes.push(shape);
        }
        *cached
    }

    /// Appends the events to `out`; returns the earliest and the latest time.
    pub(super) fn encode(&mut self, batch: &EventBatch, out: &mut Vec<u8>) -> (u64, u64) {
        let events: &[RawEvent] = batch.events();
        self.shapes.clear();
        self.known.clear();
        self.cache.fill(NO_SHAPE);
        self.ids.clear();
        for raw in events {
            let id = self.id_of(Shape::of(&raw.event));
            self.ids.push(id);
        }
        self.by_shape.fill(&self.ids, self.shapes.len());

        put(out, events.len() as u64);
        put(out, self.shapes.len() as u64);
        self.shapes.iter().for_each(|shape| shape.put(out));
        let (mut before, mut first, mut last) = (0, u64::MAX, 0);
        for raw in events {
            let ts = raw.event.header.ts_ns;
            put_delta(out, before, ts);
            (before, first, last) = (ts, first.min(ts), last.max(ts));
        }
        self.ids.iter().for_each(|id| put(out, u64::from(*id)));
        let texts = || events.iter().filter(|raw| raw.event.header.text_len != 0);
        texts().for_each(|raw| put(out, u64::from(raw.event.header.text_len)));
        texts().for_each(|raw| out.extend_from_slice(batch.text(raw)));
        for (number, shape) in self.shapes.iter().enumerate() {
            for slot in shape.slots() {
                let mut before = 0;
                for event in self.by_shape.of(number) {
                    let value = events[*event as usize].event.values[slot];
                    put_delta(out, before, value);
                    before = value;
                }
            }
        }
        (first.min(last), last)
    }
}

/// Reads a payload of `items` events.
///
/// # Errors
/// [`Malformed`] if the payload does not follow the format.
pub(super) fn decode(payload: &[u8], items: u32) -> Result<EventBatch, Malformed> {
    let mut input = Input::new(payload);
    // A time and a shape number each.
    let count = input.count(2, MAX_BLOCK_ITEMS)?;
    if count != items as usize {
        return Err(Malformed("the number of events differs from the block's header"));
    }
    let shape_count = input.count(SHAPE_MIN_BYTES, count)?;
    let shapes = (0..shape_count).map(|_| Shape::read(&mut input)).collect::<Result<Vec<_>, _>>()?;
    let mut times = Vec::with_capacity(count);
    let mut ts = 0;
    for _ in 0..count {
        ts = input.delta(ts)?;
        times.push(ts);
    }
    let mut ids = Vec::with_capacity(count);
    let mut with_text = 0;
    for _ in 0..count {
        let id: u32 = input.number()?;
        let shape = shapes.get(id as usize).ok_or(Malformed("an event has a shape that does not exist"))?;
        with_text += usize::from(shape.text);
        ids.push(id);
    }
    let lengths = (0..with_text)
        .map(|_| match input.varint()? {
            length @ 1.. if length <= MAX_TEXT_BYTES as u64 => Ok(length as usize),
            _ => Err(Malformed("a text is empty or too long")),
        })
        .collect::<Result<Vec<_>, _>>()?;

    let mut batch = EventBatch::new();
    batch.reserve(count);
    let mut lengths = lengths.into_iter();
    for (ts, id) in times.iter().zip(&ids) {
        let shape = &shapes[*id as usize];
        let text = if shape.text { input.take(lengths.next().unwrap_or(0))? } else { &[] };
        batch.push(shape.event(*ts), text);
    }
    let mut by_shape = ByShape::default();
    by_shape.fill(&ids, shapes.len());
    for (number, shape) in shapes.iter().enumerate() {
        for slot in shape.slots() {
            let mut value = 0;
            for event in by_shape.of(number) {
                value = input.delta(value)?;
                if let Some(values) = batch.values_mut(*event as usize) {
                    values[slot] = value;
                }
            }
        }
    }
    input.end()?;
    Ok(batch)
}

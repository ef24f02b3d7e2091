//! Events in bulk, as they came from the kernel: nothing is interpreted here.

use tracer_abi::Event;

/// An event and where its text lies in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// The event as the kernel wrote it.
    pub event: Event,
    /// Offset of its text in the batch's text; its length is `event.header.text_len`.
    text_offset: u32,
}

/// A number of events with their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventBatch {
    events: Vec<RawEvent>,
    text: Vec<u8>,
}

impl EventBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an event. `text` must be as long as the header says; the header is corrected if it is not.
    pub fn push(&mut self, mut event: Event, text: &[u8]) {
        event.header.text_len = text.len().min(tracer_abi::MAX_TEXT_BYTES) as u8;
        self.events.push(RawEvent { event, text_offset: self.text.len() as u32 });
        self.text.extend_from_slice(&text[..event.header.text_len as usize]);
    }

    /// Makes room for that many more events.
    pub fn reserve(&mut self, events: usize) {
        self.events.reserve(events);
    }

    /// The value slots of the event at `index`, to fill them after the fact.
    pub fn values_mut(&mut self, index: usize) -> Option<&mut [u64; tracer_abi::MAX_FIELDS]> {
        self.events.get_mut(index).map(|raw| &mut raw.event.values)
    }

    /// Appends a copy of an event of another batch.
    pub fn push_from(&mut self, other: &EventBatch, raw: &RawEvent) {
        self.push(raw.event, other.text(raw));
    }

    /// The events, in the batch's order.
    pub fn events(&self) -> &[RawEvent] {
        &self.events
    }

    /// The text of one of this batch's events; empty if it has none.
    pub fn text(&self, raw: &RawEvent) -> &[u8] {
        let start = raw.text_offset as usize;
        self.text.get(start..start + raw.event.header.text_len as usize).unwrap_or_default()
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True if there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Forgets the events, keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.text.clear();
    }

    /// Orders the events by time; events of one moment keep their order.
    pub fn sort_by_time(&mut self) {
        if !self.events.is_sorted_by_key(|raw| raw.event.header.ts_ns) {
            self.events.sort_by_key(|raw| raw.event.header.ts_ns);
        }
    }

    /// Bytes of memory in use, for bounds.
    pub fn memory_bytes(&self) -> usize {
        self.events.capacity() * size_of::<RawEvent>() + self.text.capacity()
    }
}

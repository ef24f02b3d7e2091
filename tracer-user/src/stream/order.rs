//! Time order across CPUs.
//!
//! The ring buffer keeps the order in which space was reserved, which may differ by a little from the order
//! of the time stamps. Events are held back for a moment and released in time order.

use super::EventBatch;

/// How long an event is held back, in nanoseconds.
const HOLD_NS: u64 = 20_000_000;

/// Holds events back until their time has come.
#[derive(Debug, Default)]
pub struct Orderer {
    held: EventBatch,
    spare: EventBatch,
    released_up_to_ns: u64,
    late: u64,
}

impl Orderer {
    /// Takes events; `incoming` is left empty.
    pub fn push(&mut self, incoming: &mut EventBatch) {
        for raw in incoming.events() {
            if raw.event.header.ts_ns < self.released_up_to_ns {
                self.late += 1;
            }
            self.held.push_from(incoming, raw);
        }
        incoming.clear();
    }

    /// Appends to `out`, in time order, the events older than `now_ns` less the holding time.
    pub fn release(&mut self, now_ns: u64, out: &mut EventBatch) {
        self.release_before(now_ns.saturating_sub(HOLD_NS), out);
    }

    /// Appends everything to `out`, in time order.
    pub fn release_all(&mut self, out: &mut EventBatch) {
        self.release_before(u64::MAX, out);
    }

    fn release_before(&mut self, limit_ns: u64, out: &mut EventBatch) {
        self.held.sort_by_time();
        for raw in self.held.events() {
            let ready = raw.event.header.ts_ns < limit_ns;
            let to = if ready { &mut *out } else { &mut self.spare };
            to.push_from(&self.held, raw);
        }
        self.held.clear();
        std::mem::swap(&mut self.held, &mut self.spare);
        self.released_up_to_ns = self.released_up_to_ns.max(limit_ns.min(u64::MAX - 1));
    }

    /// Events that came after later ones had been released: they are kept, but out of order.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use tracer_abi::{Event, EventHeader};

    use super::*;

    fn event(ts_ns: u64) -> Event {
        let header = EventHeader {
            ts_ns,
            pid: 1,
            tid: 1,
            probe: 0,
            kind: 1,
            present: 0,
            fault: 0,
            fault_step: 0,
            flags: 0,
            text_len: 0,
        };
        Event { header, values: [0; 8] }
    }

    #[test]
    fn releases_in_time_order_and_counts_the_late() {
        let mut orderer = Orderer::default();
        let mut batch = EventBatch::new();
        for ts in [5, 3, HOLD_NS + 50, 9] {
            batch.push(event(ts), format!("t{ts}").as_bytes());
        }
        orderer.push(&mut batch);
        let mut out = EventBatch::new();
        orderer.release(HOLD_NS + 10, &mut out);
        let times =
            |batch: &EventBatch| batch.events().iter().map(|e| e.event.header.ts_ns).collect::<Vec<_>>();
        assert_eq!(times(&out), [3, 5, 9]);
        assert_eq!(out.text(&out.events()[1]), b"t5");
        batch.push(event(4), b"");
        orderer.push(&mut batch);
        orderer.release_all(&mut out);
        assert_eq!(times(&out), [3, 5, 9, 4, HOLD_NS + 50]);
        assert_eq!(orderer.late(), 1);
    }
}

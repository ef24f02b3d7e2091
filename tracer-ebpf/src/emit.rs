//! Sending an event: one reservation in the ring, or a counted loss.

use aya_ebpf::{
    bindings::BPF_RB_NO_WAKEUP,
    cty::c_void,
    helpers::generated::bpf_probe_read_user,
};
use tracer_abi::{Event, EventHeader, FLAG_TEXT_CUT, Fault, MAX_TEXT_BYTES, TextEvent};
use tracer_walk::Machine;

use crate::maps::{EVENTS, STATS};

/// A finished plan and where it was hit.
pub struct Hit<'a> {
    pub ts_ns: u64,
    pub pid: u32,
    pub tid: u32,
    pub probe: u32,
    pub kind: u8,
    pub machine: &'a Machine,
}

impl Hit<'_> {
    #[inline(always)]
    fn event(&self) -> Event {
        Event {
            header: EventHeader {
                ts_ns: self.ts_ns,
                pid: self.pid,
                tid: self.tid,
                probe: self.probe as u16,
                kind: self.kind,
                present: self.machine.present,
                fault: self.machine.fault,
                fault_step: self.machine.fault_step,
                flags: 0,
                text_len: 0,
            },
            values: self.machine.values,
        }
    }
}

/// Sends the event, or counts it as lost. Nobody is woken: user space empties the ring by the clock.
#[inline(always)]
pub fn send(hit: &Hit) {
    let Some(stats) = STATS.get_ptr_mut(hit.probe) else { return };
    let (sent, fault) = if hit.machine.text_len == 0 { plain(hit) } else { with_text(hit) };
    // SAFETY: a per-CPU value; at worst a preempted hit loses a count.
    unsafe {
        if sent {
            (*stats).sent += 1;
        } else {
            (*stats).ring_full += 1;
        }
        if fault {
            (*stats).faults += 1;
        }
    }
}

#[inline(always)]
fn plain(hit: &Hit) -> (bool, bool) {
    let event = hit.event();
    let fault = event.header.fault != 0;
    match EVENTS.reserve::<Event>(0) {
        Some(mut entry) => {
            entry.write(event);
            entry.submit(u64::from(BPF_RB_NO_WAKEUP));
            (true, fault)
        }
        None => (false, fault),
    }
}

#[inline(always)]
fn with_text(hit: &Hit) -> (bool, bool) {
    let mut event = hit.event();
    let Some(mut entry) = EVENTS.reserve::<TextEvent>(0) else { return (false, event.header.fault != 0) };
    let mut len = hit.machine.text_len;
    if len > MAX_TEXT_BYTES as u64 {
        len = MAX_TEXT_BYTES as u64;
        event.header.flags |= FLAG_TEXT_CUT;
    }
    let place = entry.as_mut_ptr();
    // SAFETY: `place` is the reserved record, as large as a `TextEvent`; `len` is at most the text's size.
    unsafe {
        let text = (&raw mut (*place).text).cast::<c_void>();
        if bpf_probe_read_user(text, len as u32, hit.machine.text_address as *const c_void) == 0 {
            event.header.text_len = len as u8;
        } else {
            event.header.fault = Fault::Unreadable as u8;
        }
        (*place).event = event;
    }
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    (true, event.header.fault != 0)
}

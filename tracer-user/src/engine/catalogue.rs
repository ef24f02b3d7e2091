//! The closed catalogue of events and their fields. Names in engine files, slots on the wire and the
//! documentation all come from here.

use tracer_abi::EventKind;

/// A field of an event.
#[derive(Clone, Copy, Debug)]
pub struct FieldDef {
    /// Name in engine files.
    pub name: &'static str,
    /// Value slot on the wire.
    pub slot: u8,
}

/// An event and its fields.
#[derive(Clone, Copy, Debug)]
pub struct EventDef {
    /// Wire number.
    pub kind: EventKind,
    /// Name in engine files and output.
    pub name: &'static str,
    /// Fields that a probe may fill.
    pub fields: &'static [FieldDef],
    /// A probe must fill at least one of these.
    pub needs_one_of: &'static [&'static str],
}

/// Slot of the request's identity: a task id or an object's address.
pub const SLOT_REQUEST: usize = 0;
/// Slot of the place that an admitted request holds.
pub const SLOT_PLACE: usize = 1;
/// Slot of the size in bytes of a posted list (filled by `each`).
pub const SLOT_SPAN_BYTES: usize = 1;
/// First slot for the further identities of a posted list (filled by `each`).
pub const SLOT_SIBLINGS: usize = 2;
/// Number of further identities that an event carries.
pub const MAX_SIBLINGS: usize = 4;
/// Slot of the number of prompt tokens.
pub const SLOT_PROMPT_TOKENS: usize = 6;

const REQUEST: FieldDef = FieldDef { name: "request", slot: SLOT_REQUEST as u8 };
const PLACE: FieldDef = FieldDef { name: "slot", slot: SLOT_PLACE as u8 };
const PROMPT_TOKENS: FieldDef = FieldDef { name: "prompt_tokens", slot: SLOT_PROMPT_TOKENS as u8 };

const REQUEST_OR_PLACE: &[&str] = &["request", "slot"];

/// Every event.
pub const EVENTS: &[EventDef] = &[
    EventDef {
        kind: EventKind::RequestEnqueued,
        name: "request_enqueued",
        fields: &[REQUEST, PROMPT_TOKENS],
        needs_one_of: &["request"],
    },
    EventDef {
        kind: EventKind::RequestDeferred,
        name: "request_deferred",
        fields: &[REQUEST],
        needs_one_of: &["request"],
    },
    EventDef {
        kind: EventKind::RequestAdmitted,
        name: "request_admitted",
        fields: &[REQUEST, PLACE],
        needs_one_of: &["request"],
    },
    EventDef {
        kind: EventKind::FirstToken,
        name: "first_token",
        fields: &[REQUEST, PLACE],
        needs_one_of: REQUEST_OR_PLACE,
    },
    EventDef {
        kind: EventKind::RequestEnded,
        name: "request_ended",
        fields: &[REQUEST, PLACE],
        needs_one_of: REQUEST_OR_PLACE,
    },
    EventDef {
        kind: EventKind::RequestAborted,
        name: "request_aborted",
        fields: &[REQUEST],
        needs_one_of: &["request"],
    },
    EventDef {
        kind: EventKind::RequestPreempted,
        name: "request_preempted",
        fields: &[REQUEST, PLACE],
        needs_one_of: REQUEST_OR_PLACE,
    },
    EventDef { kind: EventKind::StepBegin, name: "step_begin", fields: &[], needs_one_of: &[] },
    EventDef { kind: EventKind::StepEnd, name: "step_end", fields: &[], needs_one_of: &[] },
];

/// The definition of the event with this name.
pub fn by_name(name: &str) -> Option<&'static EventDef> {
    EVENTS.iter().find(|event| event.name == name)
}

/// The definition of an event kind.
pub fn by_kind(kind: EventKind) -> &'static EventDef {
    EVENTS.iter().find(|event| event.kind == kind).expect("the catalogue lists every kind")
}

impl EventDef {
    /// The slot of the field with this name.
    pub fn slot(&self, field: &str) -> Option<u8> {
        self.fields.iter().find(|def| def.name == field).map(|def| def.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_listed_once_and_slots_fit() {
        for kind in EventKind::ALL {
            assert_eq!(EVENTS.iter().filter(|event| event.kind == kind).count(), 1, "{kind:?}");
        }
        for event in EVENTS {
            for field in event.fields {
                assert!((field.slot as usize) < tracer_abi::MAX_FIELDS, "{}.{}", event.name, field.name);
            }
            for name in event.needs_one_of {
                assert!(event.slot(name).is_some(), "{}.{name}", event.name);
            }
        }
        const { assert!(SLOT_SIBLINGS + MAX_SIBLINGS <= SLOT_PROMPT_TOKENS) };
    }
}

//! Every map, in one place.

use aya_ebpf::{
    macros::map,
    maps::{Array, LruHashMap, PerCpuArray, RingBuf},
};
use tracer_abi::{ArmedKey, Control, MAX_PLANS, Plan, ProbeStats};

/// Read plans, by attach cookie. Filled by user space before it attaches.
#[map]
pub static PLANS: Array<Plan> = Array::with_max_entries(MAX_PLANS as u32, 0);

/// Counters, by attach cookie.
#[map]
pub static STATS: PerCpuArray<ProbeStats> = PerCpuArray::with_max_entries(MAX_PLANS as u32, 0);

/// The recording switch.
#[map]
pub static CONTROL: Array<Control> = Array::with_max_entries(1, 0);

/// Armed values (see `Op::Arm`). Old ones give way, so that a target cannot fill it for good.
#[map]
pub static ARMED: LruHashMap<ArmedKey, u8> = LruHashMap::with_max_entries(1 << 16, 0);

/// Events on their way to user space; the size is set by the loader.
#[map]
pub static EVENTS: RingBuf = RingBuf::with_byte_size(1 << 22, 0);

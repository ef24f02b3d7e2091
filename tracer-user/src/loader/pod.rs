//! Wire types as map values.

use tracer_abi::{Control, Plan, ProbeStats};

macro_rules! pod {
    ($name:ident, $wire:ty) => {
        #[doc = concat!("[`", stringify!($wire), "`] as a map value.")]
        #[repr(transparent)]
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) $wire);

        // SAFETY: the wire types are `repr(C)` integers without padding; every bit pattern is valid.
        unsafe impl aya::Pod for $name {}
    };
}

pod!(PodPlan, Plan);
pod!(PodStats, ProbeStats);
pod!(PodControl, Control);

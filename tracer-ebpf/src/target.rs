//! The target's memory, as seen from a probe hit.

use aya_ebpf::helpers::bpf_probe_read_user;
use tracer_abi::{ArmedKey, Fault};
use tracer_walk::Target;

use crate::maps::ARMED;

/// The process that was hit.
pub struct Live {
    pub pid: u32,
}

impl Target for Live {
    #[inline(always)]
    fn load(&self, address: u64, width: u8) -> Result<u64, Fault> {
        // SAFETY: the helper checks the address and reports what it cannot read.
        let value = unsafe {
            match width {
                8 => bpf_probe_read_user(address as *const u64),
                4 => bpf_probe_read_user(address as *const u32).map(u64::from),
                2 => bpf_probe_read_user(address as *const u16).map(u64::from),
                1 => bpf_probe_read_user(address as *const u8).map(u64::from),
                _ => return Err(Fault::BadPlan),
            }
        };
        value.map_err(|_| Fault::Unreadable)
    }

    #[inline(always)]
    fn arm(&mut self, value: u64) {
        let _ = ARMED.insert(&ArmedKey { value, pid: self.pid, reserved: 0 }, &1, 0);
    }

    #[inline(always)]
    fn take(&mut self, value: u64) -> bool {
        ARMED.remove(&ArmedKey { value, pid: self.pid, reserved: 0 }).is_ok()
    }
}

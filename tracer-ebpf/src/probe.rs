//! A probe hit: find the plan, follow it, send what it found.

use aya_ebpf::{
    EbpfContext as _,
    cty::{c_long, c_void},
    helpers::{
        bpf_get_current_pid_tgid, bpf_ktime_get_ns,
        generated::{bpf_get_attach_cookie, bpf_loop},
    },
    programs::ProbeContext,
};
use tracer_abi::{MAX_STEPS, Plan};
use tracer_walk::Machine;

use crate::{
    emit,
    maps::{CONTROL, PLANS, STATS},
    target::Live,
};

/// What the step callback needs.
#[repr(C)]
struct Run {
    machine: Machine,
    plan: u32,
    pid: u32,
}

/// One step. The plan is looked up again each time, as a map value's pointer does not survive in the context.
unsafe extern "C" fn step(_index: u64, run: *mut Run) -> c_long {
    // SAFETY: `bpf_loop` passes back the pointer that it was given, to a `Run` on the caller's stack.
    let run = unsafe { &mut *run };
    let Some(plan) = PLANS.get(run.plan) else { return 1 };
    let plan: &Plan = plan;
    let mut target = Live { pid: run.pid };
    if run.machine.advance(plan, &mut target) { 0 } else { 1 }
}

/// Follows the plan that the attach cookie names.
#[inline(always)]
pub fn hit(ctx: &ProbeContext) {
    let ts_ns = unsafe { bpf_ktime_get_ns() };
    match CONTROL.get(0) {
        Some(control) if control.recording != 0 => {}
        _ => return,
    }
    let probe = unsafe { bpf_get_attach_cookie(ctx.as_ptr()) } as u32;
    let Some(stats) = STATS.get_ptr_mut(probe) else { return };
    // SAFETY: a per-CPU value; at worst a preempted hit loses a count.
    unsafe { (*stats).hits += 1 };
    let Some(kind) = PLANS.get(probe).map(|plan| plan.kind) else { return };
    let ids = bpf_get_current_pid_tgid();
    let argument = |n| ctx.arg::<u64>(n).unwrap_or(0);
    let mut run = Run {
        machine: Machine::new(
            [argument(0), argument(1), argument(2), argument(3), argument(4), argument(5)],
            stack_pointer(ctx),
        ),
        plan: probe,
        pid: (ids >> 32) as u32,
    };
    // SAFETY: the callback and its context have the types that the helper expects.
    unsafe {
        bpf_loop(MAX_STEPS as u32, step as *mut c_void, &mut run as *mut Run as *mut c_void, 0);
    }
    if run.machine.outcome == 2 {
        return;
    }
    emit::send(&emit::Hit { ts_ns, pid: run.pid, tid: ids as u32, probe, kind, machine: &run.machine });
}

#[inline(always)]
fn stack_pointer(ctx: &ProbeContext) -> u64 {
    #[cfg(bpf_target_arch = "x86_64")]
    // SAFETY: the context of a uprobe is the registers at the hit.
    return unsafe { (*ctx.regs).rsp };
    #[cfg(not(bpf_target_arch = "x86_64"))]
    return 0;
}

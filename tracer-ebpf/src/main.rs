//! The kernel programs of `ttftrace`. Entry points are a few lines; what they do lives in the modules.
#![no_std]
#![no_main]

mod emit;
mod maps;
mod probe;
mod target;

use aya_ebpf::{macros::uprobe, programs::ProbeContext};

/// Every uprobe of every engine: the attach cookie names the read plan to follow.
#[uprobe]
pub fn follow_plan(ctx: ProbeContext) -> u32 {
    probe::hit(&ctx);
    0
}

/// Does nothing: attached to the tracer's own functions to measure what a probe hit costs on this machine.
#[uprobe]
pub fn calibrate(_ctx: ProbeContext) -> u32 {
    0
}

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: the kernel's verifier proves that no path leads here.
    unsafe { core::hint::unreachable_unchecked() }
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

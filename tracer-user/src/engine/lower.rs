//! From an engine file's probe to the read plan that the kernel follows.

use std::collections::BTreeSet;

use tracer_abi::{MAX_STEPS, ON_FAULT_STOP, Op, Plan, REGISTER_FREE, REGISTERS, Step};

use super::{Base, Expression, Probe, catalogue};

/// A probe that does not fit the plan machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The plan would be too long.
    #[error("the reads of `{0}` need more than {MAX_STEPS} steps: read less at this probe point")]
    TooLong(String),
}

const BEGIN: u8 = REGISTER_FREE;
const END: u8 = REGISTER_FREE + 1;
const ELEMENT: u8 = REGISTER_FREE + 2;
const VALUE: u8 = REGISTER_FREE + 3;
const _: () = assert!((VALUE as usize) < REGISTERS);

struct Builder {
    steps: Vec<Step>,
}

impl Builder {
    fn push(&mut self, op: Op, dst: u8, src: u8, width: u8, imm: u64) {
        self.steps.push(Step {
            op: op as u8,
            dst,
            src,
            width,
            on_fault: ON_FAULT_STOP,
            reserved: [0; 3],
            imm,
        });
    }

    /// Reads an expression into [`VALUE`] and returns the register that holds its value.
    fn read(&mut self, expression: &Expression, each: u8) -> u8 {
        let mut register = match expression.base {
            Base::Argument(n) => n,
            Base::Each => each,
        };
        for (width, offset) in &expression.loads {
            self.push(Op::Load, VALUE, register, width.wire(), *offset);
            register = VALUE;
        }
        register
    }

    fn read_into(&mut self, expression: &Expression, register: u8) {
        let from = self.read(expression, register);
        self.push(Op::Add, register, from, 0, 0);
    }
}

/// The read plan of `probe`. `stride_bytes` is the size of an element of its `each` list, if it is known:
/// without it, only the first element and the list's size are read.
///
/// # Errors
/// [`LowerError::TooLong`] if the plan does not fit.
pub fn lower(probe: &Probe, stride_bytes: Option<u64>) -> Result<Plan, LowerError> {
    let mut b = Builder { steps: Vec::new() };
    if let Some(each) = &probe.each {
        b.read_into(&each.begin, BEGIN);
        b.read_into(&each.end, END);
        // An empty list is no request.
        b.push(Op::Sub, VALUE, END, BEGIN, 0);
        b.push(Op::RequireNe, 0, VALUE, 0, 0);
    }
    for skip in &probe.skip {
        let register = b.read(&skip.value, BEGIN);
        b.push(Op::RequireNe, 0, register, 0, skip.is as u64);
    }
    if let Some(slot) = probe.takes {
        let register = b.read(field(probe, slot), BEGIN);
        b.push(Op::Take, 0, register, 0, 0);
    }
    for (slot, expression) in &probe.fields {
        let register = b.read(expression, BEGIN);
        b.push(Op::Field, *slot, register, 0, 0);
        if probe.arms == Some(*slot) {
            b.push(Op::Arm, 0, register, 0, 0);
        }
    }
    if probe.each.is_some() {
        b.push(Op::Sub, VALUE, END, BEGIN, 0);
        b.push(Op::Field, catalogue::SLOT_SPAN_BYTES as u8, VALUE, 0, 0);
        if let (Some(stride), Some((_, expression))) =
            (stride_bytes, probe.fields.iter().find(|(slot, _)| *slot as usize == catalogue::SLOT_REQUEST))
        {
            siblings(&mut b, stride, expression);
        }
    }
    if b.steps.len() > MAX_STEPS {
        return Err(LowerError::TooLong(probe.source.clone()));
    }
    let mut plan = Plan::empty(probe.event);
    plan.len = b.steps.len() as u32;
    plan.steps[..b.steps.len()].copy_from_slice(&b.steps);
    Ok(plan)
}

fn siblings(b: &mut Builder, stride: u64, expression: &Expression) {
    let mut jumps = Vec::new();
    b.push(Op::Add, ELEMENT, BEGIN, 0, 0);
    for n in 0..catalogue::MAX_SIBLINGS {
        b.push(Op::Add, ELEMENT, ELEMENT, 0, stride);
        jumps.push(b.steps.len());
        b.push(Op::JumpUnlessBelow, 0, ELEMENT, END, 0);
        let register = b.read(expression, ELEMENT);
        b.push(Op::Field, (catalogue::SLOT_SIBLINGS + n) as u8, register, 0, 0);
    }
    let end = b.steps.len() as u8;
    for jump in jumps {
        b.steps[jump].on_fault = end;
    }
}

fn field(probe: &Probe, slot: u8) -> &Expression {
    &probe.fields.iter().find(|(s, _)| *s == slot).expect("checked when the file was parsed").1
}

/// The argument registers that a probe reads: they must still hold the arguments where the probe is placed.
pub fn arguments_used(probe: &Probe) -> BTreeSet<u8> {
    let each = probe.each.iter().flat_map(|each| [&each.begin, &each.end]);
    let fields = probe.fields.iter().map(|(_, expression)| expression);
    let skips = probe.skip.iter().map(|skip| &skip.value);
    each.chain(fields)
        .chain(skips)
        .filter_map(|expression| match expression.base {
            Base::Argument(n) => Some(n),
            Base::Each => None,
        })
        .collect()
}

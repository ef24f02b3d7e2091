//! Registers, one step, and the outcome of a plan.

use tracer_abi::{
    ARGUMENTS, Fault, MAX_FIELDS, MAX_STEPS, ON_FAULT_STOP, Op, Plan, REGISTER_SP, REGISTERS, Step,
    WIDTH_SIGNED,
};

/// The target's memory and the tracer's memory of armed values.
pub trait Target {
    /// The little-endian value of `width` bytes (1, 2, 4 or 8) at `address`, zero-extended.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] when the address cannot be read.
    fn load(&self, address: u64, width: u8) -> Result<u64, Fault>;
    /// Remembers a value (see [`Op::Arm`]).
    fn arm(&mut self, value: u64);
    /// True if the value was armed; it is no longer armed afterwards.
    fn take(&mut self, value: u64) -> bool;
}

/// What to do after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Execute the next step.
    Next,
    /// The plan is finished: send the event.
    Send,
    /// The hit is of no interest: send nothing.
    Drop,
}

/// State of one run of a plan.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Registers.
    pub registers: [u64; REGISTERS],
    /// Value slots of the event.
    pub values: [u64; MAX_FIELDS],
    /// Address of the text, valid if `text_len` is not 0.
    pub text_address: u64,
    /// Length of the text in bytes, as the target claims it.
    pub text_len: u64,
    /// Next step.
    pub pc: u32,
    /// Bit n set: value slot n is filled.
    pub present: u8,
    /// A [`Fault`] number, 0 for none.
    pub fault: u8,
    /// Step at which the fault happened.
    pub fault_step: u8,
    /// 0: running, 1: send, 2: drop. A number, as the kernel's verifier is happier with it than with an enum.
    pub outcome: u8,
}

impl Machine {
    /// A machine at the first step, with the function's arguments and stack pointer in their registers.
    #[inline(always)]
    pub fn new(arguments: [u64; ARGUMENTS], stack_pointer: u64) -> Self {
        let mut registers = [0; REGISTERS];
        registers[0] = arguments[0];
        registers[1] = arguments[1];
        registers[2] = arguments[2];
        registers[3] = arguments[3];
        registers[4] = arguments[4];
        registers[5] = arguments[5];
        registers[REGISTER_SP as usize] = stack_pointer;
        Machine {
            registers,
            values: [0; MAX_FIELDS],
            text_address: 0,
            text_len: 0,
            pc: 0,
            present: 0,
            fault: 0,
            fault_step: 0,
            outcome: 0,
        }
    }

    #[inline(always)]
    fn get(&self, register: u8) -> u64 {
        self.registers[(register as usize) & (REGISTERS - 1)]
    }

    #[inline(always)]
    fn set(&mut self, register: u8, value: u64) {
        self.registers[(register as usize) & (REGISTERS - 1)] = value;
    }

    #[inline(always)]
    fn failed(&mut self, fault: Fault, step: &Step) -> Flow {
        if step.on_fault == ON_FAULT_STOP {
            self.fault = fault as u8;
            self.fault_step = self.pc as u8;
            Flow::Send
        } else {
            self.jump(step)
        }
    }

    /// Jumps only go forward, so that a plan ends whatever it says.
    #[inline(always)]
    fn jump(&mut self, step: &Step) -> Flow {
        if u32::from(step.on_fault) > self.pc {
            self.pc = u32::from(step.on_fault);
            return Flow::Next;
        }
        self.fault = Fault::BadPlan as u8;
        self.fault_step = self.pc as u8;
        Flow::Send
    }

    /// Executes one step.
    #[inline(always)]
    pub fn step<T: Target>(&mut self, step: &Step, target: &mut T) -> Flow {
        let source = self.get(step.src);
        let op = step.op;
        if op == Op::Load as u8 {
            let width = step.width & !WIDTH_SIGNED;
            match target.load(source.wrapping_add(step.imm), width) {
                Ok(value) => {
                    let value =
                        if step.width & WIDTH_SIGNED != 0 { sign_extend(value, width) } else { value };
                    self.set(step.dst, value);
                }
                Err(fault) => return self.failed(fault, step),
            }
        } else if op == Op::Field as u8 {
            let slot = (step.dst as usize) & (MAX_FIELDS - 1);
            self.values[slot] = source;
            self.present |= 1 << slot;
        } else if op == Op::Add as u8 {
            self.set(step.dst, source.wrapping_add(step.imm));
        } else if op == Op::And as u8 {
            self.set(step.dst, source & step.imm);
        } else if op == Op::Sub as u8 {
            self.set(step.dst, source.wrapping_sub(self.get(step.width)));
        } else if op == Op::Index as u8 {
            self.set(step.dst, source.wrapping_add(self.get(step.width) << (step.imm & 63)));
        } else if op == Op::Shr as u8 {
            self.set(step.dst, source >> (step.imm & 63));
        } else if op == Op::RequireEq as u8 {
            if source != step.imm {
                return Flow::Drop;
            }
        } else if op == Op::RequireNe as u8 {
            if source == step.imm {
                return Flow::Drop;
            }
        } else if op == Op::Text as u8 {
            let len = self.get(step.width);
            if len as i64 <= 0 {
                return self.failed(Fault::BadLength, step);
            }
            self.text_address = source;
            self.text_len = len;
        } else if op == Op::Arm as u8 {
            target.arm(source);
        } else if op == Op::Take as u8 {
            if !target.take(source) {
                return Flow::Drop;
            }
        } else if op == Op::JumpUnlessBelow as u8 {
            if source >= self.get(step.width) {
                return self.jump(step);
            }
        } else if op == Op::JumpIfEq as u8 {
            if source == step.imm {
                return self.jump(step);
            }
        } else if op == Op::End as u8 {
            return Flow::Send;
        } else {
            return self.failed(Fault::BadPlan, step);
        }
        self.pc += 1;
        Flow::Next
    }

    /// Executes the step that the machine stands at and notes the outcome. True while there is more to do.
    #[inline(always)]
    pub fn advance<T: Target>(&mut self, plan: &Plan, target: &mut T) -> bool {
        let pc = self.pc as usize;
        if pc >= MAX_STEPS || pc >= plan.len as usize {
            self.outcome = 1;
            return false;
        }
        match self.step(&plan.steps[pc], target) {
            Flow::Next => return true,
            Flow::Send => self.outcome = 1,
            Flow::Drop => self.outcome = 2,
        }
        false
    }
}

#[inline(always)]
fn sign_extend(value: u64, width: u8) -> u64 {
    match width {
        1 => value as i8 as i64 as u64,
        2 => value as i16 as i64 as u64,
        4 => value as i32 as i64 as u64,
        _ => value,
    }
}

/// Runs a whole plan on the host, as the kernel does it step by step.
pub fn run<T: Target>(plan: &Plan, mut machine: Machine, target: &mut T) -> Machine {
    for _ in 0..MAX_STEPS {
        if !machine.advance(plan, target) {
            return machine;
        }
    }
    machine.fault = Fault::TooManySteps as u8;
    machine.outcome = 1;
    machine
}

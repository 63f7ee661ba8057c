//! Where calls are counted: the countdown is in a register on the ways from one counted call to the next, and in the thread's context when anybody else looks at it.
//!
//! In: a body with probes. Out: which probes leave the countdown in the register for another one, and at which blocks' starts it is there.
//!
//! Inlined calls follow each other within a nanosecond, and a word in memory that each takes one from is a chain of stores and loads, some seven cycles a link: `raytrace` takes 3.6 times as long with it. So between real calls, whose callees
//! count themselves, it is loaded once and stored once. Rare events (slow paths, failing checks) store it in their cold blocks, and load it again.
//!
//! Before an instruction that may trap it is stored, if a call was counted since the last store: so the number is exact whatever happens.

use super::Translator;
use crate::context::offset;
use crate::ir::liveness::Point;
use crate::ir::{Block, BlockCall, Function, Inst, Op, Start, Terminator};
use crate::native::stubs::Stub;
use crate::native::tables::SiteKind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use cranelift_entity::{EntitySet, SecondaryMap};
use cranelift_frontend::Variable;

/// Where the countdown is on the way that is being translated.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Place {
    #[default]
    Context,
    Register {
        /// The context may hold another number.
        is_newer: bool,
    },
}

/// See the module's documentation.
#[derive(Default)]
pub struct Countdown {
    variable: Option<Variable>,
    place: Place,
    /// Probes behind which another comes on some way, before anything that looks at the context.
    followed: EntitySet<Inst>,
    is_entry_followed: bool,
    at_start: SecondaryMap<Block, Place>,
}

/// Others may look at the countdown in the context, or change it, while this runs: other functions, and the runtime, which the program may end in.
fn is_look(op: &Op) -> bool {
    match op {
        Op::Call { .. } | Op::CallVirtual { .. } => true,
        Op::CallBuiltin { builtin, .. } => !builtin.signature().is_pure,
        _ => false,
    }
}

/// An edge of the terminator on which nobody looks.
fn for_each_quiet_edge(terminator: &Terminator, mut f: impl FnMut(Block)) {
    match terminator {
        Terminator::Try { op, normal, .. } if !is_look(op) => f(normal.block),
        Terminator::Try { .. } => {}
        _ => terminator.for_each_edge(|to| f(to.block)),
    }
}

fn terminator_of(source: &Function, block: Block) -> &Terminator {
    source.blocks[block].terminator.as_ref().expect("a finished block")
}

impl Countdown {
    /// `order`: blocks in reverse postorder. `probes_count`: probes do something.
    pub fn new(source: &Function, order: &[Block], probes_count: bool) -> Countdown {
        let mut found = Countdown::default();
        if probes_count {
            let expects = found.expected(source, order);
            found.is_entry_followed = source.start == Start::Call && expects.contains(source.entry());
            found.places(source, order, &expects);
        }
        found
    }

    /// Blocks from whose start on a probe comes before anybody looks; also finds the probes that are followed.
    fn expected(&mut self, source: &Function, order: &[Block]) -> EntitySet<Block> {
        let mut expects = EntitySet::new();
        loop {
            let mut changed = false;
            for &block in order.iter().rev() {
                let mut is_expected = false;
                for_each_quiet_edge(terminator_of(source, block), |to| is_expected |= expects.contains(to));
                for &inst in source.blocks[block].insts.iter().rev() {
                    match &source.insts[inst].op {
                        Op::Probe => {
                            if is_expected {
                                self.followed.insert(inst);
                            }
                            is_expected = true;
                        }
                        op if is_look(op) => is_expected = false,
                        _ => {}
                    }
                }
                changed |= is_expected && expects.insert(block);
            }
            if !changed {
                return expects;
            }
        }
    }

    fn places(&mut self, source: &Function, order: &[Block], expects: &EntitySet<Block>) {
        for &block in order {
            let is_expected = expects.contains(block) && block != source.entry();
            self.at_start[block] = if is_expected { Place::Register { is_newer: false } } else { Place::Context };
        }
        loop {
            let mut changed = false;
            for &block in order {
                let starts = match self.at_start[block] {
                    Place::Register { is_newer } => is_newer,
                    Place::Context => block == source.entry() && self.is_entry_followed,
                };
                if self.is_newer_behind(source, block, starts) {
                    for_each_quiet_edge(terminator_of(source, block), |to| {
                        let newer = Place::Register { is_newer: true };
                        changed |= std::mem::replace(&mut self.at_start[to], newer) != newer;
                    });
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn is_newer_behind(&self, source: &Function, block: Block, at_start: bool) -> bool {
        source.blocks[block].insts.iter().fold(at_start, |is_newer, &inst| match &source.insts[inst].op {
            Op::Probe => self.followed.contains(inst),
            op => is_newer && !is_look(op),
        })
    }

    /// Translation comes to the block.
    pub fn start_block(&mut self, block: Block) {
        self.place = self.at_start[block];
    }
}

impl Translator<'_, '_> {
    /// Where a call has begun: takes it off those that are left.
    pub(super) fn count_call(&mut self, kind: SiteKind) {
        self.mark(kind);
        let variable = self.countdown_variable();
        let calls = match self.countdown.place {
            Place::Context => self.load_context(types::I64, offset::CALLS_LEFT),
            Place::Register { .. } => self.b.use_var(variable),
        };
        let left = self.b.ins().iadd_imm_s(calls, -1);
        let is_followed = match self.point {
            Point::Inst(inst) => self.countdown.followed.contains(inst),
            _ => self.countdown.is_entry_followed,
        };
        if is_followed {
            self.b.def_var(variable, left);
            self.countdown.place = Place::Register { is_newer: true };
        } else {
            self.store_context(offset::CALLS_LEFT, left);
            self.countdown.place = Place::Context;
        }
        let seen = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        let on = self.branch_to_cold(seen);
        self.call_stub(Stub::Call, kind);
        self.b.ins().jump(on, &[]);
        self.enter(on);
    }

    fn countdown_variable(&mut self) -> Variable {
        if self.countdown.variable.is_none() {
            self.countdown.variable = Some(self.b.declare_var(types::I64));
        }
        self.countdown.variable.unwrap()
    }

    /// In a cold block before somebody looks: the other way keeps the countdown where it is.
    pub(super) fn show_countdown(&mut self) {
        if self.countdown.place == (Place::Register { is_newer: true }) {
            let variable = self.countdown_variable();
            let left = self.b.use_var(variable);
            self.store_context(offset::CALLS_LEFT, left);
        }
    }

    /// In the same block afterwards.
    pub(super) fn retake_countdown(&mut self) {
        if self.countdown.place != Place::Context {
            self.load_countdown();
        }
    }

    fn load_countdown(&mut self) {
        let variable = self.countdown_variable();
        let left = self.load_context(types::I64, offset::CALLS_LEFT);
        self.b.def_var(variable, left);
    }

    /// Before a call, or the function's end.
    pub(super) fn give_up_countdown(&mut self) {
        self.show_countdown();
        self.countdown.place = Place::Context;
    }

    /// Before an instruction that may trap.
    pub(super) fn show_countdown_to_trap(&mut self) {
        self.show_countdown();
        if let Place::Register { is_newer } = &mut self.countdown.place {
            *is_newer = false;
        }
    }

    /// As [`Translator::give_up_countdown`], if others look at it in this operation.
    pub(super) fn give_up_countdown_for(&mut self, op: &Op) {
        if is_look(op) {
            self.give_up_countdown();
        }
    }

    /// Before the block's end, for blocks that expect the countdown in the register.
    pub(super) fn settle_countdown(&mut self, terminator: &Terminator) {
        let mut is_needed = false;
        terminator.for_each_edge(|to| is_needed |= self.countdown.at_start[to.block] != Place::Context);
        if is_needed && self.countdown.place == Place::Context {
            self.load_countdown();
        }
    }

    /// Before the end of a block to which a call led.
    pub(super) fn retake_countdown_for(&mut self, to: &BlockCall) {
        if self.countdown.at_start[to.block] != Place::Context {
            self.load_countdown();
        }
    }
}

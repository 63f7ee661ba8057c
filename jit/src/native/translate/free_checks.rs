//! Null checks that cost no instruction: an access behind them faults instead.
//!
//! In: a function whose accesses are split from their checks. Out: which checks need no code, and which accesses make them; also the values that are not null wherever they are used, by what defines them.
//!
//! A check and the access may have operations between them that neither fail nor can be seen. Invariant: checks that fail together are reported as if each had been made where it stands, the first one first: an access
//! takes over a check only if no later check is made before that access, and the reference is nowhere under another name.

use crate::ir::liveness::Liveness;
use crate::ir::{Block, Function, Inst, Loc, Null, Op, Value};
use cranelift_entity::EntitySet;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub struct FreeChecks {
    without_code: HashSet<Inst>,
    /// Positions of the checks that accesses make.
    made_by: HashMap<Inst, Loc>,
    never_null: EntitySet<Value>,
    probes_count: bool,
}

/// A check of the current block, and the access that may make it: place in the block and instruction.
struct Check {
    inst: Inst,
    place: usize,
    access: Option<(usize, Inst)>,
}

impl FreeChecks {
    /// `probes_count`: probes do something. `faults`: the operand that an operation finds to be null by accessing it, if it does.
    pub fn new(
        source: &Function,
        order: &[Block],
        live: &Liveness,
        probes_count: bool,
        faults: impl Fn(&Op) -> Option<Value>,
    ) -> FreeChecks {
        let mut found = FreeChecks { probes_count, ..FreeChecks::default() };
        for &block in order {
            found.block(source, block, live, &faults);
        }
        found
    }

    /// Whether another operation makes the check.
    pub fn has_no_code(&self, check: Inst) -> bool {
        self.without_code.contains(&check)
    }

    /// The position of the check that the access makes, too.
    pub fn made_by(&self, access: Inst) -> Option<Loc> {
        self.made_by.get(&access).copied()
    }

    /// Wherever the value may be used it is not null.
    pub fn is_never_null(&self, value: Value) -> bool {
        self.never_null.contains(value)
    }

    fn block(&mut self, source: &Function, block: Block, live: &Liveness, faults: &impl Fn(&Op) -> Option<Value>) {
        let mut checks: Vec<Check> = Vec::new();
        // Of the references with a check: its index, while no access has made it.
        let mut open: HashMap<Value, Option<usize>> = HashMap::new();
        for (place, &inst) in source.blocks[block].insts.iter().enumerate() {
            let data = &source.insts[inst];
            if let Some(result) = data.result.filter(|_| gives_object(&data.op)) {
                self.never_null.insert(result);
            }
            if let Op::NullCheck(object) = data.op {
                let root = live.root(object);
                if open.contains_key(&root) || self.never_null.contains(object) {
                    self.without_code.insert(inst);
                } else {
                    open.insert(root, Some(checks.len()));
                    checks.push(Check { inst, place, access: None });
                }
                continue;
            }
            // An access to the result is one to them that nobody sees: the checks stand before it.
            if let Op::Select { then, els, .. } = data.op {
                [then, els].iter().for_each(|&either| _ = open.get_mut(&live.root(either)).and_then(Option::take));
            }
            let faulting = faults(&data.op);
            let accessed = faulting.or(accessed(&data.op)).and_then(|object| open.get_mut(&live.root(object)));
            // An access that does not fault needs the check before it.
            if let Some(check) = accessed.and_then(Option::take) {
                checks[check].access = faulting.is_some().then_some((place, inst));
            }
            if can_be_seen(&data.op) && (self.probes_count || data.op != Op::Probe) {
                self.settle(source, &mut checks);
                open.clear();
            }
        }
        self.settle(source, &mut checks);
    }

    /// Nothing behind this point can make the checks.
    fn settle(&mut self, source: &Function, checks: &mut Vec<Check>) {
        // Where the check behind this one is made.
        let mut next = usize::MAX;
        for check in checks.drain(..).rev() {
            next = match check.access {
                Some((place, access)) if place < next => {
                    self.without_code.insert(check.inst);
                    self.made_by.insert(access, source.insts[check.inst].loc);
                    place
                }
                _ => check.place,
            };
        }
    }
}

/// The object that the operation takes to be there.
fn accessed(op: &Op) -> Option<Value> {
    match *op {
        Op::LoadField(_, object, Null::Never) | Op::LoadElem(_, object, _) => Some(object),
        Op::ArrayLen(object, Null::Never) | Op::HasClass(_, object) => Some(object),
        _ => None,
    }
}

fn gives_object(op: &Op) -> bool {
    matches!(op, Op::New(_) | Op::NewArray(..) | Op::StrConst(_) | Op::NullCheck(_) | Op::CheckCast(..))
}

/// Whether it matters on which side of the operation an error is thrown.
fn can_be_seen(op: &Op) -> bool {
    let writes = matches!(op, Op::StoreField { .. } | Op::StoreElem(..) | Op::StoreGlobal(..) | Op::CallBuiltin { .. });
    writes || matches!(op, Op::Poll | Op::ExitPoll { .. } | Op::WatchedPoll { .. } | Op::Probe) || op.may_throw()
}

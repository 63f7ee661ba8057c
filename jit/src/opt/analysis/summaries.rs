//! What memory each function of the program may write, with all it calls: flow-insensitive side-effect analysis (J. Banning, "An Efficient Way to Find the Side Effects of Procedure Calls and the Aliases of Variables", POPL 1979).
//!
//! In: a module. Out: [`Summaries`], also of virtual calls. They stay true while the program is optimized, since that only takes effects away.
//! What is written through the first argument is kept apart: so the fields that a constructor sets count only for its object. Objects that a call allocates itself do not count: the caller knows nothing of them that could change.
//! That is also all there is to say of final fields: no call writes them but one that runs a constructor on an object that existed before.

use super::call_graph::for_each_op;
use super::hierarchy::Hierarchy;
use crate::ir::*;
use cranelift_entity::{EntityRef, SecondaryMap};

/// A part of memory that accesses name: parts do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// Of all objects that have it.
    Field(FieldId),
    /// Of all arrays.
    Elems(ElemKind),
    Global(GlobalId),
}

/// A set of [`Space`]s.
#[derive(Clone, Default, Debug)]
struct Spaces(Vec<u64>);

impl Spaces {
    fn contains(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    fn insert(&mut self, bit: usize) {
        if self.0.len() <= bit / 64 {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Whether anything is new.
    fn add(&mut self, other: &Spaces) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut new = 0;
        for (word, &other) in self.0.iter_mut().zip(&other.0) {
            new |= other & !*word;
            *word |= other;
        }
        new != 0
    }
}

#[derive(Clone, Default, Debug)]
struct Written {
    /// In the object that is the first argument.
    first: Spaces,
    /// In any object.
    any: Spaces,
    /// What other threads wrote may be seen afterwards.
    synchronizes: bool,
}

/// What a call may write.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    summaries: &'a Summaries,
    written: &'a Written,
}

#[derive(Debug)]
pub struct Summaries {
    fields: usize,
    /// Functions, then selectors.
    written: Vec<Written>,
    funcs: usize,
}

/// Where the first argument of a call comes from.
#[derive(Clone, Copy)]
enum First {
    /// It is the caller's own first argument.
    Own,
    /// The caller has allocated it.
    Fresh,
    Other,
}

impl Summaries {
    pub fn new(module: &Module, hierarchy: &Hierarchy) -> Summaries {
        let funcs = module.funcs.len();
        let written = vec![Written::default(); funcs + module.selectors.len()];
        let mut summaries = Summaries { fields: module.fields.len(), written, funcs };
        let mut callers: Vec<Vec<(usize, First)>> = vec![Vec::new(); summaries.written.len()];
        for (id, func) in module.funcs.iter() {
            summaries.function(module, id, func, &mut callers);
        }
        for (id, selector) in module.selectors.iter() {
            let classes = hierarchy.concrete(selector.class);
            for target in classes.iter().filter_map(|&c| module.classes[c].methods.get(&id)) {
                callers[target.index()].push((funcs + id.index(), First::Own));
            }
        }
        callers.iter_mut().for_each(|c| c.dedup_by_key(|c| c.0 << 2 | c.1 as usize));
        summaries.propagate(&callers);
        summaries
    }

    /// What a function does itself, and whom it calls.
    fn function(&mut self, module: &Module, id: FuncId, func: &Function, callers: &mut [Vec<(usize, First)>]) {
        let mut own = Written { synchronizes: func.layout.is_empty(), ..Written::default() };
        let origins = origins(func);
        for_each_op(func, |op| {
            let mut write = |space: Space, object: Option<Value>| match object.map_or(First::Other, |o| origins[o]) {
                First::Own => own.first.insert(self.bit(space)),
                First::Fresh => {}
                First::Other => own.any.insert(self.bit(space)),
            };
            match op {
                Op::StoreField { field, object, .. } => write(Space::Field(*field), Some(*object)),
                Op::StoreElem(kind, array, ..) => write(Space::Elems(*kind), Some(*array)),
                Op::StoreGlobal(global, _) => write(Space::Global(*global), None),
                Op::Atomic(..) | Op::AtomicCas(..) => own.synchronizes = true,
                Op::CallBuiltin { builtin, args } => match builtin_writes(module, *builtin) {
                    BuiltinWrites::Nothing => {}
                    BuiltinWrites::Spaces(spaces, object) => spaces.iter().for_each(|&s| write(s, args.get(object).copied())),
                    BuiltinWrites::Synchronizes => own.synchronizes = true,
                },
                Op::Call { func: callee, args, .. } => {
                    callers[callee.index()].push((id.index(), args.first().map_or(First::Other, |&a| origins[a])));
                }
                Op::CallVirtual { selector, args, .. } => {
                    callers[self.funcs + selector.index()].push((id.index(), args.first().map_or(First::Other, |&a| origins[a])));
                }
                _ => {}
            }
        });
        self.written[id.index()] = own;
    }

    fn propagate(&mut self, callers: &[Vec<(usize, First)>]) {
        let mut work: Vec<usize> = (0..self.written.len()).collect();
        let mut waiting = vec![true; work.len()];
        while let Some(callee) = work.pop() {
            waiting[callee] = false;
            let from = std::mem::take(&mut self.written[callee]);
            let mut again = false;
            for &(caller, first) in &callers[callee] {
                if caller == callee {
                    again |= matches!(first, First::Other);
                    continue;
                }
                let to = &mut self.written[caller];
                let mut changed = to.any.add(&from.any) | (from.synchronizes && !to.synchronizes);
                to.synchronizes |= from.synchronizes;
                changed |= match first {
                    First::Own => to.first.add(&from.first),
                    First::Fresh => false,
                    First::Other => to.any.add(&from.first),
                };
                if changed && !std::mem::replace(&mut waiting[caller], true) {
                    work.push(caller);
                }
            }
            self.written[callee] = from;
            let own = &mut self.written[callee];
            if again && own.any.add(&own.first) && !std::mem::replace(&mut waiting[callee], true) {
                work.push(callee);
            }
        }
    }

    fn bit(&self, space: Space) -> usize {
        match space {
            Space::Field(field) => field.index(),
            Space::Elems(kind) => self.fields + kind as usize,
            Space::Global(global) => self.fields + ElemKind::Ref as usize + 1 + global.index(),
        }
    }

    /// `None` for what is no call of a function.
    pub fn of(&self, op: &Op) -> Option<Summary<'_>> {
        let index = match op {
            Op::Call { func, .. } => func.index(),
            Op::CallVirtual { selector, .. } => self.funcs + selector.index(),
            _ => return None,
        };
        Some(Summary { summaries: self, written: &self.written[index] })
    }
}

impl Summary<'_> {
    /// Of the object that is the first argument.
    pub fn writes_in_first(&self, space: Space) -> bool {
        self.written.first.contains(self.summaries.bit(space))
    }

    /// Of any object that others than the caller know, or that the call is given.
    pub fn writes(&self, space: Space) -> bool {
        self.written.any.contains(self.summaries.bit(space))
    }

    pub fn synchronizes(&self) -> bool {
        self.written.synchronizes
    }
}

/// What a builtin may write of the memory that the program can see.
pub enum BuiltinWrites {
    Nothing,
    /// In the object that is the argument at this position.
    Spaces(Vec<Space>, usize),
    Synchronizes,
}

pub fn builtin_writes(module: &Module, builtin: Builtin) -> BuiltinWrites {
    use Builtin::*;
    match builtin {
        ArrayCopy => {
            let kinds = [ElemKind::Int, ElemKind::Float, ElemKind::Bool, ElemKind::Byte, ElemKind::Ref];
            BuiltinWrites::Spaces(kinds.map(Space::Elems).into(), 2)
        }
        StrCopyInto => BuiltinWrites::Spaces(vec![Space::Elems(ElemKind::Byte)], 1),
        FillTrace => BuiltinWrites::Spaces(module.known.iter().map(|k| Space::Field(k.error_trace)).collect(), 0),
        // A thread that waits for another without telling it: no order is promised, but there is nothing to gain either.
        ThreadStart | ThreadJoin | MutexLock | MutexUnlock | MutexWait | MutexNotify | MutexNotifyAll | Sleep => {
            BuiltinWrites::Synchronizes
        }
        StrConcat | StrConcat3 | StrConcatAll | StrEq | StrCmp | StrHash | StrSubstring | StrIndexOf | StrTrim | StrToUpper
        | StrToLower | StrReplace | StrRepeat | StrCodePoints | StrToBytes | StrFromBytes | CharToStr | IntToStr | IntToRadix
        | FloatToStr | FloatFormat | StrIsInt | StrParseInt | StrIsFloat | StrParseFloat | IdentityHash | ClassName | MathSin | MathCos
        | MathTan | MathAsin | MathAcos | MathAtan | MathAtan2 | MathExp | MathLog | MathLog10 | MathPow | MathHypot | MathRound
        | FloatRem | Print | PrintLine | EprintLine | ReadLine | ReadFile | WriteFile | Args | Exit | ClockNanos | TraceText => {
            BuiltinWrites::Nothing
        }
    }
}

/// Of each value of a function, through checks; parameters of blocks count as coming from anywhere.
fn origins(func: &Function) -> SecondaryMap<Value, First> {
    let mut origins = SecondaryMap::with_default(First::Other);
    if let Some(&first) = func.layout.first().and_then(|&entry| func.blocks[entry].params.first()) {
        origins[first] = First::Own;
    }
    // A check stands in layout order after what it checks almost everywhere; where it does not, less is known.
    for &inst in func.layout.iter().flat_map(|&b| &func.blocks[b].insts) {
        let InstData { op, result: Some(result), .. } = &func.insts[inst] else { continue };
        match op {
            Op::New(_) | Op::NewArray(..) => origins[*result] = First::Fresh,
            Op::NullCheck(value) | Op::CheckCast(_, value) => origins[*result] = origins[*value],
            _ => {}
        }
    }
    origins
}

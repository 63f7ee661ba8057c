//! The rules about code: positions and structure first (blocks, edges, definitions), then types and operands, then that every use is dominated by its definition.

use super::{MAX_PROBLEMS, Problem, exists};
use crate::ir::dominators::Dominators;
use crate::ir::printer::{op_text, terminator_text};
use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub(super) fn check(module: &Module, id: FuncId, func: &Function) -> Vec<Problem> {
    let mut checker =
        Checker { module, id, func, problems: Vec::new(), block: None, in_layout: SecondaryMap::new(), defs: SecondaryMap::new() };
    checker.positions();
    if checker.structure() && checker.definitions() {
        func.layout.iter().for_each(|&b| checker.block(b));
        checker.dominance();
    }
    checker.problems
}

/// Where a value is defined: block and position in it; parameters stand at 0, instructions from 1.
#[derive(Clone, Copy, Default)]
struct Def {
    block: Option<Block>,
    position: usize,
}

struct Checker<'a> {
    module: &'a Module,
    id: FuncId,
    func: &'a Function,
    problems: Vec<Problem>,
    /// The one being checked.
    block: Option<Block>,
    in_layout: SecondaryMap<Block, bool>,
    defs: SecondaryMap<Value, Def>,
}

/// A rule that an operation breaks.
type Rule = Result<(), String>;

fn rule(ok: bool, message: impl FnOnce() -> String) -> Rule {
    if ok { Ok(()) } else { Err(message()) }
}

impl Checker<'_> {
    fn report(&mut self, inst: Option<String>, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { func: Some(self.id), block: self.block, inst, message: message.into() });
        }
    }

    /// Positions inside of callees are in the table, and lead step by step out to the function itself.
    fn positions(&mut self) {
        let func = self.func;
        for (id, inlined) in func.inlined.iter() {
            if let Err(message) = self.inlined(id, inlined) {
                self.report(None, format!("{id} {message}"));
            }
        }
        for (id, block) in func.layout.iter().filter_map(|&b| Some((b, func.blocks.get(b)?))) {
            self.block = Some(id);
            let insts = block.insts.iter().filter_map(|&i| func.insts.get(i)).map(|i| i.loc);
            let missing = insts.chain([block.terminator_loc]).find_map(|l| l.inlined().filter(|&id| !exists(&func.inlined, id)));
            missing.into_iter().for_each(|id| self.report(None, format!("the position {id} does not exist")));
        }
        self.block = None;
    }

    fn inlined(&self, id: InlinedId, inlined: &Inlined) -> Rule {
        let Inlined { callee, loc, site, call } = *inlined;
        rule(exists(&self.module.funcs, callee), || format!("mentions {callee}, which does not exist"))?;
        rule(exists(&self.module.call_sites, site), || format!("mentions {site}, which does not exist"))?;
        rule(loc.inlined().is_none(), || "has a position that is not the callee's own".into())?;
        rule(call.inlined().is_none_or(|outer| outer < id), || "is called from a position that does not come before it".into())
    }

    /// Blocks and instructions exist and stand in one place; blocks are terminated and edges lead to blocks that are there. The rest is checked only if this holds.
    fn structure(&mut self) -> bool {
        let func = self.func;
        for &block in &func.layout {
            self.block = Some(block);
            if !exists(&func.blocks, block) {
                self.report(None, "this block does not exist");
            } else if std::mem::replace(&mut self.in_layout[block], true) {
                self.report(None, "this block stands in the layout twice");
            }
        }
        if !self.problems.is_empty() {
            return false;
        }
        let mut placed: SecondaryMap<Inst, bool> = SecondaryMap::with_capacity(func.insts.len());
        for &block in &func.layout {
            self.block = Some(block);
            for &inst in &func.blocks[block].insts {
                if !exists(&func.insts, inst) {
                    self.report(None, format!("{inst} does not exist"));
                } else if std::mem::replace(&mut placed[inst], true) {
                    self.report(None, format!("{inst} stands in two places"));
                }
            }
            let Some(terminator) = &func.blocks[block].terminator else {
                self.report(None, "this block has no terminator");
                continue;
            };
            let mut targets = Vec::new();
            terminator.for_each_edge(|edge| targets.push(edge.block));
            for target in targets {
                if !self.in_layout[target] {
                    self.report(Some(terminator_text(terminator)), format!("{target} is not in the layout"));
                } else if target == func.layout[0] {
                    self.report(Some(terminator_text(terminator)), "an edge leads to the entry block");
                }
            }
        }
        self.problems.is_empty()
    }

    /// Every value has one definition; the entry's parameters are the function's. The rest is checked only if this holds.
    fn definitions(&mut self) -> bool {
        let func = self.func;
        for &block in &func.layout {
            self.block = Some(block);
            let data = &func.blocks[block];
            let params = data.params.iter().map(|&v| (v, 0));
            let results = data.insts.iter().enumerate().filter_map(|(i, &inst)| Some((func.insts[inst].result?, i + 1)));
            for (value, position) in params.chain(results) {
                if !exists(&func.values, value) {
                    self.report(None, format!("{value} does not exist"));
                } else if self.defs[value].block.is_some() {
                    self.report(None, format!("{value} is defined twice"));
                }
                self.defs[value] = Def { block: Some(block), position };
            }
        }
        self.block = func.layout.first().copied();
        let entry = func.blocks[func.entry()].params.iter().map(|&v| self.ty(v));
        if !entry.eq(func.params.iter().map(|p| Some(p.ty()))) {
            self.report(None, "the entry block's parameters differ from the signature");
        }
        self.problems.is_empty()
    }

    fn block(&mut self, block: Block) {
        self.block = Some(block);
        let data = &self.func.blocks[block];
        for inst in data.insts.iter().map(|&i| &self.func.insts[i]) {
            if let Err(message) = self.inst(inst) {
                self.report(Some(op_text(&inst.op)), message);
            }
        }
        let terminator = data.terminator.as_ref().expect("checked by `structure`");
        if let Err(message) = self.terminator(terminator) {
            self.report(Some(terminator_text(terminator)), message);
        }
    }

    /// Type of a value that has a definition.
    fn ty(&self, value: Value) -> Option<Ty> {
        self.defs[value].block.and_then(|_| self.func.values.get(value).copied())
    }

    fn expect(&self, value: Value, wanted: Ty) -> Rule {
        match self.ty(value) {
            None => Err(format!("{value} is not defined")),
            Some(ty) => rule(ty == wanted, || format!("{value} is {ty:?}, not {wanted:?}")),
        }
    }

    fn inst(&self, inst: &InstData) -> Rule {
        self.operands(&inst.op)?;
        let ty = inst.op.result_ty(self.module, |v| self.func.values[v]);
        let found = inst.result.and_then(|v| self.ty(v));
        rule(inst.result.is_some() == ty.is_some() && found == ty, || format!("the result is {found:?}, not {ty:?}"))
    }

    fn terminator(&self, terminator: &Terminator) -> Rule {
        match terminator {
            Terminator::Jump(to) => self.edge(to, None),
            Terminator::Branch { cond, then, els } => {
                self.expect(*cond, Ty::Bool)?;
                self.edge(then, None)?;
                self.edge(els, None)
            }
            Terminator::Switch { index, targets, default } => {
                self.expect(*index, Ty::Int)?;
                targets.iter().chain([default]).try_for_each(|to| self.edge(to, None))
            }
            Terminator::Return(value) => match (value, self.func.ret) {
                (Some(value), Some(ret)) => self.expect(*value, ret.ty()),
                (None, None) => Ok(()),
                (None, Some(_)) => Err("the function has a result".into()),
                (Some(_), None) => Err("the function has no result".into()),
            },
            Terminator::Throw(error) => self.expect(*error, Ty::Ref),
            Terminator::Try { op, normal, unwind } => {
                rule(op.may_throw(), || "this operation does not throw".into())?;
                self.operands(op)?;
                self.edge(normal, op.result_ty(self.module, |v| self.func.values[v]))?;
                self.edge(unwind, Some(Ty::Ref))
            }
            Terminator::Leave { .. } | Terminator::Unreachable => Ok(()),
        }
    }

    /// `first`: what the block gets before the edge's own arguments.
    fn edge(&self, to: &BlockCall, first: Option<Ty>) -> Rule {
        let params = &self.func.blocks[to.block].params;
        let given = usize::from(first.is_some()) + to.args.len();
        rule(given == params.len(), || format!("{} takes {} arguments, not {given}", to.block, params.len()))?;
        let own = match first {
            None => params.as_slice(),
            Some(ty) => {
                let found = self.func.values[params[0]];
                rule(found == ty, || format!("{} takes {found:?} first, not {ty:?}", to.block))?;
                &params[1..]
            }
        };
        to.args.iter().zip(own).try_for_each(|(&arg, &param)| self.expect(arg, self.func.values[param]))
    }

    /// Ids exist, and operands have the right types.
    fn operands(&self, op: &Op) -> Rule {
        let m = self.module;
        match op {
            Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null => Ok(()),
            Op::Poll | Op::ExitPoll { .. } | Op::WatchedPoll { .. } | Op::Probe => Ok(()),
            Op::StrConst(str) => rule(exists(&m.strings, *str), || format!("{str} does not exist")),
            Op::Unary(op, a) => self.expect(*a, unary_operand(*op)),
            Op::Binary(op, a, b) => self.both(*a, *b, op.operand_ty()),
            Op::ICmp(_, a, b) => self.both(*a, *b, Ty::Int),
            Op::FCmp(_, a, b) => self.both(*a, *b, Ty::Float),
            Op::RefEq(a, b) => self.both(*a, *b, Ty::Ref),
            Op::Select { cond, then, els } => {
                self.expect(*cond, Ty::Bool)?;
                let ty = self.ty(*then).ok_or_else(|| format!("{then} is not defined"))?;
                self.expect(*els, ty)
            }
            Op::New(class) => rule(self.kind(*class)? == ClassKind::Concrete, || format!("{class} cannot be allocated")),
            Op::NewArray(class, length) => {
                self.expect(*length, Ty::Int)?;
                rule(matches!(self.kind(*class)?, ClassKind::Array(_)), || format!("{class} is no array"))
            }
            Op::LoadField(field, o, _) => self.field(*field).and(self.expect(*o, Ty::Ref)),
            Op::StoreField { field, object: o, value: v, .. } => {
                let ty = self.field(*field)?;
                self.expect(*o, Ty::Ref)?;
                self.expect(*v, ty)
            }
            Op::ArrayLen(v, _) | Op::NullCheck(v) => self.expect(*v, Ty::Ref),
            Op::CheckBounds(a, i) => self.array(*a, *i),
            Op::CheckIndex { array, index, length } => self.array(*array, *index).and(self.expect(*length, Ty::Int)),
            Op::LoadElem(_, a, i) => self.array(*a, *i),
            Op::StoreElem(kind, a, i, v, _) => {
                self.array(*a, *i)?;
                self.expect(*v, kind.ty())
            }
            Op::InstanceOf(class, v) | Op::HasClass(class, v) | Op::CheckCast(class, v) => {
                self.kind(*class)?;
                self.expect(*v, Ty::Ref)
            }
            Op::LoadGlobal(global) => rule(exists(&m.globals, *global), || format!("{global} does not exist")),
            Op::StoreGlobal(global, v) => {
                let global = m.globals.get(*global).ok_or_else(|| format!("{global} does not exist"))?;
                self.expect(*v, global.ty.ty())
            }
            Op::Atomic(op, field, o, v) => {
                self.atomic(*field, *o)?;
                rule(v.is_some() == (*op != AtomicOp::Load), || "wrong number of operands".into())?;
                v.map_or(Ok(()), |v| self.expect(v, Ty::Int))
            }
            Op::AtomicCas(field, o, expected, new) => {
                self.atomic(*field, *o)?;
                self.both(*expected, *new, Ty::Int)
            }
            Op::Call { func, args, site } => {
                let callee = m.funcs.get(*func).ok_or_else(|| format!("{func} does not exist"))?;
                self.call(args, callee.params.iter().map(|p| p.ty()), *site)
            }
            Op::CallVirtual { selector, args, site } => {
                let callee = m.selectors.get(*selector).ok_or_else(|| format!("{selector} does not exist"))?;
                self.call(args, callee.params.iter().map(|p| p.ty()), *site)
            }
            Op::CallBuiltin { builtin, args } => self.args(args, builtin.signature().params.iter().copied()),
        }
    }

    fn both(&self, a: Value, b: Value, ty: Ty) -> Rule {
        self.expect(a, ty)?;
        self.expect(b, ty)
    }

    fn array(&self, array: Value, index: Value) -> Rule {
        self.expect(array, Ty::Ref)?;
        self.expect(index, Ty::Int)
    }

    fn kind(&self, class: ClassId) -> Result<ClassKind, String> {
        self.module.classes.get(class).map(|c| c.kind).ok_or_else(|| format!("{class} does not exist"))
    }

    fn field(&self, field: FieldId) -> Result<Ty, String> {
        self.module.fields.get(field).map(|f| f.ty.ty()).ok_or_else(|| format!("{field} does not exist"))
    }

    fn atomic(&self, field: FieldId, object: Value) -> Rule {
        rule(self.field(field)? == Ty::Int, || format!("{field} is no Int"))?;
        self.expect(object, Ty::Ref)
    }

    fn call(&self, args: &[Value], params: impl ExactSizeIterator<Item = Ty>, site: CallSiteId) -> Rule {
        rule(exists(&self.module.call_sites, site), || format!("{site} does not exist"))?;
        self.args(args, params)
    }

    fn args(&self, args: &[Value], params: impl ExactSizeIterator<Item = Ty>) -> Rule {
        rule(args.len() == params.len(), || format!("takes {} arguments, not {}", params.len(), args.len()))?;
        args.iter().zip(params).try_for_each(|(&arg, ty)| self.expect(arg, ty))
    }

    /// Uses come after definitions on every way. In blocks that cannot be reached anything goes.
    fn dominance(&mut self) {
        let func = self.func;
        let dominators = Dominators::new(func);
        for &block in dominators.preorder() {
            self.block = Some(block);
            let data = &func.blocks[block];
            for (i, inst) in data.insts.iter().map(|&i| &func.insts[i]).enumerate() {
                let mut early = None;
                inst.op.for_each_arg(|v| early = early.or(self.is_early(&dominators, v, block, i + 1)));
                early.into_iter().for_each(|v| self.report(Some(op_text(&inst.op)), format!("{v} is not defined on every way here")));
            }
            let terminator = data.terminator.as_ref().expect("checked by `structure`");
            let mut early = None;
            let mut visit = |v| early = early.or(self.is_early(&dominators, v, block, usize::MAX));
            terminator.for_each_operand(&mut visit);
            terminator.for_each_edge(|edge| edge.args.iter().for_each(|&v| visit(v)));
            early.into_iter().for_each(|v| self.report(Some(terminator_text(terminator)), format!("{v} is not defined on every way here")));
        }
    }

    /// `value`, if it may not be used at a position. (One without definition was reported already.)
    fn is_early(&self, dominators: &Dominators, value: Value, block: Block, position: usize) -> Option<Value> {
        let Def { block: Some(def), position: defined } = self.defs[value] else { return None };
        let ok = if def == block { defined < position } else { dominators.dominates(def, block) };
        (!ok).then_some(value)
    }
}

fn unary_operand(op: UnaryOp) -> Ty {
    use UnaryOp::*;
    match op {
        INeg | INot | IntToFloat | FloatFromBits | PopCount | LeadingZeros | TrailingZeros => Ty::Int,
        FNeg | FAbs | FSqrt | FFloor | FCeil | FTrunc | FNearest | FloatToInt | FloatBits => Ty::Float,
        BNot | BoolToInt => Ty::Bool,
    }
}

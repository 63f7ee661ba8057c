//! Puts values in the place of objects.
//!
//! In: a function, its [`Objects`] and their [`Flow`]. Out: the function with a variable for each field or element, and one for the object itself where it becomes real; operations on virtual objects are gone, where an object
//! must be real, it is allocated and filled, and where it is virtual again, its contents are loaded.
//! A parameter that is an object of its own becomes one parameter for each field.

use super::flow::Flow;
use super::objects::{Birth, Object, ObjectId, Objects};
use super::prepare::prepare;
use crate::ir::builder::Variable;
use crate::ir::rewrite::Aliases;
use crate::ir::variables::Variables;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

pub fn replace(func: &mut Function, objects: &Objects<'_>, mut flow: Flow) {
    prepare(func, objects, &mut flow);
    let mut replacement = Replacement::new(func, objects, &flow);
    for i in 0..replacement.func.layout.len() {
        let block = replacement.func.layout[i];
        replacement.block(block);
    }
    replacement.finish();
}

struct Replacement<'a> {
    func: &'a mut Function,
    objects: &'a Objects<'a>,
    flow: &'a Flow,
    /// One for each field or element.
    slots: SecondaryMap<ObjectId, Vec<Variable>>,
    /// The real object; only of objects that become real.
    real: FxHashMap<ObjectId, Variable>,
    variables: Variables,
    /// Objects that become real before an operation.
    becoming_real: FxHashMap<(Block, usize), Vec<ObjectId>>,
    /// Objects that become virtual again at a block's start.
    coming_back: FxHashMap<Block, Vec<ObjectId>>,
    /// Parameters for the contents of an object that was a parameter.
    params: FxHashMap<ObjectId, Vec<Value>>,
    aliases: Aliases,
    /// Values that stand for a variable's value at a block's start until all definitions are known.
    starts: FxHashMap<(Block, Variable), Value>,
    start_order: Vec<(Block, Variable)>,
    /// Constants made here that are zero.
    zeros: FxHashSet<Value>,
    /// Stores that fill objects made real, with their values.
    fills: Vec<(Block, Inst, Value)>,
    at: Position,
}

/// What is known in the block that is worked on.
struct Position {
    block: Block,
    /// Variables that have been defined in it.
    current: FxHashMap<Variable, Value>,
    /// Its instructions so far.
    insts: Vec<Inst>,
    zeros: FxHashMap<Ty, Value>,
}

impl Position {
    fn at_start(block: Block) -> Position {
        Position { block, current: FxHashMap::default(), insts: Vec::new(), zeros: FxHashMap::default() }
    }
}

impl<'a> Replacement<'a> {
    fn new(func: &'a mut Function, objects: &'a Objects<'a>, flow: &'a Flow) -> Self {
        let (variables, entry) = (Variables::new(func), func.entry());
        let mut this = Replacement {
            func,
            objects,
            flow,
            slots: SecondaryMap::new(),
            real: FxHashMap::default(),
            variables,
            becoming_real: FxHashMap::default(),
            coming_back: FxHashMap::default(),
            params: FxHashMap::default(),
            aliases: Aliases::default(),
            starts: FxHashMap::default(),
            start_order: Vec::new(),
            zeros: FxHashSet::default(),
            fills: Vec::new(),
            at: Position::at_start(entry),
        };
        for (id, object) in objects.live() {
            let types: Vec<Ty> = (0..object.shape.slots(objects.module)).map(|i| object.shape.slot_ty(objects.module, i)).collect();
            this.slots[id] = types.iter().map(|&ty| this.variables.declare(ty)).collect();
            let way = &flow.ways[id];
            if !way.escapes.is_empty() {
                let variable = this.variables.declare(Ty::Ref);
                this.real.insert(id, variable);
            }
            for (&block, &position) in way.escapes.iter().filter(|(b, _)| way.escapes_in(**b)) {
                this.becoming_real.entry((block, position)).or_default().push(id);
            }
            way.back.iter().for_each(|block| this.coming_back.entry(block).or_default().push(id));
            if let Birth::Param(_) = object.birth {
                this.params.insert(id, types.iter().map(|&ty| this.func.values.push(ty)).collect());
            }
        }
        this
    }

    fn get(&mut self, variable: Variable) -> Value {
        if let Some(&value) = self.at.current.get(&variable) {
            return value;
        }
        let key = (self.at.block, variable);
        *self.starts.entry(key).or_insert_with(|| {
            self.start_order.push(key);
            self.func.values.push(self.variables.ty(variable))
        })
    }

    fn set(&mut self, variable: Variable, value: Value) {
        self.at.current.insert(variable, value);
    }

    /// The real object, if the value is one that may be virtual elsewhere.
    fn real(&mut self, value: Value) -> Value {
        match self.objects.of(value).and_then(|id| self.real.get(&id)) {
            Some(&variable) => self.get(variable),
            None => value,
        }
    }

    fn emit(&mut self, op: Op, ty: Ty, loc: Loc) -> Value {
        let result = self.func.values.push(ty);
        self.at.insts.push(self.func.insts.push(InstData { op, result: Some(result), loc }));
        result
    }

    fn zero(&mut self, ty: Ty) -> Value {
        if let Some(&zero) = self.at.zeros.get(&ty) {
            return zero;
        }
        let op = match ty {
            Ty::Int => Op::IConst(0),
            Ty::Float => Op::FConst(0),
            Ty::Bool => Op::BConst(false),
            Ty::Ref => Op::Null,
        };
        let zero = self.emit(op, ty, Loc::default());
        self.at.zeros.insert(ty, zero);
        self.zeros.insert(zero);
        zero
    }

    fn is_zero(&self, value: Value) -> bool {
        let op = self.objects.defs.op(self.func, value);
        self.zeros.contains(&value) || matches!(op, Some(Op::IConst(0) | Op::FConst(0) | Op::BConst(false) | Op::Null))
    }

    fn block(&mut self, block: Block) {
        self.at = Position::at_start(block);
        for id in self.own_params(block) {
            for (i, &value) in self.params[&id].clone().iter().enumerate() {
                self.set(self.slots[id][i], value);
            }
        }
        self.come_back();
        let insts = std::mem::take(&mut self.func.blocks[block].insts);
        for (position, &inst) in insts.iter().enumerate() {
            self.make_real(position);
            if self.inst(position, inst) {
                self.at.insts.push(inst);
            }
        }
        self.make_real(insts.len());
        self.terminator();
        self.func.blocks[block].insts = std::mem::take(&mut self.at.insts);
        let current = std::mem::take(&mut self.at.current);
        current.into_iter().for_each(|(variable, value)| self.variables.define(block, variable, value));
    }

    /// Parameters of a block that are objects of their own, in order.
    fn own_params(&self, block: Block) -> Vec<ObjectId> {
        self.func.blocks[block].params.iter().filter_map(|&p| self.own_param(p)).collect()
    }

    fn own_param(&self, param: Value) -> Option<ObjectId> {
        self.objects.of(param).filter(|&id| self.objects.objects[id].birth == Birth::Param(param))
    }

    fn be_born(&mut self, id: ObjectId) {
        for variable in self.slots[id].clone() {
            let zero = self.zero(self.variables.ty(variable));
            self.set(variable, zero);
        }
    }

    fn make_real(&mut self, position: usize) {
        for id in self.becoming_real.remove(&(self.at.block, position)).unwrap_or_default() {
            let Object { shape, loc, .. } = self.objects.objects[id];
            let op = match shape.length {
                None => Op::New(shape.class),
                Some(length) => Op::NewArray(shape.class, self.emit(Op::IConst(i64::from(length)), Ty::Int, loc)),
            };
            let object = self.emit(op, Ty::Ref, loc);
            for (i, variable) in self.slots[id].clone().into_iter().enumerate() {
                let value = self.get(variable);
                let op = match shape.kind(self.objects.module) {
                    Some(kind) => Op::store_elem(kind, object, self.emit(Op::IConst(i as i64), Ty::Int, loc), value),
                    None => {
                        let field = self.objects.module.classes[shape.class].fields[i];
                        Op::StoreField { field, object, value, null: Null::Never, barrier: Barrier::Needed }
                    }
                };
                let inst = self.func.insts.push(InstData { op, result: None, loc });
                self.at.insts.push(inst);
                self.fills.push((self.at.block, inst, value));
            }
            self.set(self.real[&id], object);
        }
    }

    /// Loads what lent objects have become.
    fn come_back(&mut self) {
        let objects = self.objects;
        for id in self.coming_back.remove(&self.at.block).unwrap_or_default() {
            let Object { shape, loc, .. } = objects.objects[id];
            let object = self.get(self.real[&id]);
            for (i, variable) in self.slots[id].clone().into_iter().enumerate() {
                let op = match shape.kind(objects.module) {
                    Some(kind) => Op::LoadElem(kind, object, self.emit(Op::IConst(i as i64), Ty::Int, loc)),
                    None => Op::LoadField(objects.module.classes[shape.class].fields[i], object, Null::Never),
                };
                let value = self.emit(op, self.variables.ty(variable), loc);
                self.set(variable, value);
            }
        }
    }

    fn virtual_at(&self, position: usize, value: Value) -> Option<ObjectId> {
        self.objects.of(value).filter(|&id| self.flow.ways[id].is_virtual_at(self.at.block, position))
    }

    /// Whether the instruction stays.
    fn inst(&mut self, position: usize, inst: Inst) -> bool {
        let InstData { mut op, result, .. } = self.func.insts[inst].clone();
        let objects = self.objects;
        match op {
            Op::New(_) | Op::NewArray(..) => {
                if let Some(id) = result.and_then(|r| objects.of(r)) {
                    self.be_born(id);
                    return false;
                }
            }
            Op::NullCheck(_) | Op::CheckCast(..) if result.is_some_and(|r| objects.of(r).is_some()) => return false,
            Op::InstanceOf(class, value) if let Some(id) = objects.of(value) => op = Op::BConst(objects.is_instance(id, class)),
            Op::HasClass(class, value) if let Some(id) = objects.of(value) => {
                op = Op::BConst(objects.objects[id].shape.class == class);
            }
            Op::ArrayLen(array, _) if let Some(id) = objects.of(array) => {
                op = Op::IConst(i64::from(objects.objects[id].shape.length.unwrap_or(0)));
            }
            Op::CheckBounds(array, index) | Op::CheckIndex { array, index, .. }
                if objects.of(array).is_some_and(|id| objects.is_within(self.func, id, index)) =>
            {
                self.aliases.replace(result.expect("the index"), index);
                return false;
            }
            Op::RefEq(a, b) if objects.of(a).is_some() && objects.of(a) == objects.of(b) => op = Op::BConst(true),
            Op::RefEq(a, b) if self.virtual_at(position, a).or(self.virtual_at(position, b)).is_some() => op = Op::BConst(false),
            Op::LoadField(field, object, _) if let Some(id) = self.virtual_at(position, object) => {
                let ty = objects.module.fields[field].ty.ty();
                self.load(self.field_slot(id, field), ty, result);
                return false;
            }
            Op::StoreField { field, object, value, .. } if let Some(id) = self.virtual_at(position, object) => {
                self.store(self.field_slot(id, field), value);
                return false;
            }
            Op::LoadElem(kind, array, index) if let Some(id) = self.virtual_at(position, array) => {
                self.load(self.elem_slot(id, kind, index), kind.ty(), result);
                return false;
            }
            Op::StoreElem(kind, array, index, value, _) if let Some(id) = self.virtual_at(position, array) => {
                self.store(self.elem_slot(id, kind, index), value);
                return false;
            }
            _ => {}
        }
        op.for_each_arg_mut(|v| *v = self.real(*v));
        self.func.insts[inst].op = op;
        true
    }

    /// `None` for a field that objects of the class do not have: control does not come here.
    fn field_slot(&self, id: ObjectId, field: FieldId) -> Option<Variable> {
        let class = self.objects.objects[id].shape.class;
        let slot = self.objects.module.classes[class].fields.iter().position(|&f| f == field)?;
        self.slots[id].get(slot).copied()
    }

    /// As [`Replacement::field_slot`].
    fn elem_slot(&self, id: ObjectId, kind: ElemKind, index: Value) -> Option<Variable> {
        let index = self.objects.const_index(self.func, index)?;
        let has_kind = self.objects.objects[id].shape.kind(self.objects.module) == Some(kind);
        self.slots[id].get(usize::try_from(index).ok()?).copied().filter(|_| has_kind)
    }

    fn load(&mut self, slot: Option<Variable>, ty: Ty, result: Option<Value>) {
        let value = match slot {
            Some(variable) => self.get(variable),
            None => self.zero(ty),
        };
        self.aliases.replace(result.expect("a load's"), value);
    }

    fn store(&mut self, slot: Option<Variable>, value: Value) {
        if let Some(variable) = slot {
            let value = self.real(value);
            self.set(variable, value);
        }
    }

    fn terminator(&mut self) {
        let block = self.at.block;
        let given = self.objects.of_try(block);
        if let Some(id) = given {
            self.be_born(id);
        }
        let mut terminator = self.func.blocks[block].terminator.take().expect("a finished block");
        match &mut terminator {
            Terminator::Try { op, .. } => op.for_each_arg_mut(|v| *v = self.real(*v)),
            Terminator::Return(Some(value)) | Terminator::Throw(value) => *value = self.real(*value),
            _ => {}
        }
        terminator.for_each_edge_mut(|edge| self.edge(edge, given));
        self.func.blocks[block].terminator = Some(terminator);
    }

    /// Drops the arguments for parameters that go away, and adds the contents of objects for those that come.
    fn edge(&mut self, edge: &mut BlockCall, given: Option<ObjectId>) {
        let params = self.func.blocks[edge.block].params.clone();
        let own = params.len() - edge.args.len();
        let (mut args, mut contents) = (Args::new(), Vec::new());
        for (i, &param) in params.iter().enumerate() {
            let arg = i.checked_sub(own).map(|i| edge.args[i]);
            if let Some(to) = self.own_param(param) {
                let from = arg.map_or(given, |v| self.objects.of(v)).expect("only objects come in");
                debug_assert_eq!(self.slots[to].len(), self.slots[from].len());
                contents.extend(self.slots[from].clone());
            } else if self.objects.of(param).is_none()
                && let Some(arg) = arg
            {
                args.push(self.real(arg));
            }
        }
        args.extend(contents.into_iter().map(|variable| self.get(variable)));
        edge.args = args;
    }

    fn finish(mut self) {
        for i in 0..self.func.layout.len() {
            let block = self.func.layout[i];
            let contents: Vec<Value> = self.own_params(block).into_iter().flat_map(|id| self.params[&id].clone()).collect();
            let params = &mut self.func.blocks[block].params;
            params.retain(|&p| self.objects.of(p).is_none());
            params.extend(contents);
        }
        for key in std::mem::take(&mut self.start_order) {
            let value = self.variables.at_start(self.func, key.0, key.1);
            self.aliases.replace(self.starts[&key], value);
        }
        self.drop_zero_fills();
        let aliases = self.variables.finish(self.func, self.aliases);
        self.func.rewrite(&aliases);
    }

    /// New objects are zero.
    fn drop_zero_fills(&mut self) {
        let mut zero: FxHashSet<Inst> = FxHashSet::default();
        let mut blocks: Vec<Block> = Vec::new();
        for &(block, inst, _) in self.fills.iter().filter(|fill| self.is_zero(self.aliases.get(fill.2))) {
            zero.insert(inst);
            blocks.push(block);
        }
        blocks.dedup();
        blocks.into_iter().for_each(|block| self.func.blocks[block].insts.retain(|inst| !zero.contains(inst)));
    }
}

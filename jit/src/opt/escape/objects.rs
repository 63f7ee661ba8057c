//! Which values are objects that were allocated here, and which uses of one leave it alone.
//!
//! In: a function, allocations and parameters that shall not be looked at. Out ([`Objects`]): the objects, and for each value which of them it is.
//! A block parameter for which every edge gives the same object is that object; one that gets several of one shape is an object of its own, whose contents come over the edges ("phi of objects"). The values are found
//! optimistically, by a work list, so that parameters around loops are found too: a parameter's name only ever goes from unknown to one object, to an object of its own, to no object.

use crate::ir::*;
use crate::opt::Context;
use crate::opt::analysis::captures::Captures;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::rare::RareCode;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use rustc_hash::{FxHashMap, FxHashSet};

/// Fields or elements of an object that is replaced, at most.
const MAX_SLOTS: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(u32);
entity_impl!(ObjectId, "object");

/// Where an object comes from; what stays the same when the analysis starts again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Birth {
    Inst(Inst),
    /// An allocation in the `Try` that ends the block.
    Try(Block),
    /// A block parameter that gets several objects.
    Param(Value),
}

/// Class and, for arrays, length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub class: ClassId,
    pub length: Option<u32>,
}

impl Shape {
    pub fn slots(self, module: &Module) -> usize {
        self.length.map_or_else(|| module.classes[self.class].fields.len(), |n| n as usize)
    }

    /// Of an array.
    pub fn kind(self, module: &Module) -> Option<ElemKind> {
        match module.classes[self.class].kind {
            ClassKind::Array(kind) => Some(kind),
            _ => None,
        }
    }

    pub fn slot_ty(self, module: &Module, slot: usize) -> Ty {
        match self.kind(module) {
            Some(kind) => kind.ty(),
            None => module.fields[module.classes[self.class].fields[slot]].ty.ty(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Object {
    pub birth: Birth,
    /// In which it is born.
    pub block: Block,
    pub shape: Shape,
    /// Of an allocation.
    pub loc: Loc,
    /// It need not stay an object behind rare code that does not keep it.
    pub is_lent: bool,
}

/// What an attempt leaves out.
#[derive(Default)]
pub struct Without {
    /// Allocations that stay, and parameters that are no objects of their own.
    pub births: FxHashSet<Birth>,
    /// Of objects that are not lent.
    pub lent: FxHashSet<Birth>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Name {
    /// No edge has said anything yet.
    Unknown,
    Object(ObjectId),
    #[default]
    Other,
}

/// What an operation needs an object for, as an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Others may know it from then on.
    Keeps,
    /// A rare call, after which nobody knows it.
    Borrows,
}

pub struct Objects<'a> {
    pub module: &'a Module,
    pub defs: &'a Defs,
    pub rare: &'a RareCode,
    captures: &'a Captures,
    /// Those that can be reached, in depth-first preorder.
    pub blocks: &'a [Block],
    pub objects: PrimaryMap<ObjectId, Object>,
    names: SecondaryMap<Value, Name>,
    by_birth: FxHashMap<Birth, ObjectId>,
}

/// What comes in for a block parameter.
#[derive(Clone, Copy)]
enum Incoming {
    Value(Value),
    /// What a `Try` allocates.
    Object(ObjectId),
    Other,
}

impl<'a> Objects<'a> {
    /// `blocks`: those that can be reached, in depth-first preorder.
    pub fn new(
        func: &Function,
        cx: &Context<'a>,
        blocks: &'a [Block],
        defs: &'a Defs,
        rare: &'a RareCode,
        without: &Without,
    ) -> Objects<'a> {
        let (objects, names, by_birth) = (PrimaryMap::new(), SecondaryMap::with_capacity(func.values.len()), FxHashMap::default());
        let mut objects = Objects { module: cx.module, defs, rare, captures: cx.captures, blocks, objects, names, by_birth };
        objects.find_allocations(func, without);
        if !objects.objects.is_empty() {
            objects.name_values(func, without);
        }
        objects
    }

    /// The object that a value is.
    pub fn of(&self, value: Value) -> Option<ObjectId> {
        match self.names[value] {
            Name::Object(id) => Some(id),
            Name::Unknown | Name::Other => None,
        }
    }

    /// The object that the allocation in the `Try` at the end of the block makes.
    pub fn of_try(&self, block: Block) -> Option<ObjectId> {
        self.born(Birth::Try(block))
    }

    pub fn born(&self, birth: Birth) -> Option<ObjectId> {
        self.by_birth.get(&birth).copied()
    }

    /// Objects that some value is. (A parameter that was an object of its own for a while may have turned out to be none.)
    pub fn live(&self) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.objects.iter().filter(|&(id, object)| match object.birth {
            Birth::Param(value) => self.of(value) == Some(id),
            Birth::Inst(_) | Birth::Try(_) => true,
        })
    }

    fn find_allocations(&mut self, func: &Function, without: &Without) {
        for i in 0..self.blocks.len() {
            let block = self.blocks[i];
            let data = &func.blocks[block];
            for &inst in &data.insts {
                let InstData { op, result: Some(result), loc } = &func.insts[inst] else { continue };
                if let Some(shape) = self.shape_of(func, op).filter(|_| !without.births.contains(&Birth::Inst(inst))) {
                    let id = self.add(Birth::Inst(inst), block, shape, *loc, without);
                    self.names[*result] = Name::Object(id);
                }
            }
            if let Some(Terminator::Try { op, .. }) = &data.terminator
                && let Some(shape) = self.shape_of(func, op).filter(|_| !without.births.contains(&Birth::Try(block)))
            {
                self.add(Birth::Try(block), block, shape, data.terminator_loc, without);
            }
        }
    }

    fn add(&mut self, birth: Birth, block: Block, shape: Shape, loc: Loc, without: &Without) -> ObjectId {
        let is_lent = !self.rare.has(block) && !without.lent.contains(&birth);
        let id = self.objects.push(Object { birth, block, shape, loc, is_lent });
        self.by_birth.insert(birth, id);
        id
    }

    /// What an operation allocates, if it can be replaced by values.
    fn shape_of(&self, func: &Function, op: &Op) -> Option<Shape> {
        let shape = match *op {
            Op::New(class) => Shape { class, length: None },
            Op::NewArray(class, length) => {
                let length = self.defs.int_const(func, length)?;
                Shape { class, length: Some(u32::try_from(length).ok()?) }
            }
            _ => return None,
        };
        let truncates = shape.kind(self.module) == Some(ElemKind::Byte);
        (!truncates && shape.slots(self.module) <= MAX_SLOTS).then_some(shape)
    }

    fn name_values(&mut self, func: &Function, without: &Without) {
        let mut incoming: FxHashMap<Value, Vec<Incoming>> = FxHashMap::default();
        let mut block_of: FxHashMap<Value, Block> = FxHashMap::default();
        for i in 0..self.blocks.len() {
            self.collect_incoming(func, self.blocks[i], &mut incoming);
        }
        for &block in self.blocks.iter().filter(|&&b| b != func.entry()) {
            for &param in func.blocks[block].params.iter().filter(|&&p| func.values[p] == Ty::Ref) {
                self.names[param] = Name::Unknown;
                block_of.insert(param, block);
            }
        }
        let mut receivers: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
        for (&to, from) in &incoming {
            let from = from.iter().filter_map(|i| if let Incoming::Value(v) = i { Some(*v) } else { None });
            from.for_each(|v| receivers.entry(v).or_default().push(to));
        }
        // In an order that does not depend on the hash function.
        let mut work: Vec<Value> = func.values.keys().rev().filter(|&v| self.names[v] == Name::Unknown).collect();
        while let Some(value) = work.pop() {
            let name = match block_of.get(&value) {
                Some(&block) => self.meet(value, block, &incoming[&value], without),
                None => self.checked(func, value, &incoming[&value]),
            };
            if name != self.names[value] {
                self.names[value] = name;
                work.extend(receivers.get(&value).into_iter().flatten());
            }
        }
    }

    /// What comes in over the block's edges, and into its checks.
    fn collect_incoming(&mut self, func: &Function, block: Block, incoming: &mut FxHashMap<Value, Vec<Incoming>>) {
        let data = &func.blocks[block];
        for &inst in &data.insts {
            if let InstData { op: Op::NullCheck(value) | Op::CheckCast(_, value), result: Some(result), .. } = func.insts[inst] {
                self.names[result] = Name::Unknown;
                incoming.insert(result, vec![Incoming::Value(value)]);
            }
        }
        let given = self.of_try(block);
        let mut first = true;
        terminator(func, block).for_each_edge(|edge| {
            let params = &func.blocks[edge.block].params;
            let own = params.len() - edge.args.len();
            for (i, &param) in params.iter().enumerate() {
                let from = match (i.checked_sub(own), given) {
                    (Some(i), _) => Incoming::Value(edge.args[i]),
                    (None, Some(id)) if first => Incoming::Object(id),
                    _ => Incoming::Other,
                };
                incoming.entry(param).or_default().push(from);
            }
            first = false;
        });
    }

    /// The name of a parameter, from what its edges give.
    fn meet(&mut self, param: Value, block: Block, incoming: &[Incoming], without: &Without) -> Name {
        let birth = Birth::Param(param);
        let own = self.born(birth);
        let mut met = own;
        let mut several = own.is_some();
        for from in incoming {
            let id = match from {
                Incoming::Object(id) => *id,
                Incoming::Value(value) => match self.names[*value] {
                    Name::Unknown => continue,
                    Name::Object(id) => id,
                    Name::Other => return Name::Other,
                },
                Incoming::Other => return Name::Other,
            };
            let first = *met.get_or_insert(id);
            several |= first != id;
            if self.objects[first].shape != self.objects[id].shape {
                return Name::Other;
            }
        }
        let Some(id) = met else { return Name::Unknown };
        if !several {
            return Name::Object(id);
        }
        if without.births.contains(&birth) {
            return Name::Other;
        }
        let Object { shape, loc, .. } = self.objects[id];
        Name::Object(own.unwrap_or_else(|| self.add(birth, block, shape, loc, without)))
    }

    /// The name of a check's result.
    fn checked(&self, func: &Function, result: Value, incoming: &[Incoming]) -> Name {
        let [Incoming::Value(value)] = incoming else { return Name::Other };
        let name = self.names[*value];
        match (self.defs.op(func, result), name) {
            (Some(Op::CheckCast(class, _)), Name::Object(id)) if !self.is_instance(id, *class) => Name::Other,
            _ => name,
        }
    }

    pub fn is_instance(&self, id: ObjectId, class: ClassId) -> bool {
        self.module.is_subclass(self.objects[id].shape.class, class)
    }

    /// The constant that an index is, behind the checks that gave it back.
    pub fn const_index(&self, func: &Function, mut index: Value) -> Option<i64> {
        loop {
            match self.defs.op(func, index)? {
                Op::IConst(n) => return Some(*n),
                Op::CheckBounds(_, before) | Op::CheckIndex { index: before, .. } => index = *before,
                _ => return None,
            }
        }
    }

    /// Whether a check of this index of this object passes: then it is known to.
    pub fn is_within(&self, func: &Function, id: ObjectId, index: Value) -> bool {
        let length = self.objects[id].shape.length.unwrap_or(0);
        self.const_index(func, index).is_some_and(|i| (0..i64::from(length)).contains(&i))
    }

    /// Calls `f` with each object that the operation needs as an object: the others vanish from it, or it vanishes with them.
    pub fn for_each_needed(&self, func: &Function, inst: Inst, mut f: impl FnMut(ObjectId, Need)) {
        let op = &func.insts[inst].op;
        if self.rare.is_call(inst) {
            let mut position = 0;
            op.for_each_arg(|value| {
                if let Some(id) = self.of(value) {
                    let keeps = !self.objects[id].is_lent || self.captures.keeps(op, position);
                    f(id, if keeps { Need::Keeps } else { Need::Borrows });
                }
                position += 1;
            });
            return;
        }
        let mut escape = |value: Value| self.of(value).into_iter().for_each(|id| f(id, Need::Keeps));
        match *op {
            Op::LoadField(..) | Op::NullCheck(_) | Op::InstanceOf(..) | Op::HasClass(..) | Op::RefEq(..) | Op::ArrayLen(..) => {}
            Op::StoreField { value, .. } => escape(value),
            Op::CheckCast(class, value) => {
                if self.of(value).is_some_and(|id| !self.is_instance(id, class)) {
                    escape(value);
                }
            }
            Op::CheckBounds(array, index) | Op::CheckIndex { array, index, .. } => {
                if self.of(array).is_some_and(|id| !self.is_within(func, id, index)) {
                    escape(array);
                }
            }
            Op::LoadElem(_, array, index) => {
                if self.const_index(func, index).is_none() {
                    escape(array);
                }
            }
            Op::StoreElem(_, array, index, value, _) => {
                if self.const_index(func, index).is_none() {
                    escape(array);
                }
                escape(value);
            }
            _ => op.for_each_arg(escape),
        }
    }
}

pub fn allocates(func: &Function, block: Block) -> bool {
    let data = &func.blocks[block];
    let is_allocation = |op: &Op| matches!(op, Op::New(_) | Op::NewArray(..));
    let tries = matches!(&data.terminator, Some(Terminator::Try { op, .. }) if is_allocation(op));
    tries || data.insts.iter().any(|&i| is_allocation(&func.insts[i].op))
}

pub fn terminator(func: &Function, block: Block) -> &Terminator {
    func.blocks[block].terminator.as_ref().expect("a finished block")
}

//! Which references are not null by where they come from: a value's own definition is the proof, so the fact holds wherever the value may be used.
//!
//! In: a function whose blocks can all be reached, what its values stand for. Out: [`NonNull`]. Block parameters: an optimistic fixpoint over the arguments of all edges, in linear time.

use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

#[derive(Debug)]
pub struct NonNull {
    /// Values without proof.
    nullable: EntitySet<Value>,
    /// Values that are null.
    null: EntitySet<Value>,
}

impl NonNull {
    /// `checked(block, edge, arg)`: whether the argument at that place (counted from the end) will be replaced by a value that is not null, if the parameter needs it.
    pub fn new(func: &Function, aliases: &Aliases, checked: impl Fn(Block, usize, usize) -> bool) -> NonNull {
        let mut found = NonNull { nullable: EntitySet::with_capacity(func.values.len()), null: EntitySet::new() };
        let mut flow: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
        let mut work: Vec<Value> = func.blocks[func.entry()].params.clone();
        for &block in &func.layout {
            let data = &func.blocks[block];
            for InstData { op, result, .. } in data.insts.iter().map(|&i| &func.insts[i]) {
                let Some(result) = *result else { continue };
                match op {
                    Op::Select { then, els, .. } => [then, els].into_iter().for_each(|&v| flow[aliases.get(v)].push(result)),
                    op if gives_object(op) => {}
                    _ => work.push(result),
                }
                if *op == Op::Null {
                    found.null.insert(result);
                }
            }
            let mut edge = 0;
            let terminator = data.terminator.as_ref().expect("a finished block");
            terminator.for_each_edge(|to| {
                let params = &func.blocks[to.block].params;
                let given = params.len() - to.args.len();
                for (i, &arg) in to.args.iter().enumerate() {
                    if !checked(block, edge, to.args.len() - i) {
                        flow[aliases.get(arg)].push(params[given + i]);
                    }
                }
                edge += 1;
            });
            if let Terminator::Try { op, normal, .. } = terminator {
                let params = &func.blocks[normal.block].params;
                if params.len() > normal.args.len() && !gives_object(op) {
                    work.push(params[0]);
                }
            }
        }
        while let Some(value) = work.pop() {
            if found.nullable.insert(value) {
                work.extend(flow[value].iter());
            }
        }
        found
    }

    /// Whether a reference is never null.
    pub fn proves(&self, value: Value) -> bool {
        !self.nullable.contains(value)
    }

    /// Whether `a` is never null and `b` always.
    pub fn differ(&self, aliases: &Aliases, a: Value, b: Value) -> bool {
        self.proves(aliases.get(a)) && self.null.contains(aliases.get(b))
    }
}

/// Accesses that check nothing, of objects whose definition does not say that they are there: bugs of passes.
pub fn unproven(func: &Function) -> Vec<Inst> {
    let proven = NonNull::new(func, &Aliases::default(), |_, _, _| false);
    let insts = func.layout.iter().flat_map(|&block| func.blocks[block].insts.iter().copied());
    insts.filter(|&inst| unchecked(&func.insts[inst].op).is_some_and(|object| !proven.proves(object))).collect()
}

/// The object of an access that neither checks it nor leaves that to a test before it. (Elements are accessed by an index below the length, which has been read.)
fn unchecked(op: &Op) -> Option<Value> {
    match *op {
        Op::LoadField(_, object, Null::Never) | Op::StoreField { object, null: Null::Never, .. } => Some(object),
        Op::ArrayLen(object, Null::Never) | Op::HasClass(_, object) => Some(object),
        _ => None,
    }
}

/// Operations whose result is never null.
fn gives_object(op: &Op) -> bool {
    match op {
        Op::New(_) | Op::NewArray(..) | Op::StrConst(_) | Op::NullCheck(_) | Op::CheckCast(..) => true,
        Op::CallBuiltin { builtin, .. } => !builtin.may_give_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the function, how many accesses nothing proves.
    fn found(body: &str) -> usize {
        let text = format!(
            "class0 \"Node\" {{\n  field0 \"n\": int\n}}\nclass1 array int \"Array<Int>\"\nfn0 \"f\"(class0?, class1, bool) -> int {{\nblock0(v0: ref, v1: ref, v2: bool):\n{body}}}\n"
        );
        let module = parser::parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        unproven(&module.funcs[FuncId::from_u32(0)]).len()
    }

    #[test]
    fn what_stands_on_a_definition_without_proof_is_found() {
        let checked = "  v3 = null_check v0\n  v4 = new class0\n";
        assert_eq!(found("  v3 = load v0.field0 nonnull\n  return v3\n"), 1);
        assert_eq!(found("  v3 = array_len v1 nonnull\n  return v3\n"), 1, "what is declared is no proof");
        assert_eq!(found("  v3 = load v0.field0\n  return v3\n"), 0, "it checks itself");
        assert_eq!(found(&format!("{checked}  v5 = select v2, v3, v4\n  v6 = load v5.field0 nonnull\n  return v6\n")), 0);
        assert_eq!(found(&format!("{checked}  v5 = select v2, v0, v4\n  v6 = load v5.field0 nonnull\n  return v6\n")), 1);
        assert_eq!(
            found(&format!("{checked}  store v0.field0, v2 nonnull\n  v6 = has_class class0, v0\n  v7 = bool_to_int v6\n  return v7\n")),
            2
        );
        let on_two_ways = |one: &str, other: &str| {
            format!("{checked}  branch v2, block1({one}), block1({other})\nblock1(v5: ref):\n  v6 = load v5.field0 nonnull\n  return v6\n")
        };
        assert_eq!((found(&on_two_ways("v3", "v4")), found(&on_two_ways("v3", "v0"))), (0, 1));
    }
}

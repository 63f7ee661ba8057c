//! Blocks on the edges by which loops are left: where that leads to a block that can also be reached from elsewhere, a block lies between (LLVM's dedicated exits of loops).
//!
//! In: a function. Out: the same with such blocks, which do nothing but lead on. Loops get no blocks in front of them: what Cranelift moves there could not be used behind the loop, and would be computed again.

use super::analysis::loops::{Loops, predecessors};
use crate::ir::dominators::Dominators;
use crate::ir::*;

/// `None`: it has no loop.
pub fn with_loop_edges(func: &Function) -> Option<Function> {
    let dominators = Dominators::new(func);
    let loops = Loops::new(func, &dominators);
    if loops.loops.is_empty() {
        return None;
    }
    let preds = predecessors(func);
    let needs_block = |block: Block, to: Block| {
        let left = loops.around(block).filter(|&id| !loops.contains(id, to));
        left.is_some_and(|id| preds[to].iter().any(|&pred| dominators.is_reachable(pred) && !loops.contains(id, pred)))
    };
    let mut func = func.clone();
    for block in func.layout.clone() {
        let mut terminator = func.blocks[block].terminator.take().expect("a finished block");
        terminator.for_each_edge_mut(|edge| {
            if needs_block(block, edge.block) {
                edge.block = lead_on(&mut func, edge.block, std::mem::take(&mut edge.args));
                func.layout.push(edge.block);
            }
        });
        func.blocks[block].terminator = Some(terminator);
    }
    Some(func)
}

/// A block that leads to the block with these arguments, behind what the edge to it brings by itself.
fn lead_on(func: &mut Function, to: Block, args: Args) -> Block {
    let given = func.blocks[to].params.len() - args.len();
    let types: Vec<Ty> = func.blocks[to].params[..given].iter().map(|&param| func.values[param]).collect();
    let params: Vec<Value> = types.into_iter().map(|ty| func.values.push(ty)).collect();
    let jump = Terminator::Jump(BlockCall { block: to, args: params.iter().copied().chain(args).collect() });
    func.blocks.push(BlockData { params, terminator: Some(jump), ..BlockData::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parser::parse;
    use crate::ir::printer::print_body;
    use crate::ir::verifier::verify_function;

    fn with_edges(body: &str) -> Option<String> {
        let module = parse(&format!("class0 \"Object\"\nfn0 \"f\"(int, bool) -> int {{\nblock0(v0: int, v1: bool):\n{body}}}\n")).unwrap();
        let id = FuncId::from_u32(0);
        let func = with_loop_edges(&module.funcs[id])?;
        assert!(verify_function(&module, id, &func).is_empty());
        let text = print_body(&module, id, &func);
        Some(text.lines().skip(2).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn only_what_can_be_reached_otherwise_gets_a_block_before_it() {
        let shared = "  branch v1, block1(v0), block3(v0)\nblock1(v2: int):\n  branch v1, block1(v2), block2\nblock2():\n  branch v1, block3(v2), block4\n";
        let text = with_edges(&format!("{shared}block3(v3: int):\n  return v3\nblock4():\n  return v0\n"));
        // Not block2, nor what is behind it, which lies in no loop.
        assert_eq!(text.as_deref().map(|text| text.matches("jump").count()), Some(0));
        let left =
            "  branch v1, block1(v0), block2(v0)\nblock1(v2: int):\n  branch v1, block1(v2), block2(v2)\nblock2(v3: int):\n  return v3\n";
        let text = with_edges(left).unwrap();
        assert!(text.contains("branch v1, block1(v2), block3\n") && text.contains("block3():\n  jump block2(v2)\n"), "{text}");
    }

    #[test]
    fn what_an_operation_gives_goes_through_the_block() {
        let left = "  branch v1, block1, block3(v0, v0)\nblock1():\n  try idiv v0, v0 normal block3(v0) unwind block2\nblock2(v2: ref):\n  branch v1, block1, block4\n\
                    block3(v3: int, v4: int):\n  return v4\nblock4():\n  return v0\n";
        let text = with_edges(left).unwrap();
        assert!(text.contains("block5(v5: int):\n  jump block3(v5, v0)\n"), "{text}");
    }

    #[test]
    fn without_a_loop_nothing_is_done() {
        assert_eq!(with_edges("  return v0\n"), None);
    }
}

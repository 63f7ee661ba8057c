//! Loops as text, and what is found of their tests.

use super::*;
use crate::ir::parser::parse;
use crate::opt::analysis::loops::predecessors;

/// What is found of the tests of the one loop in a function of two integers.
fn counted(body: &str) -> Vec<(Tested, IntCmp, bool, bool, Option<u64>)> {
    let module = parse(&format!("fn0 \"f\"(int, int) {{\nblock0(v0: int, v1: int):\n{body}}}\n")).unwrap();
    let func = module.funcs.values().next().unwrap();
    let dominators = Dominators::new(func);
    let (preds, loops, defs) = (predecessors(func), Loops::new(func, &dominators), Defs::new(func));
    let facts = Facts { func, preds: &preds, dominators: &dominators, loops: &loops, defs: &defs };
    let id = loops.loops.keys().next().unwrap();
    facts.counted(id).iter().map(|c| (c.tested, c.cmp, c.guarded, c.wraps, facts.test_runs(c))).collect()
}

/// `for i in start..end` with a step: `before` goes in, `after` goes on, with `v5 = v3 + v4`.
fn range(values: &str, before: &str, step: i64, after: &str) -> String {
    format!(
        "{values}  v2 = icmp {before}\n  branch v2, block1(v0), block2()\nblock1(v3: int):\n  v4 = iconst {step}\n  v5 = iadd v3, v4\n\
         {after}  branch v6, block1(v5), block2()\nblock2():\n  return\n"
    )
}

#[test]
fn a_test_of_the_next_value() {
    let next = |cmp| format!("  v6 = icmp {cmp} v5, v1\n");
    assert_eq!(counted(&range("", "lt v0, v1", 1, &next("lt"))), [(Tested::Next, IntCmp::Lt, true, false, None)]);
    assert_eq!(counted(&range("", "gt v1, v0", 1, &next("lt"))), [(Tested::Next, IntCmp::Lt, true, false, None)]);
    assert_eq!(counted(&range("", "gt v0, v1", -1, &next("gt"))), [(Tested::Next, IntCmp::Gt, true, false, None)]);
    // Without the right test before the loop, or with larger steps, it may begin at the end of `Int`, or pass it.
    assert_eq!(counted(&range("", "le v0, v1", 1, &next("lt"))), [(Tested::Next, IntCmp::Lt, false, true, None)]);
    assert_eq!(counted(&range("", "lt v0, v1", 2, &next("lt"))), [(Tested::Next, IntCmp::Lt, true, true, None)]);
    assert_eq!(counted(&range("", "le v0, v1", 1, &next("le"))), [(Tested::Next, IntCmp::Le, true, true, None)]);
    assert_eq!(counted(&range("", "ne v0, v1", 1, &next("ne"))), [(Tested::Next, IntCmp::Ne, true, true, None)]);
}

#[test]
fn a_test_of_this_rounds_value() {
    let this = "  v6 = icmp lt v3, v1\n";
    assert_eq!(counted(&range("", "le v0, v1", 1, this)), [(Tested::Param, IntCmp::Lt, true, false, None)]);
    assert_eq!(counted(&range("", "gt v0, v1", 1, this)), [(Tested::Param, IntCmp::Lt, false, false, None)]);
    assert_eq!(counted(&range("", "le v0, v1", 3, this)), [(Tested::Param, IntCmp::Lt, true, true, None)]);
}

#[test]
fn a_test_of_the_distance() {
    let exclusive = "  v7 = iconst 3\n  v8 = isub v1, v3\n  v6 = icmp ult v7, v8\n";
    assert_eq!(counted(&range("", "lt v0, v1", 3, exclusive)), [(Tested::Next, IntCmp::Lt, true, false, None)]);
    assert_eq!(counted(&range("", "le v0, v1", 3, exclusive)), []);
    assert_eq!(counted(&range("", "lt v0, v1", 4, exclusive)), []);
    let inclusive = "  v7 = iconst 3\n  v8 = isub v3, v1\n  v9 = icmp ult v8, v7\n  v6 = bnot v9\n";
    assert_eq!(counted(&range("", "ge v0, v1", -3, inclusive)), [(Tested::Next, IntCmp::Ge, true, false, None)]);
}

#[test]
fn rounds_between_constants() {
    let runs = |start: i64, cmp: &str, end: i64, step: i64| {
        let body = format!(
            "  v2 = iconst {start}\n  v7 = iconst {end}\n  jump block1(v2)\nblock1(v3: int):\n  v4 = iconst {step}\n  v5 = iadd v3, v4\n  v6 = icmp {cmp} v5, v7\n  \
             branch v6, block1(v5), block2()\nblock2():\n  return\n"
        );
        counted(&body)[0].4
    };
    assert_eq!(runs(0, "lt", 10, 1), Some(10));
    assert_eq!(runs(0, "lt", 10, 3), Some(4));
    assert_eq!(runs(0, "le", 9, 3), Some(4));
    assert_eq!(runs(10, "gt", 0, -1), Some(10));
    assert_eq!(runs(10, "ge", 0, -5), Some(3));
    assert_eq!(runs(20, "lt", 10, 1), Some(1));
    assert_eq!(runs(0, "ne", 8, 2), Some(4));
    assert_eq!(runs(0, "ne", 8, 3), None);
    assert_eq!(runs(0, "le", i64::MAX, 1), None);
    assert_eq!(runs(0, "lt", i64::MAX, 1), Some(i64::MAX as u64));
    assert_eq!(runs(i64::MIN, "gt", i64::MIN, -1), None);
}

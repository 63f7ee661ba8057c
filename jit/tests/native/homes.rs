//! Values that stay in memory through loops that do not use them: each safepoint in between moves what they refer to. (With [`Config::stress`] all such values do; `exits` and `agree` have them handed over, too.)

use crate::mock::*;
use rustc_hash::FxHashSet;

/// Two loops, one in the other, and a third behind them. `v5` and `v6` are boxes that live through all of them, up to the end; `v6` is used in the outer one, too, behind the inner one.
fn loops(inner: &str, outer: &str, third: &str) -> String {
    format!(
        r#"
class7 "Box" extends class0 {{
  field2 "n": int
}}
fn0 "box"(int) -> class7 {{
block0(v0: int):
  v1 = new class7
  store v1.field2, v0
  return v1
}}
fn1 "f"(int) -> int {{
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = iconst 5
  v4 = iconst 7
  v5 = call fn0(v3) site0
  v6 = call fn0(v4) site1
  jump block1(v1, v1)
block1(v7: int, v8: int):
  v9 = icmp lt v7, v0
  branch v9, block2(v1, v8), block5
block2(v10: int, v11: int):
  v12 = iadd v10, v2
{inner}
  v14 = iadd v11, v13
  v15 = icmp lt v12, v0
  branch v15, block2(v12, v14), block3
block3():
  v16 = load v6.field2
  v17 = iadd v14, v16
{outer}
  v18 = iadd v7, v2
  v19 = iconst 13
  v20 = icmp eq v18, v19
  branch v20, block6(v17), block1(v18, v17)
block5():
  jump block6(v8)
block6(v21: int):
  jump block7(v1, v21)
block7(v22: int, v23: int):
  v24 = iadd v22, v2
{third}
  v25 = iadd v23, v2
  v26 = icmp lt v24, v0
  branch v26, block7(v24, v25), block8
block8():
  v27 = load v5.field2
  v28 = load v6.field2
  v29 = imul v27, v28
  v30 = iadd v25, v29
  return v30
}}
"#
    )
}

const POLL: &str = "  poll\n  v13 = iconst 3";
const NEW: &str = "  v40 = call fn0(v12) site2\n  v41 = new class7\n  store v41.field2, v12\n  poll\n  v13 = load v40.field2";
const NOTHING: &str = "  v13 = iconst 3";

fn expected(rounds: i64, inner: impl Fn(i64) -> i64) -> i64 {
    let outer = rounds.min(13);
    let sum: i64 = (1..=rounds.max(1)).map(inner).sum();
    outer * (sum + 7) + rounds.max(1) + 35
}

#[test]
fn references_follow_what_moves_while_they_stay() {
    for rounds in [0, 1, 2, 9, 20] {
        for outer in ["", "  poll", "  v42 = new class7"] {
            for third in ["", "  poll", "  v43 = call fn0(v24) site3"] {
                for (inner, each) in [(POLL, (|_| 3) as fn(i64) -> i64), (NEW, |n| n), (NOTHING, |_| 3)] {
                    let outcome = agree(&loops(inner, outer, third), "f", &[rounds as u64]);
                    assert_eq!(outcome, Outcome::Value(expected(rounds, each) as u64), "{rounds} {inner} {outer} {third}");
                }
            }
        }
    }
}

/// The inner loop is not the outermost one through which `v5` stays.
#[test]
fn what_stays_through_several_loops_is_stored_once_before_them() {
    let program = Program::new(&loops(POLL, "  poll", "  poll"), Config { stress: true, optimize: true, ..Config::default() });
    let clif = program.engine.dump_clif(program.func("f"));
    let mut stores = 0;
    for block in clif.split(":\n") {
        let places = block.lines().filter(|line| line.contains("store notrap")).filter_map(|line| line.rsplit(", ").next());
        let slots: Vec<_> = places.filter_map(|place| block.split_once(&format!(" {place} = stack_addr.i64 "))?.1.lines().next()).collect();
        let different: FxHashSet<_> = slots.iter().collect();
        assert_eq!(slots.len(), different.len(), "{block}");
        stores += slots.len();
    }
    assert!(stores > 2, "{clif}");
}

/// A loop entered from a `Try`, in a round of another with a `Try`, which may divide by zero: what lives through the inner one is in its home in the outer one, too, and in no home before the first.
#[test]
fn references_are_found_behind_operations_that_have_handlers() {
    let text = r#"
class7 "Box" extends class0 {
  field2 "n": int
}
fn0 "box"(int, int) -> class7 {
block0(v0: int, v1: int):
  v2 = idiv v0, v1
  v3 = new class7
  store v3.field2, v2
  return v3
}
fn1 "f"(int) -> int {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = iconst 5
  v4 = call fn0(v3, v2) site0
  v5 = call fn0(v0, v2) site1
  try call fn0(v0, v2) site2 normal block1(v1, v1) unwind block8
block1(v6: ref, v7: int, v8: int):
  v9 = iadd v7, v2
  poll
  v10 = load v6.field2
  v11 = iadd v8, v10
  v12 = icmp lt v9, v0
  branch v12, block1(v6, v9, v11), block2(v1, v11)
block2(v13: int, v14: int):
  v15 = iadd v13, v2
  v16 = isub v0, v15
  jump block3(v1, v14)
block3(v17: int, v18: int):
  v19 = iadd v17, v2
  poll
  v20 = iadd v18, v19
  v21 = icmp lt v19, v3
  branch v21, block3(v19, v20), block4
block4():
  try call fn0(v15, v16) site3 normal block5 unwind block6(v2)
block5(v22: ref):
  v23 = load v22.field2
  v24 = load v5.field2
  v25 = iadd v23, v24
  jump block7(v25)
block6(v26: ref, v27: int):
  v28 = load v4.field2
  v29 = iadd v28, v27
  jump block7(v29)
block7(v30: int):
  v31 = iadd v20, v30
  v32 = icmp lt v15, v0
  branch v32, block2(v15, v31), block9
block8(v33: ref):
  return v1
block9():
  v34 = load v4.field2
  v35 = load v5.field2
  v36 = imul v34, v35
  v37 = iadd v31, v36
  return v37
}
"#;
    for rounds in [1, 2, 7] {
        let first = rounds * rounds;
        let each: i64 = (1..=rounds).map(|n| 15 + if n == rounds { 6 } else { n / (rounds - n) + rounds }).sum();
        let expected = first + each + 5 * rounds;
        assert_eq!(agree(text, "f", &[rounds as u64]), Outcome::Value(expected as u64), "{rounds}");
    }
}

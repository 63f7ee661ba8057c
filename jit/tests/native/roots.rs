//! Stack maps: every safepoint moves every object, and what compiled code holds must follow.

use crate::mock::*;
use std::fmt::Write;

/// Builds a list of boxes in a loop with a poll, walks it, keeps its middle.
#[test]
fn lists() {
    let text = r#"
class7 "Node" extends class0 {
  field2 "value": int
  field3 "next": class7?
}
fn0 "sum"(class7?) -> int {
block0(v0: ref):
  v1 = iconst 0
  jump block1(v0, v1)
block1(v2: ref, v3: int):
  v4 = null
  v5 = ref_eq v2, v4
  branch v5, block3, block2
block2():
  poll
  v6 = load v2.field2
  v7 = iadd v3, v6
  v8 = load v2.field3
  jump block1(v8, v7)
block3():
  return v3
}
fn1 "push"(class7?, int) -> class7 {
block0(v0: ref, v1: int):
  v2 = new class7
  store v2.field2, v1
  store v2.field3, v0
  return v2
}
fn2 "f"(int) -> int {
block0(v0: int):
  v1 = null
  v2 = iconst 0
  v3 = call_builtin clock_nanos()
  jump block1(v1, v1, v2)
block1(v4: ref, v5: ref, v6: int):
  v7 = icmp lt v6, v0
  branch v7, block2, block5
block2():
  v8 = call fn1(v4, v6) site0
  v9 = iconst 1
  v10 = iadd v6, v9
  v11 = iadd v10, v10
  v12 = icmp le v11, v0
  v13 = select v12, v8, v5
  v14 = call_builtin clock_nanos()
  poll
  jump block1(v8, v13, v10)
block5():
  v15 = call fn0(v4) site1
  v16 = call fn0(v5) site2
  v17 = iconst 1000000
  v18 = imul v15, v17
  v19 = iadd v18, v16
  return v19
}"#;
    assert_eq!(agree(text, "f", &[40]), Outcome::Value(780 * 1_000_000 + 190));
}

/// Many references live at once, more than there are registers, across calls, allocations, builtins and polls, through block parameters that permute them.
#[test]
fn many_live_references() {
    const N: usize = 30;
    let mut text = String::from("fn0 \"f\"(int) -> int {\nblock0(v0: int):\n  v1 = iconst 0\n  v2 = iconst 1\n");
    for i in 0..N {
        _ = write!(text, "  v{} = new class1\n  v{} = iconst {}\n  store v{}.field1, v{}\n", 100 + i, 200 + i, 3 * i + 1, 100 + i, 200 + i);
    }
    let list = |from: usize, rotate: usize| (0..N).map(|i| format!("v{}", from + (i + rotate) % N)).collect::<Vec<_>>().join(", ");
    let params = (0..N).map(|i| format!("v{}: ref", 300 + i)).collect::<Vec<_>>().join(", ");
    _ = write!(text, "  jump block1(v1, {})\nblock1(v3: int, {params}):\n", list(100, 0));
    text += "  v4 = icmp lt v3, v0\n  branch v4, block2, block3\nblock2():\n  v5 = call_builtin clock_nanos()\n  poll\n  v6 = iadd v3, v2\n  v7 = call_builtin int_to_str(v3)\n  call_builtin print_line(v7)\n";
    _ = writeln!(text, "  jump block1(v6, {})", list(300, 7));
    text += "block3():\n";
    let mut sum = "v1".to_string();
    for i in 0..N {
        _ = write!(
            text,
            "  v{a} = load v{}.field1\n  v{b} = iconst {}\n  v{c} = imul v{a}, v{b}\n  v{d} = iadd {sum}, v{c}\n",
            300 + i,
            i * i,
            a = 400 + 4 * i,
            b = 401 + 4 * i,
            c = 402 + 4 * i,
            d = 403 + 4 * i
        );
        sum = format!("v{}", 403 + 4 * i);
    }
    _ = write!(text, "  return {sum}\n}}\n");
    let expected = |rounds: usize| (0..N).map(|i| ((3 * ((i + 7 * rounds) % N) + 1) * i * i) as u64).sum::<u64>();
    for rounds in [0usize, 1, 13] {
        let (outcome, output) = agree_on(&text, "f", &[rounds as u64]);
        assert_eq!(outcome, Outcome::Value(expected(rounds)));
        assert_eq!(output, (0..rounds).map(|i| i.to_string()).collect::<Vec<_>>());
    }
}

/// References in stack arguments, in results, across `Try`s: to the normal successor and to the landing pad.
#[test]
fn references_through_calls_and_handlers() {
    let params = ["class1"; 12].join(", ");
    let block = |from: usize| (0..12).map(|i| format!("v{}: ref", from + i)).collect::<Vec<_>>().join(", ");
    let args = |from: usize, step: usize| (0..12).map(|i| format!("v{}", from + i * step % 12)).collect::<Vec<_>>().join(", ");
    let mut weigh = String::from("  v50 = iconst 0\n  call_builtin sleep(v50)\n");
    let mut sum = "v50".to_string();
    for i in 0..12 {
        weigh += &format!(
            "  v{} = load v{i}.field1\n  v{} = iconst {}\n  v{} = imul v{}, v{}\n  v{} = iadd {sum}, v{}\n",
            100 + 4 * i,
            101 + 4 * i,
            i + 1,
            102 + 4 * i,
            100 + 4 * i,
            101 + 4 * i,
            103 + 4 * i,
            102 + 4 * i
        );
        sum = format!("v{}", 103 + 4 * i);
    }
    let mut make = String::new();
    for i in 0..12 {
        make +=
            &format!("  v{} = new class1\n  v{} = iconst {}\n  store v{}.field1, v{}\n", 100 + i, 200 + i, 10 * i + 1, 100 + i, 200 + i);
    }
    let text = format!(
        r#"
fn0 "weigh"({params}) -> int {{
block0({}):
{weigh}  return {sum}
}}
fn1 "pick"({params}, int) -> class1 {{
block0({}, v12: int):
  v13 = iconst 0
  call_builtin sleep(v13)
  v14 = idiv v12, v12
  v15 = call_builtin int_to_str(v14)
  return v11
}}
fn2 "f"(int) -> int {{
block0(v0: int):
{make}  v1 = call fn0({}) site0
  try call fn1({}, v0) site1 normal block1 unwind block2(v101)
block1(v2: ref):
  v3 = load v2.field1
  v4 = call fn0({}) site2
  v5 = iadd v1, v3
  v6 = iadd v5, v4
  return v6
block2(v7: ref, v8: ref):
  v9 = load v7.field0
  v10 = load v8.field1
  v11 = call fn0({}) site3
  v12 = iadd v9, v10
  v13 = iadd v11, v12
  return v13
}}"#,
        block(0),
        block(0),
        args(100, 1),
        args(100, 1),
        args(100, 5),
        args(100, 7),
    );
    let weight = |step: usize| (0..12).map(|i| (i as u64 + 1) * (10 * (i * step % 12) as u64 + 1)).sum::<u64>();
    assert_eq!(agree(&text, "f", &[1]), Outcome::Value(weight(1) + 111 + weight(5)));
    assert_eq!(agree(&text, "f", &[0]), Outcome::Value(3 + 11 + weight(7)));
}

/// The safepoint at a function's entry: arguments survive it, those on the stack too.
#[test]
fn entry_yields_keep_arguments() {
    let text = r#"
fn0 "inner"(int, class1, int, class1, int, class1, int, class1, int, class1, class1) -> int {
block0(v0: int, v1: ref, v2: int, v3: ref, v4: int, v5: ref, v6: int, v7: ref, v8: int, v9: ref, v10: ref):
  v11 = load v1.field1
  v12 = load v9.field1
  v13 = load v10.field1
  v14 = iadd v11, v12
  v15 = iadd v14, v13
  v16 = iadd v15, v8
  return v16
}
fn1 "f"(int) -> int {
block0(v0: int):
  v1 = new class1
  v2 = new class1
  v3 = new class1
  v4 = iconst 10
  v5 = iconst 200
  store v1.field1, v0
  store v2.field1, v4
  store v3.field1, v5
  v6 = call_builtin clock_nanos()
  v7 = call fn0(v0, v1, v0, v1, v0, v1, v0, v1, v4, v2, v3) site0
  v8 = load v2.field1
  v9 = iadd v7, v8
  return v9
}"#;
    assert_eq!(agree(text, "f", &[3]), Outcome::Value(3 + 10 + 200 + 10 + 10));
    on_stack(4 << 20, || {
        let config = Config { stress: true, ..Config::default() };
        let program = Program::new(text, config);
        let mut thread = Thread::new(&program, config);
        assert_eq!(thread.native(program.func("f"), &[3]), Outcome::Value(233));
        assert_eq!(thread.yields, 1, "clock_nanos asked for one");
    });
}

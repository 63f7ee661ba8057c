//! Failing checks and thrown errors: out of the function, to a handler in the same function, to one in a caller.

use crate::mock::*;

/// Operations that fail with (v0: int, v1: Array<Int>?, v2: Object?, v3: Error?), with the error's kind and operand. `int` ones define v9.
const FAILING: [(&str, bool, [i64; 4], i64, i64); 28] = [
    ("idiv v8, v0", true, [0, 1, 1, 1], 3, 0),
    ("irem v8, v0", true, [0, 1, 1, 1], 3, 0),
    ("idiv v8, v10", true, [0, 1, 1, 1], 3, 0),
    ("irem v8, v10", true, [0, 1, 1, 1], 3, 0),
    ("array_len v1", true, [0, 0, 1, 1], 1, 0),
    ("check_bounds v1, v0", true, [5, 1, 1, 1], 2, 5005),
    ("check_bounds v1, v0", true, [-1, 1, 1, 1], 2, -995),
    ("check_bounds v1, v0", true, [i64::MAX / 2000, 1, 1, 1], 2, i64::MAX / 2000 * 1000 + 5),
    ("check_bounds v1, v0", true, [0, 0, 1, 1], 1, 0),
    ("load v3.field1", true, [0, 1, 1, 0], 1, 0),
    ("load v4.field99", true, [0, 1, 1, 1], 1, 0),
    ("load v4.field900", true, [0, 1, 1, 1], 1, 0),
    ("store v3.field1, v8", false, [0, 1, 1, 0], 1, 0),
    ("store v4.field900, v8", false, [0, 1, 1, 1], 1, 0),
    ("store v4.field901, v1", false, [0, 1, 1, 1], 1, 0),
    ("null_check v2", false, [0, 1, 0, 1], 1, 0),
    ("check_cast class1, v2", false, [0, 1, 1, 1], 4, 3),
    ("check_cast class1, v2", false, [0, 1, 0, 1], 4, 2),
    ("check_cast class0, v2", false, [0, 1, 0, 1], 4, 0),
    ("atomic_load v3.field1", true, [0, 1, 1, 0], 1, 0),
    ("atomic_store v3.field1, v8", false, [0, 1, 1, 0], 1, 0),
    ("atomic_fetch_add v3.field1, v8", true, [0, 1, 1, 0], 1, 0),
    ("atomic_cas v3.field1, v8, v8", false, [0, 1, 1, 0], 1, 0),
    ("new_array class3, v0", false, [-7, 1, 1, 1], 5, -7),
    ("new_array class3, v0", false, [1 << 40, 1, 1, 1], 7, 0),
    ("new_array class3, v11", false, [0, 1, 1, 1], 5, -3),
    ("call fn1(v8) site0", true, [0, 1, 1, 1], 100, 1234),
    ("call_builtin exit(v8)", false, [0, 1, 1, 1], 100, 1234),
];

fn wide_class() -> String {
    let fields: Vec<String> = (2..=901).map(|i| format!("  field{i} \"f{i}\": {}", if i == 901 { "class3?" } else { "int" })).collect();
    format!("class7 \"Wide\" extends class0 {{\n{}\n}}\n", fields.join("\n"))
}

/// `fail` does the operation outside of any handler, `caught` inside one, `outer` calls `fail` inside one. Handlers return the error's kind plus what stayed alive across.
fn program(op: &str, int: bool) -> String {
    let result = if op.starts_with("store") || op.starts_with("atomic_store") || op.starts_with("call_builtin") { "" } else { "v9 = " };
    let (normal, ret) = match (result, int) {
        ("", _) => ("block1", "v8"),
        (_, true) => ("block1", "v9"),
        (_, false) => ("block1", "v8"),
    };
    let ty = if int {
        "int"
    } else if op.starts_with("atomic_cas") {
        "bool"
    } else {
        "ref"
    };
    let normal_params = if result.is_empty() { String::new() } else { format!("v9: {ty}") };
    let setup = "  v8 = iconst 1234\n  v10 = iconst 0\n  v11 = iconst -3\n  v4 = null\n";
    let params = "int, class3?, class0?, class1?";
    let block = "v0: int, v1: ref, v2: ref, v3: ref";
    format!(
        r#"{wide}
fn0 "fail"({params}) -> int @10 {{
block0({block}):
{setup}  {result}{op} @11
  return {ret}
}}
fn1 "thrower"(int) -> int {{
block0(v0: int):
  call_builtin exit(v0) @20
  return v0
}}
fn2 "caught"({params}) -> int {{
block0({block}):
{setup}  v20 = new class1
  v21 = iconst 7
  store v20.field1, v21
  try {op} normal {normal} unwind block2(v20, v0) @31
block1({normal_params}):
  return {ret}
block2(v30: ref, v31: ref, v32: int):
  v33 = iconst 0
  call_builtin sleep(v33)
  v34 = load v30.field0
  v35 = load v30.field1
  v36 = load v31.field1
  v37 = iadd v34, v35
  v38 = iadd v37, v36
  v39 = iadd v38, v32
  return v39
}}
fn3 "middle"({params}) -> int {{
block0({block}):
  v4 = call fn0(v0, v1, v2, v3) site1 @40
  return v4
}}
fn4 "outer"({params}) -> int {{
block0({block}):
  v20 = new class1
  v21 = iconst 7
  store v20.field1, v21
  try call fn3(v0, v1, v2, v3) site2 normal block1 unwind block2(v20) @50
block1(v4: int):
  return v4
block2(v30: ref, v31: ref):
  v33 = iconst 0
  call_builtin sleep(v33)
  v34 = load v30.field0
  v35 = load v30.field1
  v36 = load v31.field1
  v37 = iadd v34, v35
  v38 = iadd v37, v36
  return v38
}}
fn5 "rethrow"({params}) -> int {{
block0({block}):
  try call fn3(v0, v1, v2, v3) site3 normal block1 unwind block2 @60
block1(v4: int):
  return v4
block2(v30: ref):
  throw v30 @61
}}
{drivers}"#,
        wide = wide_class(),
        drivers = ["fail", "caught", "outer", "rethrow"]
            .iter()
            .zip([0, 2, 4, 5])
            .enumerate()
            .map(|(i, (name, func))| format!(
                r#"fn{} "run_{name}"(int, bool, bool, bool) -> int {{
block0(v0: int, v1: bool, v2: bool, v3: bool):
  v4 = null
  v5 = iconst 5
  v6 = new_array class3, v5
  v7 = new class0
  v8 = new class1
  v9 = select v1, v6, v4
  v10 = select v2, v7, v4
  v11 = select v3, v8, v4
  v12 = call fn{func}(v0, v9, v10, v11) site{} @70
  return v12
}}
"#,
                6 + i,
                4 + i
            ))
            .collect::<String>()
    )
}

#[test]
fn every_failure_reaches_its_handler() {
    for (op, int, args, kind, operand) in FAILING {
        let text = program(op, int);
        let slots = args.map(|a| a as u64);
        let trace = |frames: &[(&str, u32)]| frames.iter().map(|&(f, l)| (f.to_string(), l)).collect::<Vec<_>>();
        let inner: &[(&str, u32)] = if op.starts_with("call fn") { &[("thrower", 20), ("fail", 11)] } else { &[("fail", 11)] };
        let expect = |rest: &[(&str, u32)]| Outcome::Error { kind, operand, trace: trace(&[inner, rest].concat()) };
        assert_eq!(agree(&text, "run_fail", &slots), expect(&[("run_fail", 70)]), "{op}");
        assert_eq!(agree(&text, "run_rethrow", &slots), expect(&[("middle", 40), ("rethrow", 60), ("run_rethrow", 70)]), "{op}");
        let sum = kind.wrapping_add(operand).wrapping_add(7);
        assert_eq!(agree(&text, "run_caught", &slots), Outcome::Value(sum.wrapping_add(args[0]) as u64), "{op}");
        assert_eq!(agree(&text, "run_outer", &slots), Outcome::Value(sum as u64), "{op}");
    }
}

/// The same operations where nothing fails.
#[test]
fn no_failure_goes_on() {
    for (op, int, args, ..) in FAILING {
        if op.contains("v4.") || op.contains("v10") || op.contains("v11") || op.starts_with("call") || op.starts_with("check_cast class1") {
            continue;
        }
        let good = if op.starts_with("check_bounds") || op.starts_with("new_array") { 3 } else { 17 };
        let text = program(op, int);
        for func in ["run_fail", "run_caught", "run_outer", "run_rethrow"] {
            let outcome = agree(&text, func, &[good, 1, 1, 1]);
            assert!(matches!(outcome, Outcome::Value(_)), "{op} with {args:?}: {outcome:?}");
        }
    }
}

#[test]
fn throwing_null_is_a_null_error() {
    let text = "fn0 \"f\"() {\nblock0():\n  v0 = null\n  throw v0 @5\n}";
    assert_eq!(agree(text, "f", &[]), Outcome::Error { kind: 1, operand: 0, trace: vec![("f".into(), 5)] });
}

/// A handler inside a loop, entered again and again; the landing pad has values that the loop changes, in registers and on the stack.
#[test]
fn handlers_in_loops() {
    let text = r#"
fn0 "div"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = idiv v0, v1
  return v2
}
fn1 "f"(int) -> int {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = fconst 0.5
  jump block1(v1, v1, v3)
block1(v4: int, v5: int, v6: float):
  v7 = icmp lt v4, v0
  branch v7, block2, block5
block2():
  poll
  v8 = iconst 3
  v9 = irem v4, v8
  v10 = iconst 100
  try call fn0(v10, v9) site0 normal block3 unwind block4(v5, v6)
block3(v11: int):
  v12 = iadd v5, v11
  v13 = iadd v4, v2
  jump block1(v13, v12, v6)
block4(v14: ref, v15: int, v16: float):
  v17 = load v14.field0
  v18 = iadd v15, v17
  v19 = fadd v16, v16
  v20 = iadd v4, v2
  jump block1(v20, v18, v19)
block5():
  v21 = float_to_int v6
  v22 = iadd v5, v21
  return v22
}"#;
    // i % 3 == 0 fails (kind 3, and doubles 0.5), 1 gives 100, 2 gives 50.
    assert_eq!(agree(text, "f", &[20]), Outcome::Value(7 * 3 + 7 * 100 + 6 * 50 + 64));
}

/// A `Try` inside a handler of another `Try`, whose own error goes out.
#[test]
fn handlers_nest() {
    let text = r#"
fn0 "f"(int) -> int {
block0(v0: int):
  v1 = iconst 0
  try idiv v0, v1 normal block1 unwind block2(v0)
block1(v2: int):
  return v2
block2(v3: ref, v4: int):
  v5 = null
  try null_check v5 normal block3 unwind block4(v3, v4)
block3(v6: ref):
  return v4
block4(v7: ref, v8: ref, v9: int):
  v10 = load v7.field0
  v11 = load v8.field0
  v12 = iconst 10
  v13 = imul v11, v12
  v14 = iadd v13, v10
  v15 = icmp gt v9, v12
  branch v15, block5, block6
block5():
  throw v7
block6():
  return v14
}"#;
    assert_eq!(agree(text, "f", &[1]), Outcome::Value(31));
    assert!(matches!(agree(text, "f", &[11]), Outcome::Error { kind: 1, .. }));
}

/// Each null is reported where it was met first, although the machine may do several operations in one instruction.
#[test]
fn positions_of_folded_loads() {
    let null_at = |loc| Outcome::Error { kind: 1, operand: 0, trace: vec![("f".into(), loc)] };
    let f = |body: &str| {
        format!(
            "class7 \"F\" extends class0 {{\n  field2 \"x\": float\n  field3 \"e\": class1?\n}}\nfn0 \"f\"(class1?, class7?, int) -> int {{\nblock0(v0: ref, v1: ref, v2: int):\n{body}}}"
        )
    };
    let bodies = [
        // A load, an addition and a store to the same field.
        "  v3 = load v0.field1 @11\n  v4 = iadd v3, v2 @12\n  store v0.field1, v4 @13\n  return v4\n",
        "  v3 = load v0.field1 @11\n  v4 = iadd v2, v3 @12\n  store v0.field0, v4 @13\n  return v4\n",
        // A load inside an addition, a comparison, a division, a throw.
        "  v3 = load v0.field1 @11\n  v4 = iadd v2, v3 @12\n  return v4 @13\n",
        "  v3 = load v1.field2 @11\n  v4 = fconst 1.0\n  v5 = fadd v4, v3 @12\n  v6 = float_to_int v5 @13\n  return v6\n",
        "  v3 = load v0.field1 @11\n  v4 = icmp lt v2, v3 @12\n  branch v4, block1, block2 @13\nblock1():\n  return v2\nblock2():\n  return v3\n",
        "  v3 = load v0.field1 @11\n  v4 = idiv v3, v2 @12\n  return v4 @13\n",
        "  v3 = load v0.field1 @11\n  v4 = irem v2, v3 @12\n  return v4 @13\n",
        "  v3 = load v1.field3 @11\n  throw v3 @13\n",
        "  v3 = load v0.field1 @11\n  v4 = new_array class2, v3 @12\n  v5 = array_len v4\n  return v5 @13\n",
    ];
    for body in bodies {
        assert_eq!(agree(&f(body), "f", &[0, 0, 1]), null_at(11), "{body}");
    }
}

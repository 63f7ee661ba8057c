//! Operations on numbers: machine code against the definition in `ir::eval`, with operands in registers and as constants.

use crate::mock::*;
use jit::ir::*;
use std::fmt::Write;

const INTS: [i64; 20] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    63,
    64,
    65,
    255,
    1 << 31,
    -(1 << 31),
    (1 << 32) + 5,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    i64::MIN + 1,
    0x1234_5678_9abc_def0,
];
const FLOATS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    3.7,
    -3.7,
    1e300,
    -1e300,
    1e-310,
    9.3e18,
    -9.3e18,
    9_223_372_036_854_775_807.0,
    4503599627370497.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
    123456789.125,
];

fn operands(ty: Ty) -> Vec<u64> {
    match ty {
        Ty::Int => INTS.iter().map(|&i| i as u64).collect(),
        Ty::Float => {
            FLOATS.iter().map(|f| f.to_bits()).chain([0x7ff8_0000_0000_0001, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001]).collect()
        }
        Ty::Bool => vec![0, 1],
        Ty::Ref => vec![0],
    }
}

fn word(ty: Ty) -> &'static str {
    match ty {
        Ty::Int => "int",
        Ty::Float => "float",
        Ty::Bool => "bool",
        Ty::Ref => "class0?",
    }
}

fn constant(ty: Ty, bits: u64) -> String {
    match ty {
        Ty::Int => format!("iconst {}", bits as i64),
        Ty::Float => format!("fconst {bits:#018x}"),
        Ty::Bool => format!("bconst {}", bits != 0),
        Ty::Ref => "null".into(),
    }
}

/// NaNs are equal where arithmetic made them.
fn same(ty: Ty, a: u64, b: u64) -> bool {
    a == b || ty == Ty::Float && f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan()
}

/// Has `check` run functions as compiled at each level: where code is optimized, operations on constants may be gone.
fn at_each_level(text: &str, mut check: impl FnMut(&mut dyn FnMut(&str, &[u64]) -> Outcome)) {
    for optimize in [false, true] {
        let config = Config { optimize, ..Config::default() };
        let program = Program::new(text, config);
        let mut thread = Thread::new(&program, config);
        check(&mut |func, args| thread.native(program.func(func), args));
    }
}

/// Checks an operation of text `op v0, v1` on all pairs, each also with a constant on the right and on the left.
fn check_binary(ops: &[(String, Ty, Ty)], eval: impl Fn(usize, u64, u64) -> Option<u64> + Sync) {
    on_stack(8 << 20, || {
        for (i, (op, ty, ret)) in ops.iter().enumerate() {
            let values = operands(*ty);
            let (t, r) = (word(*ty), word(*ret));
            let mut text = format!("fn0 \"op\"({t}, {t}) -> {r} {{\nblock0(v0: {t}, v1: {t}):\n  v2 = {op} v0, v1\n  return v2\n}}\n");
            for (k, &value) in values.iter().enumerate() {
                let c = constant(*ty, value);
                _ = write!(
                    text,
                    "fn{} \"r{k}\"({t}) -> {r} {{\nblock0(v0: {t}):\n  v1 = {c}\n  v2 = {op} v0, v1\n  return v2\n}}\n",
                    2 * k + 1
                );
                _ = write!(
                    text,
                    "fn{} \"l{k}\"({t}) -> {r} {{\nblock0(v0: {t}):\n  v1 = {c}\n  v2 = {op} v1, v0\n  return v2\n}}\n",
                    2 * k + 2
                );
            }
            at_each_level(&text, |run| {
                let mut expect = |func: &str, args: &[u64], a: u64, b: u64| {
                    let outcome = run(func, args);
                    match (eval(i, a, b), &outcome) {
                        (Some(expected), Outcome::Value(v)) => {
                            assert!(same(*ret, expected, *v), "{op} {a:#x}, {b:#x}: {v:#x}, not {expected:#x}")
                        }
                        (None, Outcome::Error { kind: 3, .. }) => {}
                        (expected, _) => panic!("{op} {a:#x}, {b:#x}: {outcome:?}, not {expected:?}"),
                    }
                };
                for &a in &values {
                    for (k, &b) in values.iter().enumerate() {
                        expect("op", &[a, b], a, b);
                        expect(&format!("r{k}"), &[a], a, b);
                        expect(&format!("l{k}"), &[a], b, a);
                    }
                }
            });
        }
    });
}

#[test]
fn binary() {
    use BinaryOp::*;
    let ops = [
        (IAdd, "iadd"),
        (ISub, "isub"),
        (IMul, "imul"),
        (IDiv, "idiv"),
        (IRem, "irem"),
        (IAnd, "iand"),
        (IOr, "ior"),
        (IXor, "ixor"),
        (IShl, "ishl"),
        (IShr, "ishr"),
        (IUShr, "iushr"),
        (FAdd, "fadd"),
        (FSub, "fsub"),
        (FMul, "fmul"),
        (FDiv, "fdiv"),
        (BAnd, "band"),
        (BOr, "bor"),
        (BXor, "bxor"),
    ];
    let texts: Vec<_> = ops.iter().map(|(op, word)| (word.to_string(), op.operand_ty(), op.operand_ty())).collect();
    check_binary(&texts, |i, a, b| eval::binary(ops[i].0, a, b));
}

#[test]
fn comparisons() {
    use jit::ir::{FloatCmp as F, IntCmp as I};
    let ints = [(I::Eq, "eq"), (I::Ne, "ne"), (I::Lt, "lt"), (I::Le, "le"), (I::Gt, "gt"), (I::Ge, "ge"), (I::Ult, "ult")];
    let texts: Vec<_> = ints.iter().map(|(_, word)| (format!("icmp {word}"), Ty::Int, Ty::Bool)).collect();
    check_binary(&texts, |i, a, b| Some(eval::int_cmp(ints[i].0, a, b).into()));
    let floats = [(F::Eq, "eq"), (F::Ne, "ne"), (F::Lt, "lt"), (F::Le, "le"), (F::Gt, "gt"), (F::Ge, "ge")];
    let texts: Vec<_> = floats.iter().map(|(_, word)| (format!("fcmp {word}"), Ty::Float, Ty::Bool)).collect();
    check_binary(&texts, |i, a, b| Some(eval::float_cmp(floats[i].0, a, b).into()));
}

#[test]
fn unary() {
    use UnaryOp::*;
    let ops = [
        (INeg, "ineg", Ty::Int),
        (INot, "inot", Ty::Int),
        (BNot, "bnot", Ty::Bool),
        (FNeg, "fneg", Ty::Float),
        (FAbs, "fabs", Ty::Float),
        (FSqrt, "fsqrt", Ty::Float),
        (FFloor, "ffloor", Ty::Float),
        (FCeil, "fceil", Ty::Float),
        (FTrunc, "ftrunc", Ty::Float),
        (FNearest, "fnearest", Ty::Float),
        (IntToFloat, "int_to_float", Ty::Int),
        (FloatToInt, "float_to_int", Ty::Float),
        (FloatBits, "float_bits", Ty::Float),
        (FloatFromBits, "float_from_bits", Ty::Int),
        (BoolToInt, "bool_to_int", Ty::Bool),
        (PopCount, "popcount", Ty::Int),
        (LeadingZeros, "leading_zeros", Ty::Int),
        (TrailingZeros, "trailing_zeros", Ty::Int),
    ];
    on_stack(8 << 20, || {
        for (op, name, ty) in ops {
            let module = parse("");
            let ret = Op::Unary(op, Value::from_u32(0)).result_ty(&module, |_| ty).unwrap();
            let (t, r) = (word(ty), word(ret));
            let mut text = format!("fn0 \"op\"({t}) -> {r} {{\nblock0(v0: {t}):\n  v1 = {name} v0\n  return v1\n}}\n");
            let values = operands(ty);
            for (k, &value) in values.iter().enumerate() {
                let c = constant(ty, value);
                _ = write!(text, "fn{} \"c{k}\"() -> {r} {{\nblock0():\n  v0 = {c}\n  v1 = {name} v0\n  return v1\n}}\n", k + 1);
            }
            at_each_level(&text, |run| {
                for (k, &a) in values.iter().enumerate() {
                    let expected = eval::unary(op, a);
                    for outcome in [run("op", &[a]), run(&format!("c{k}"), &[])] {
                        let Outcome::Value(v) = outcome else { panic!("{name} {a:#x}: {outcome:?}") };
                        assert!(same(ret, expected, v), "{name} {a:#x}: {v:#x}, not {expected:#x}");
                    }
                }
            });
        }
    });
}

#[test]
fn float_bits_has_one_nan() {
    let text = "fn0 \"f\"(float, float) -> int {\nblock0(v0: float, v1: float):\n  v2 = fsub v0, v1\n  v3 = float_bits v2\n  return v3\n}";
    let infinity = f64::INFINITY.to_bits();
    assert_eq!(agree(text, "f", &[infinity, infinity]), Outcome::Value(0x7ff8_0000_0000_0000));
    assert_eq!(agree(text, "f", &[0xfff8_0000_0000_0123, 0]), Outcome::Value(0x7ff8_0000_0000_0000));
}

#[test]
fn select_and_switch() {
    let text = r#"
fn0 "f"(int, float, float) -> float {
block0(v0: int, v1: float, v2: float):
  switch v0, [block1(v1), block1(v2), block2, block1(v1)], block3(v0)
block1(v3: float):
  return v3
block2():
  v4 = fcmp lt v1, v2
  v5 = select v4, v1, v2
  return v5
block3(v6: int):
  v7 = int_to_float v6
  return v7
}
fn1 "empty"(int) -> int {
block0(v0: int):
  switch v0, [], block1
block1():
  return v0
}"#;
    let (a, b) = (2.5f64.to_bits(), 1.5f64.to_bits());
    for (index, expected) in
        [(0, 2.5), (1, 1.5), (2, 1.5), (3, 2.5), (4, 4.0), (-1, -1.0), (1 << 32, 4294967296.0), (i64::MIN, -9223372036854775808.0)]
    {
        assert_eq!(agree(text, "f", &[index as u64, a, b]), Outcome::Value(f64::to_bits(expected)), "{index}");
    }
    assert_eq!(agree(text, "empty", &[9]), Outcome::Value(9));
}

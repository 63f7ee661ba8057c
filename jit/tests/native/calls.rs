//! Calls: conventions, virtual tables, builtins, recursion.

use crate::mock::*;
use jit::native::Compiled;

#[test]
fn fib() {
    let text = r#"
fn0 "fib"(int) -> int {
block0(v0: int):
  v1 = iconst 2
  v2 = icmp lt v0, v1
  branch v2, block1, block2
block1():
  return v0
block2():
  v3 = iconst 1
  v4 = isub v0, v3
  v5 = call fn0(v4) site0
  v6 = isub v0, v1
  v7 = call fn0(v6) site1
  v8 = iadd v5, v7
  return v8
}"#;
    assert_eq!(agree(text, "fib", &[20]), Outcome::Value(6765));
}

/// Twelve integers, ten floats and four Booleans, interleaved: most do not fit registers. Passed on, in reverse, through a second function.
#[test]
fn many_arguments() {
    let types: Vec<&str> = (0..26).map(|i| ["int", "float", "int", "bool", "float", "int"][i % 6]).collect();
    let list = |f: &dyn Fn(usize) -> String| (0..26).map(f).collect::<Vec<_>>().join(", ");
    let params = list(&|i| types[i].into());
    let block = list(&|i| format!("v{i}: {}", types[i]));
    let mut body = String::from("  v100 = iconst 0\n  v200 = fconst 0.0\n");
    let (mut int, mut float) = (100, 200);
    for (i, ty) in types.iter().enumerate() {
        let at = 300 + 4 * i;
        match *ty {
            "float" => {
                body += &format!(
                    "  v{at} = fconst {}.5\n  v{} = fmul v{i}, v{at}\n  v{} = fadd v{float}, v{}\n",
                    i + 1,
                    at + 1,
                    at + 2,
                    at + 1
                );
                float = at + 2;
            }
            ty => {
                let value = if ty == "bool" { format!("  v{at} = bool_to_int v{i}\n") } else { format!("  v{at} = inot v{i}\n") };
                body += &format!(
                    "{value}  v{} = iconst {}\n  v{} = imul v{at}, v{}\n  v{} = iadd v{int}, v{}\n",
                    at + 1,
                    31 * i + 7,
                    at + 2,
                    at + 1,
                    at + 3,
                    at + 2
                );
                int = at + 3;
            }
        }
    }
    let reverse: Vec<usize> = {
        // Each type's arguments in reverse order.
        let of = |ty: &str| (0..26).rev().filter(|&i| types[i] == ty).collect::<Vec<_>>().into_iter();
        let (mut ints, mut floats, mut bools) = (of("int"), of("float"), of("bool"));
        types
            .iter()
            .map(|ty| {
                match *ty {
                    "int" => ints.next(),
                    "float" => floats.next(),
                    _ => bools.next(),
                }
                .unwrap()
            })
            .collect()
    };
    let text = format!(
        "fn0 \"sum\"({params}) -> float {{\nblock0({block}):\n{body}  v999 = int_to_float v{int}\n  v998 = fadd v999, v{float}\n  return v998\n}}\n\
         fn1 \"pass\"({params}) -> float {{\nblock0({block}):\n  v30 = call fn0({}) site0\n  return v30\n}}\n\
         fn2 \"guarded\"({params}) -> float {{\nblock0({block}):\n  try call fn1({}) site1 normal block1 unwind block2\nblock1(v30: float):\n  return v30\nblock2(v31: ref):\n  throw v31\n}}\n",
        list(&|i| format!("v{}", reverse[i])),
        list(&|i| format!("v{i}")),
    );
    let args: Vec<u64> = (0..26u64)
        .map(|i| match types[i as usize] {
            "float" => (i as f64 * 1.25).to_bits(),
            "bool" => i & 1,
            _ => i * i + 3,
        })
        .collect();
    let mut results = Vec::new();
    for func in ["sum", "pass", "guarded"] {
        let Outcome::Value(v) = agree(&text, func, &args) else { panic!("{func} failed") };
        results.push(v);
    }
    assert_eq!(results[1], results[2]);
    assert_ne!(results[0], results[1], "the order of arguments matters");
}

const SHAPES: &str = r#"
class7 interface "Named"
class8 abstract "Shape" extends class0 {
  field2 "a": float
  sel1 -> fn6
}
class9 "Circle" extends class8 implements class7 {
  sel0 -> fn0
  sel2 -> fn2
}
class10 "Square" extends class8 implements class7 {
  field3 "n": int
  sel0 -> fn1
  sel2 -> fn3
}
class11 "Big" extends class10 implements class7 {
  sel2 -> fn4
}
sel0 class8 "area"(class8) -> float
sel1 class8 "twice"(class8) -> float
sel2 class7 "name"(class7, int) -> int
fn0 "Circle.area"(class9) -> float {
block0(v0: ref):
  v1 = load v0.field2
  v2 = fconst 3.0
  v3 = fmul v1, v2
  return v3
}
fn1 "Square.area"(class10) -> float {
block0(v0: ref):
  v1 = load v0.field2
  v2 = fmul v1, v1
  return v2
}
fn2 "Circle.name"(class9, int) -> int {
block0(v0: ref, v1: int):
  v2 = iconst 100
  v3 = iadd v1, v2
  return v3
}
fn3 "Square.name"(class10, int) -> int {
block0(v0: ref, v1: int):
  v2 = iconst 200
  v3 = iadd v1, v2
  return v3
}
fn4 "Big.name"(class11, int) -> int {
block0(v0: ref, v1: int):
  v2 = call fn3(v0, v1) site0
  v3 = iconst 1000
  v4 = iadd v2, v3
  return v4
}
fn5 "make"(int) -> class8? {
block0(v0: int):
  switch v0, [block1, block2, block3], block4
block1():
  v1 = new class9
  jump block5(v1)
block2():
  v2 = new class10
  jump block5(v2)
block3():
  v3 = new class11
  jump block5(v3)
block4():
  v4 = null
  return v4
block5(v5: ref):
  v6 = fconst 2.5
  store v5.field2, v6
  return v5
}
fn6 "Shape.twice"(class8) -> float {
block0(v0: ref):
  v1 = call_virtual sel0(v0) site1 @60
  v2 = fadd v1, v1
  return v2
}
fn7 "areas"(int) -> float {
block0(v0: int):
  v1 = call fn5(v0) site2 @70
  v2 = call_virtual sel1(v1) site3 @71
  return v2
}
fn8 "names"(int) -> int {
block0(v0: int):
  v1 = call fn5(v0) site4
  try call_virtual sel2(v1, v0) site5 normal block1 unwind block2 @80
block1(v2: int):
  return v2
block2(v3: ref):
  v4 = load v3.field0
  v5 = ineg v4
  return v5
}
"#;

#[test]
fn virtual_calls() {
    let float = |x: f64| Outcome::Value(x.to_bits());
    assert_eq!(agree(SHAPES, "areas", &[0]), float(15.0));
    assert_eq!(agree(SHAPES, "areas", &[1]), float(12.5));
    assert_eq!(agree(SHAPES, "areas", &[2]), float(12.5));
    assert_eq!(agree(SHAPES, "areas", &[9]), Outcome::Error { kind: 1, operand: 0, trace: vec![("areas".into(), 71)] });
    for (which, expected) in [(0, 100), (1, 201), (2, 1202), (3, -1)] {
        assert_eq!(agree(SHAPES, "names", &[which]), Outcome::Value(expected as u64), "{which}");
    }
}

#[test]
fn builtins() {
    let text = r#"
str0 "ab"
str1 "cd"
fn0 "f"(int, float) -> int {
block0(v0: int, v1: float):
  v2 = str_const str0
  v3 = iconst -5
  v4 = call_builtin str_substring(v2, v3, v0)
  call_builtin print_line(v4)
  v5 = call_builtin float_format(v1, v0)
  call_builtin print_line(v5)
  call_builtin print_line(v4)
  v6 = call_builtin str_eq(v4, v4)
  v7 = str_const str1
  v8 = call_builtin str_eq(v4, v7)
  v9 = fconst 2.0
  v10 = call_builtin math_pow(v1, v9)
  v11 = call_builtin float_rem(v10, v1)
  v12 = call_builtin identity_hash(v5)
  v13 = select v6, v0, v3
  v14 = bool_to_int v8
  v15 = iadd v13, v14
  v16 = iadd v15, v12
  v17 = float_to_int v11
  v18 = iadd v16, v17
  v19 = iconst 1
  v20 = iconst 2
  call_builtin array_copy(v4, v0, v5, v19, v20)
  v21 = int_to_float v18
  v22 = call_builtin float_format(v21, v18)
  call_builtin print_line(v22)
  return v18
}"#;
    let (outcome, output) = agree_on(text, "f", &[42, 3.5f64.to_bits()]);
    assert_eq!(outcome, Outcome::Value(45));
    assert_eq!(output, ["ab|-5|42", "3.5/42", "ab|-5|42", "42 1 2", "45/45"]);
}

#[test]
fn listings_show_what_is_there() {
    let program = Program::new(SHAPES, Config::default());
    let asm = program.engine.dump_asm(program.func("names")).unwrap();
    for part in ["cell of make", "trap Null", "handler 0x", "site5", "entry_slow"] {
        assert!(asm.contains(part), "no {part} in\n{asm}");
    }
    let clif = program.engine.dump_clif(program.func("areas"));
    assert!(clif.contains("call_indirect") && clif.contains("tail"), "{clif}");
    let stats = program.engine.stats();
    assert_eq!((stats.baseline.versions, stats.optimized, stats.freed), (1, Compiled::default(), 0));
    assert!(stats.code_bytes > 100 && stats.table_bytes > 100 && stats.baseline.nanos > 0, "{stats:?}");
}

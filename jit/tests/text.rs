//! The text form: what is read prints as it was, and what cannot be read says where and why.

use jit::ir::parser::parse;

/// One of everything.
const SAMPLE: &str = r#"str0 "quote \" line\n \u{1}"
class0 "Object" {
  sel0 -> fn1 // Object.hash
}
class1 interface "Shape"
class2 abstract "Base" extends class0 implements class1 {
  field0 final "name": class4?
}
class3 "Circle<Int>" extends class2 implements class1 {
  field1 "r": float
  field2 "n": int
  sel0 -> fn2 // Circle.hash
  sel1 -> fn2 // Circle.hash
}
class4 array byte "Str" extends class0
sel0 class0 "hash"(class0) -> int
sel1 class1 "code"(class1) -> int
global0 "Main.count": int
entry main fn0 thread fn3
site1 fn3 @9
site3 fn3 @12

fn0 "main"() -> int @1 {
block0():
  v0 = iconst -9223372036854775808 @5
  v1 = fconst -0.0
  v2 = fconst 1e300
  v3 = fconst NaN
  v4 = fconst 0x7ff8000000000001
  v5 = fconst -inf
  v6 = bconst true
  v7 = null
  v8 = str_const str0 // quote \" line\n \u{1}
  v9 = float_to_int v2
  v10 = iushr v0, v9
  v11 = icmp ult v0, v9
  v12 = fcmp ne v2, v3
  v13 = ref_eq v7, v8
  v14 = select v6, v13, v12
  v15 = new class3 // Circle<Int>
  v16 = new_array class4, v0 // Str
  v17 = load v15.field1 // Circle<Int>.r
  store v15.field1, v17 @44 // Circle<Int>.r
  v18 = array_len v16
  v19 = check_bounds v16, v0
  v20 = load_elem byte v16[v19]
  store_elem byte v16[v19], v20
  v21 = null_check v15
  v22 = instance_of class1, v21 // Shape
  v23 = check_cast class2, v21 // Base
  v24 = load_global global0 // Main.count
  store_global global0, v24 // Main.count
  v25 = atomic_load v15.field2 // Circle<Int>.n
  atomic_store v15.field2, v25 // Circle<Int>.n
  v26 = atomic_fetch_add v15.field2, v25 // Circle<Int>.n
  v27 = atomic_cas v15.field2, v25, v26 // Circle<Int>.n
  v28 = call fn1(v15) site0 @7 // Object.hash
  v29 = call_virtual sel1(v15) site1 // Shape.code
  v30 = call_builtin str_concat(v8, v8)
  poll
  probe
  exit_poll exit3(v14, v15)
  watched_poll exit4
  branch v14, block1(v28), block2
block1(v31: int):
  try idiv v31, v0 normal block3 unwind block4(v31) @12
block2():
  switch v0, [block1(v0), block2, block7], block5 @13
block3(v32: int):
  return v32
block4(v33: ref, v34: int):
  throw v33
block5():
  try call_builtin print(v8) normal block6 unwind block4(v0)
block6():
  unreachable
block7():
  leave exit3(v14, v15)
}

fn1 "Object.hash"(class0) -> int

fn2 "Circle.hash"(class3) -> int {
block0(v0: ref):
  v1 = iconst 1
  jump block1(v1)
block1(v2: int):
  return v2
}

fn3 "thread"(class0?)

fn4 "inlined"(class3) -> int @50 {
in0 fn2 site2 @51 // Circle.hash
in1 fn1 @52 site3 // Object.hash
in2 fn2 @53 site3 @in1 // Circle.hash
block0(v0: ref):
  v1 = call fn2(v0) site2 @51 // Circle.hash
  v2 = call fn2(v0) site4 @in2 // Circle.hash
  v3 = idiv v1, v2 @in0
  try idiv v3, v2 normal block1 unwind block2 @in1
block1(v4: int):
  return v4 @in2
block2(v5: ref):
  throw v5 @54
}
"#;

#[test]
fn prints_as_it_was_read() {
    let module = parse(SAMPLE).unwrap();
    assert_eq!(module.to_string(), SAMPLE);
}

#[test]
fn call_sites_are_where_they_were_first_used() {
    let module = parse(SAMPLE).unwrap();
    let sites: Vec<_> = module.call_sites.values().map(|s| (s.caller.as_u32(), s.loc.0)).collect();
    assert_eq!(sites, [(0, 7), (3, 9), (4, 51), (3, 12), (2, 53)]);
}

#[test]
fn inherited_members_are_filled_in() {
    let module = parse("class1 \"B\" extends class0 { field1 \"y\": int }\nclass0 \"A\" { field0 \"x\": int sel0 -> fn0 }\nsel0 class0 \"m\"(class0)\nfn0 \"m\"(class0)").unwrap();
    let b = module.classes.values().nth(1).unwrap();
    assert_eq!(b.fields.iter().map(|f| f.as_u32()).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(b.methods.len(), 1);
}

#[test]
fn errors_say_where() {
    let cases = [
        ("class0 \"A\" extends class1", "1:20: class1 is not declared"),
        ("class0 \"A\" extends class1\nclass1 \"B\" extends class0", "1:1: class0 extends itself"),
        ("class0 \"A\"\n  class0 \"A\"", "2:3: class0 is declared twice"),
        ("class1 \"A\"", "1:1: class1 is declared, but class0 is not: numbers leave no gaps"),
        ("class0 \"A", "1:8: this text does not end on its line"),
        ("fn0 \"f\"() {\nblock0():\n  v0 = iadd v1\n}", "4:1: expected `,`, found `}`"),
        ("fn0 \"f\"() {\nblock0():\n  v0 = jadd v1, v2\n}", "3:8: unknown instruction `jadd`"),
        ("fn0 \"f\"() {\nblock0():\n  v0 = poll\n return }", "3:3: this instruction has no result"),
        ("fn0 \"f\"() {\nblock0():\n  iconst 3\n return }", "3:3: this instruction has a result: write `v0 = …`"),
        ("fn0 \"f\"() {\nblock0():\n  v0 = iconst 99999999999999999999\n return }", "3:15: `99999999999999999999` is no 64-bit integer"),
        ("fn0 \"f\"() {\nblock0():\n  v4000000000 = iconst 1\n return }", "3:3: the number of a value this high is surely a slip"),
        ("fn0 \"f\"() {\nblock0():\n return\nblock0():\n return }", "4:1: block0 stands here twice"),
        ("fn0 \"f\"() {\nblock0():\n v0 = call_builtin nope()\n return }", "3:20: no builtin is called `nope`"),
        ("fn0 \"f\"() {\nblock0(v0: str):\n return }", "2:12: expected a type (int, float, bool, ref), found `str`"),
        ("known { object class0 }\nclass0 \"A\"", "2:1: `known` does not name the class `str`"),
        ("fn0 \"f\"() { }", "1:14: a body has at least one block"),
        ("fn0 \"f\"() {\nin1 fn0 site0\nblock0():\n return }", "2:1: expected `in0`, found `in1`"),
        ("fn0 \"f\"() {\nin0 fn1 site0\nblock0():\n return }", "2:5: fn1 is not declared"),
        ("fn0 \"f\"() {\nblock0():\n return @2147483648 }", "3:10: expected a position, found `2147483648`"),
        ("fn0 \"f\"() {\nblock0():\n return @v1 }", "3:10: expected a position, found `v1`"),
        ("§", "1:1: unexpected character '§'"),
    ];
    for (text, error) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), error, "{text}");
    }
}

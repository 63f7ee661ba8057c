//! Objects, arrays, globals, type tests, atomics, barriers.

use crate::mock::*;
use jit::ir::*;

#[test]
fn fields_and_globals_of_every_type() {
    let text = r#"
str0 "héllo"
class7 "Box" extends class0 {
  field2 "i": int
  field3 "f": float
  field4 "b": bool
  field5 "r": class0?
}
global0 "gi": int
global1 "gf": float
global2 "gb": bool
global3 "gr": class0?
fn0 "f"(int, float, bool) -> int {
block0(v0: int, v1: float, v2: bool):
  v3 = new class7
  v4 = load v3.field2
  v5 = load v3.field4
  store v3.field2, v0
  store v3.field3, v1
  store v3.field4, v2
  store v3.field5, v3
  store_global global0, v0
  store_global global1, v1
  store_global global2, v2
  store_global global3, v3
  v6 = iconst 0
  call_builtin sleep(v6)
  v7 = load_global global3
  v8 = check_cast class7, v7
  v9 = load v8.field5
  v10 = ref_eq v9, v3
  v11 = ref_eq v8, v3
  v12 = band v10, v11
  v13 = load_global global0
  v14 = load v8.field2
  v15 = iadd v13, v14
  v16 = load_global global1
  v17 = load v8.field3
  v18 = fadd v16, v17
  v19 = float_to_int v18
  v20 = load_global global2
  v21 = load v8.field4
  v22 = bxor v20, v21
  v23 = bxor v22, v12
  v24 = bool_to_int v23
  v25 = iadd v15, v19
  v26 = iadd v25, v24
  v27 = str_const str0
  store v8.field5, v27
  store_global global3, v27
  call_builtin sleep(v6)
  v28 = load_global global3
  call_builtin print_line(v28)
  v29 = load v8.field5
  v30 = ref_eq v28, v29
  v31 = bool_to_int v30
  v32 = iadd v26, v31
  v33 = iadd v32, v4
  v34 = bool_to_int v5
  v35 = iadd v33, v34
  return v35
}"#;
    let (outcome, output) = agree_on(text, "f", &[1000, 0.75f64.to_bits(), 1]);
    assert_eq!(outcome, Outcome::Value(2003));
    assert_eq!(output, ["héllo"]);
}

/// Fills an array of each kind, of several lengths around the limits of inline allocation, and sums it.
#[test]
fn arrays_of_every_kind() {
    for (class, kind, make, back, ty) in [
        (3, "int", "v9 = iadd v4, v4", "v13 = iadd v12, v12", "int"),
        (4, "float", "v9 = int_to_float v4", "v13 = float_to_int v12", "float"),
        (5, "bool", "v9 = icmp gt v4, v10", "v13 = bool_to_int v12", "bool"),
        (2, "byte", "v9 = imul v4, v4", "v13 = iadd v12, v12", "int"),
        (6, "ref", "v9 = new_array class3, v4", "v13 = array_len v14", "ref"),
    ] {
        let cast = if kind == "ref" { "  v14 = check_cast class3, v12\n" } else { "" };
        let text = format!(
            r#"
fn0 "f"(int) -> int {{
block0(v0: int):
  v1 = new_array class{class}, v0
  v2 = iconst 0
  v10 = iconst 3
  v3 = iconst 1
  jump block1(v2)
block1(v4: int):
  v5 = icmp lt v4, v0
  branch v5, block2, block3(v2, v2)
block2():
  poll
  v6 = check_bounds v1, v4
  {make}
  store_elem {kind} v1[v6], v9
  v7 = iadd v4, v3
  jump block1(v7)
block3(v20: int, v21: int):
  v22 = array_len v1
  v23 = icmp lt v20, v22
  branch v23, block4, block5
block4():
  v11 = check_bounds v1, v20
  v12 = load_elem {kind} v1[v11]
{cast}  {back}
  v24 = iadd v21, v13
  v25 = iadd v20, v3
  jump block3(v25, v24)
block5():
  return v21
}}"#
        );
        let element = |i: i64| match (kind, ty) {
            ("int", _) => 4 * i,
            ("float", _) | ("ref", _) => i,
            ("bool", _) => i64::from(i > 3),
            _ => 2 * ((i * i) & 255),
        };
        for n in
            [0i64, 1, 7, 8, 9, 30, 1022, 1023, 8176, 8177].into_iter().filter(|&n| n < 100 || kind == "byte" || (kind == "int" && n < 2000))
        {
            assert_eq!(agree(&text, "f", &[n as u64]), Outcome::Value((0..n).map(element).sum::<i64>() as u64), "{kind} {n}");
        }
    }
}

#[test]
fn arrays_of_constant_length() {
    for n in [0i64, 1, 5, 1022, 1023, 5000, -1] {
        let text = format!(
            "fn0 \"f\"() -> int {{\nblock0():\n  v0 = iconst {n}\n  v1 = new_array class3, v0\n  v2 = new_array class2, v0\n  v3 = array_len v1\n  v4 = array_len v2\n  v5 = iadd v3, v4\n  return v5\n}}"
        );
        let expected = match n {
            -1 => Outcome::Error { kind: 5, operand: -1, trace: vec![("f".into(), 0)] },
            n => Outcome::Value(2 * n as u64),
        };
        assert_eq!(agree(&text, "f", &[]), expected, "{n}");
    }
}

/// Type tests of every class against every class, agreeing with the layout.
#[test]
fn type_tests() {
    let classes = r#"
class7 interface "A"
class8 interface "B" 
class9 abstract "Base" extends class0 implements class7
class10 "Left" extends class9 implements class7
class11 "Right" extends class9 implements class7, class8
class12 "Leaf" extends class11 implements class7, class8
"#;
    let mut text = classes.to_string();
    let concrete = [0u32, 1, 10, 11, 12, 3];
    let mut make = String::from("fn0 \"make\"(int) -> class0? {\nblock0(v0: int):\n  v90 = iconst 2\n  switch v0, [");
    make += &(1..=concrete.len()).map(|i| format!("block{i}")).collect::<Vec<_>>().join(", ");
    make += "], block20\n";
    for (i, class) in concrete.iter().enumerate() {
        let new = if *class == 3 { "new_array class3, v90".into() } else { format!("new class{class}") };
        make += &format!("block{}():\n  v{} = {new}\n  return v{}\n", i + 1, i + 1, i + 1);
    }
    make += "block20():\n  v50 = null\n  return v50\n}\n";
    text += &make;
    for target in 0..13 {
        text += &format!(
            "fn{} \"is{target}\"(int) -> bool {{\nblock0(v0: int):\n  v1 = call fn0(v0) site{target}\n  v2 = instance_of class{target}, v1\n  return v2\n}}\n",
            target + 1
        );
    }
    for target in 0..13 {
        text += &format!(
            "fn{} \"as{target}\"(int) -> bool {{\nblock0(v0: int):\n  v1 = call fn0(v0) site{}\n  v2 = check_cast class{target}, v1\n  v3 = ref_eq v1, v2\n  return v3\n}}\n",
            target + 14,
            target + 13
        );
    }
    let module = parse(&text);
    on_stack(4 << 20, || {
        let program = Program::of(module.clone(), Config::default());
        let mut thread = Thread::new(&program, Config::default());
        for target in 0..13u32 {
            for i in 0..=concrete.len() {
                let class = concrete.get(i).copied();
                let expected = class.is_some_and(|c| module.is_subclass(ClassId::from_u32(c), ClassId::from_u32(target)));
                let is = thread.native(program.func(&format!("is{target}")), &[i as u64]);
                assert_eq!(is, Outcome::Value(expected.into()), "{class:?} is {target}");
                match thread.native(program.func(&format!("as{target}")), &[i as u64]) {
                    Outcome::Value(1) => assert!(expected, "{class:?} as {target}"),
                    Outcome::Error { kind: 4, operand, .. } => {
                        assert!(!expected, "{class:?} as {target}");
                        assert_eq!(operand, i64::from(target) * 2 + i64::from(class.is_some()));
                    }
                    other => panic!("{class:?} as {target}: {other:?}"),
                }
            }
        }
    });
}

#[test]
fn atomics() {
    let text = r#"
fn0 "f"(int) -> int {
block0(v0: int):
  v1 = new class1
  atomic_store v1.field1, v0
  v2 = iconst 5
  v3 = atomic_fetch_add v1.field1, v2
  v4 = atomic_load v1.field1
  v5 = atomic_cas v1.field1, v0, v2
  v6 = atomic_cas v1.field1, v4, v2
  v7 = load v1.field1
  v8 = imul v3, v4
  v9 = iadd v8, v7
  v10 = bool_to_int v5
  v11 = bool_to_int v6
  v12 = iconst 10
  v13 = imul v10, v12
  v14 = iadd v9, v11
  v15 = iadd v14, v13
  return v15
}"#;
    assert_eq!(agree(text, "f", &[100]), Outcome::Value(100 * 105 + 5 + 1));
}

/// The barrier is taken for old objects only, once, and never for a constant null.
#[test]
fn barriers() {
    let text = r#"
class7 "Node" extends class0 {
  field2 "next": class7?
}
fn0 "link"(class7, class7?) {
block0(v0: ref, v1: ref):
  store v0.field2, v1
  store v0.field2, v1
  return
}
fn1 "clear"(class7) {
block0(v0: ref):
  v1 = null
  store v0.field2, v1
  return
}
fn2 "fill"(class6, class7?) {
block0(v0: ref, v1: ref):
  v2 = iconst 0
  v3 = check_bounds v0, v2
  store_elem ref v0[v3], v1
  return
}
fn3 "node"() -> class7 {
block0():
  v0 = new class7
  return v0
}
fn4 "array"() -> class6 {
block0():
  v0 = iconst 3
  v1 = new_array class6, v0
  return v1
}"#;
    on_stack(4 << 20, || {
        let program = Program::new(text, Config::default());
        let mut thread = Thread::new(&program, Config::default());
        let call = |thread: &mut Thread, name: &str, args: &[u64]| match thread.native(program.func(name), args) {
            Outcome::Value(v) => v,
            other => panic!("{other:?}"),
        };
        let (node, array) = (call(&mut thread, "node", &[]), call(&mut thread, "array", &[]));
        // SAFETY: both stay where they are: nothing collects here.
        let log = |object: u64| unsafe { &mut *((object + 1) as *mut u8) };
        call(&mut thread, "link", &[node, node]);
        assert_eq!(thread.remembered, 0);
        *log(node) = 1;
        call(&mut thread, "clear", &[node]);
        assert_eq!((thread.remembered, *log(node)), (0, 1));
        call(&mut thread, "link", &[node, 0]);
        assert_eq!((thread.remembered, *log(node)), (1, 0));
        *log(array) = 1;
        call(&mut thread, "fill", &[array, node]);
        assert_eq!((thread.remembered, *log(array)), (2, 0));
        // SAFETY: as above.
        unsafe { assert_eq!([*((node + 8) as *const u64), *((array + 16) as *const u64)], [0, node]) };
    });
}

/// With room in the thread's buffer, compiled code allocates without asking the runtime.
#[test]
fn allocation_is_inline() {
    let text = r#"
fn0 "f"(int) -> int {
block0(v0: int):
  v1 = new class1
  v2 = new_array class3, v0
  v3 = new_array class2, v0
  v4 = array_len v3
  v5 = array_len v2
  v6 = iadd v4, v5
  return v6
}"#;
    on_stack(4 << 20, || {
        let config = Config { buffer: 4096, ..Config::default() };
        let program = Program::new(text, config);
        let mut thread = Thread::new(&program, config);
        let f = program.func("f");
        // The first allocation opens the buffer.
        assert_eq!(thread.native(f, &[0]), Outcome::Value(0));
        let before = thread.ctx.alloc_cursor;
        assert_eq!(thread.native(f, &[9]), Outcome::Value(18));
        assert_eq!(thread.ctx.alloc_cursor - before, 24 + (16 + 72) + (16 + 16));
        let limit = thread.ctx.alloc_limit;
        assert_eq!(thread.native(f, &[9]), Outcome::Value(18));
        assert_eq!(thread.ctx.alloc_limit, limit);
    });
}

//! Null checks that an access makes: they cost nothing, and the first one that fails is reported at its own place.

use crate::mock::*;

fn function(body: &str) -> String {
    format!(
        r#"
class7 "Node" extends class0 {{
  field2 "value": int
  field3 "next": class7?
}}
global0 "G.count": int
fn0 "f"(class7?, class7?, class3?, int) -> int {{
block0(v0: ref, v1: ref, v2: ref, v3: int):
{body}}}
fn1 "run"(int, bool, bool, bool) -> int {{
block0(v0: int, v1: bool, v2: bool, v3: bool):
  v4 = null
  v5 = new class7
  store v5.field2, v0
  store v5.field3, v5
  v6 = iconst 5
  v7 = new_array class3, v6
  v8 = select v1, v5, v4
  v9 = select v2, v5, v4
  v10 = select v3, v7, v4
  v11 = call fn0(v8, v9, v10, v0) site0 @70
  return v11
}}
"#
    )
}

/// Bodies with the lines that fail for (v0, v1, v2) null one at a time or all together, in the order of the source.
#[test]
fn the_first_null_is_reported() {
    let bodies = [
        // Accesses in the order of the checks, and the other way around.
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v12 = null_check v2 @13\n  v13 = load v10.field2 nonnull\n  v14 = load v11.field2 nonnull\n  v15 = array_len v12 nonnull\n  v16 = iadd v13, v14\n  return v16\n",
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v12 = null_check v2 @13\n  v15 = array_len v12 nonnull\n  v14 = load v11.field2 nonnull\n  v13 = load v10.field2 nonnull\n  v16 = iadd v13, v14\n  return v16\n",
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v12 = null_check v2 @13\n  v14 = load v11.field2 nonnull\n  v13 = load v10.field2 nonnull\n  v15 = array_len v12 nonnull\n  v16 = iadd v15, v14\n  return v16\n",
        // No access, or one behind a store.
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v12 = null_check v2 @13\n  return v3\n",
        "  v10 = null_check v0 @11\n  store_global global0, v3\n  v11 = null_check v1 @12\n  v13 = load v10.field2 nonnull\n  v14 = load v11.field2 nonnull\n  v12 = null_check v2 @13\n  v16 = iadd v13, v14\n  return v16\n",
        // Stores as the access, and checks twice.
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  store v11.field2, v3 nonnull\n  store v10.field2, v3 nonnull\n  v12 = null_check v2 @13\n  v13 = null_check v2 @14\n  v15 = array_len v13 nonnull\n  return v15\n",
        "  v10 = null_check v0 @11\n  store v10.field3, v1 nonnull\n  v11 = null_check v1 @12\n  store v11.field3, v10 nonnull\n  v12 = null_check v2 @13\n  v15 = array_len v12 nonnull\n  return v15\n",
        // Accesses that check for themselves.
        "  v10 = null_check v0 @11\n  v13 = load v0.field2 @14\n  v14 = load v1.field2 @12\n  v15 = array_len v2 @13\n  return v15\n",
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v15 = check_bounds v2, v3 @13\n  v13 = load v10.field2 nonnull\n  return v13\n",
        // Class tests.
        "  v10 = null_check v0 @11\n  v16 = has_class class7, v10\n  v11 = null_check v1 @12\n  v17 = has_class class7, v11\n  v12 = null_check v2 @13\n  v18 = bool_to_int v16\n  return v18\n",
        // Accesses to what may be one of them, before their own: by select, and the same of arrays.
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v12 = null_check v2 @13\n  v17 = icmp lt v3, v3\n  v18 = select v17, v10, v11\n  v19 = load v18.field2 nonnull\n  v14 = load v11.field2 nonnull\n  v13 = load v10.field2 nonnull\n  v16 = iadd v19, v14\n  return v16\n",
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v17 = icmp le v3, v3\n  v18 = select v17, v10, v11\n  v19 = load v18.field2 nonnull\n  v14 = load v11.field2 nonnull\n  v13 = load v10.field2 nonnull\n  v12 = null_check v2 @13\n  v20 = select v17, v12, v12\n  v15 = array_len v20 nonnull\n  v21 = array_len v12 nonnull\n  v16 = iadd v15, v21\n  return v16\n",
        // Checked in one block, used in another.
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v12 = null_check v2 @13\n  v17 = icmp lt v3, v3\n  branch v17, block1, block2\nblock1():\n  return v3\nblock2():\n  v13 = load v10.field2 nonnull\n  return v13\n",
    ];
    for body in bodies {
        let text = function(body);
        for present in 0..8u64 {
            let args = [4, present & 1, present >> 1 & 1, present >> 2];
            let first = (0..3).find(|i| present >> i & 1 == 0);
            let outcome = agree(&text, "run", &args);
            match first {
                None => assert!(matches!(outcome, Outcome::Value(_)), "{body}{outcome:?}"),
                Some(i) => {
                    let trace = vec![("f".to_string(), 11 + i), ("run".to_string(), 70)];
                    assert_eq!(outcome, Outcome::Error { kind: 1, operand: 0, trace }, "{present:03b}\n{body}");
                }
            }
        }
    }
}

/// A check whose access follows is part of that access.
#[test]
fn a_check_with_an_access_costs_nothing() {
    let lengths = |body: &str| {
        let text = function(body);
        [false, true].map(|optimize| {
            let program = Program::new(&text, Config { optimize, ..Config::default() });
            let asm = program.engine.dump_asm(program.func("f")).unwrap();
            (asm.lines().count(), asm.matches("trap Null").count())
        })
    };
    let unchecked = lengths("  v13 = load v0.field2 nonnull\n  v14 = load v1.field2 nonnull\n  v16 = iadd v13, v14\n  return v16\n");
    let checked = lengths(
        "  v10 = null_check v0 @11\n  v11 = null_check v1 @12\n  v13 = load v10.field2 nonnull\n  v14 = load v11.field2 nonnull\n  v16 = iadd v13, v14\n  return v16\n",
    );
    for (unchecked, checked) in unchecked.into_iter().zip(checked) {
        assert_eq!((unchecked.1, checked), (0, (unchecked.0, 2)));
    }
}

/// A receiver that was checked, or that was just made, is not checked again; one that was not is checked by the load of its class.
#[test]
fn receivers_are_checked_once() {
    let text = |receiver: &str| {
        format!(
            r#"
class7 "Node" extends class0 {{
  sel0 -> fn0
}}
sel0 class7 "value"(class7) -> int
fn0 "Node.value"(class7) -> int {{
block0(v0: ref):
  v1 = iconst 5
  return v1
}}
fn1 "f"(class7?) -> int {{
block0(v0: ref):
{receiver}  v3 = call_virtual sel0(v1) site0 @12
  return v3
}}
fn2 "run"(bool) -> int {{
block0(v0: bool):
  v1 = new class7
  v2 = null
  v3 = select v0, v1, v2
  v4 = call fn1(v3) site1 @70
  return v4
}}
"#
        )
    };
    for (receiver, traps, loc) in [
        ("  v1 = null_check v0 @11\n", 1, 11),
        ("  v1 = select v4, v0, v0\n", 1, 12),
        ("  v1 = new class7\n", 0, 0),
        ("  v1 = check_cast class7, v0\n", 0, 0),
    ] {
        let receiver = receiver.replace("  v1 = select v4", "  v4 = bconst true\n  v1 = select v4");
        let text = text(&receiver);
        let program = Program::new(&text, Config::default());
        let asm = program.engine.dump_asm(program.func("f")).unwrap();
        assert_eq!(asm.matches("trap Null").count(), traps, "{receiver}{asm}");
        assert_eq!(agree(&text, "run", &[1]), Outcome::Value(5));
        if traps == 1 {
            let trace = vec![("f".to_string(), loc), ("run".to_string(), 70)];
            assert_eq!(agree(&text, "run", &[0]), Outcome::Error { kind: 1, operand: 0, trace }, "{receiver}");
        }
    }
}

//! Golden tests: small programs and the SSA they become, one construct each; and programs that cannot be lowered.
//!
//! Texts leave out positions, and number classes, functions and so on in the order in which the text first mentions them, so that the library's size does not show.

use super::lower;
use crate::diag::Diagnostics;
use crate::sema::{Scope, check, load_text};
use crate::source::SourceMap;
use jit::ir::{FuncId, Module, printer::print_function, verifier::verify};
use std::path::Path;

fn try_lower(source: &str) -> Result<Module, String> {
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let text = |sink: &Diagnostics| sink.iter().map(|d| format!("{} {}", d.code, d.message)).collect::<Vec<_>>().join("\n");
    let units = load_text(&mut map, Path::new("main.lang"), source.to_string(), &mut sink);
    let (program, problems) = check(&units, Scope::Reachable);
    sink.append(problems);
    let Some(mut program) = program.filter(|_| sink.is_empty()) else { return Err(text(&sink)) };
    let Some(module) = lower(&mut program, &map, &mut sink) else { return Err(text(&sink)) };
    let problems = verify(&module);
    assert!(problems.is_empty(), "{}", problems.iter().map(|p| p.to_string()).collect::<Vec<_>>().join("\n"));
    Ok(module)
}

fn module(source: &str) -> Module {
    try_lower(source).unwrap_or_else(|errors| panic!("{errors}\nin {source}"))
}

fn function(module: &Module, name: &str) -> FuncId {
    let found = module.funcs.iter().find(|(_, f)| &*f.name == name).map(|(id, _)| id);
    found.unwrap_or_else(|| panic!("no function {name}, only {:?}", module.funcs.values().map(|f| &f.name).collect::<Vec<_>>()))
}

/// The named functions of a program, as text.
fn text(source: &str, functions: &[&str]) -> String {
    let module = module(source);
    let texts: Vec<String> = functions.iter().map(|name| print_function(&module, function(&module, name))).collect();
    normalized(&texts.join("\n"))
}

/// Without positions, and with ids numbered by first mention.
fn normalized(text: &str) -> String {
    const KINDS: &[&str] = &["class", "field", "fn", "sel", "site", "str", "global"];
    let mut seen: Vec<Vec<String>> = vec![Vec::new(); KINDS.len()];
    let mut out = String::new();
    for line in text.lines() {
        let (code, comment) = line.split_once(" // ").map_or((line, None), |(code, comment)| (code, Some(comment)));
        let code =
            code.rsplit_once(" @").map_or(code.to_string(), |(code, rest)| format!("{code}{}", rest.trim_start_matches(char::is_numeric)));
        let mut rest = &code[..];
        while !rest.is_empty() {
            let word = rest.len() - rest.trim_start_matches(char::is_alphanumeric).len();
            let (token, tail) = rest.split_at(if word == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { word });
            let name = token.trim_end_matches(char::is_numeric);
            match KINDS.iter().position(|k| *k == name).filter(|_| name.len() < token.len()) {
                Some(kind) => {
                    let ids = &mut seen[kind];
                    let number = ids.iter().position(|id| id == token).unwrap_or_else(|| {
                        ids.push(token.to_string());
                        ids.len() - 1
                    });
                    out += &format!("{name}{number}");
                }
                None => out += token,
            }
            rest = tail;
        }
        if let Some(comment) = comment {
            out += &format!(" // {comment}");
        }
        out.push('\n');
    }
    out
}

macro_rules! golden {
    ($($test:ident: $source:literal => $($function:literal),+;)*) => {$(
        #[test]
        fn $test() {
            insta::assert_snapshot!(text($source, &[$($function),+]));
        }
    )*};
}

golden! {
    while_with_a_small_condition_is_rotated: "
        fun f(n: Int): Int {
            var i = 0
            while i < n && i != 7 { i += 2 }
            return i
        }
        fun main() { f(3) }" => "f";

    while_with_a_call_in_its_condition_tests_in_one_place: "
        fun more(i: Int): Bool = i < 3
        fun f(): Int {
            var i = 0
            while more(i) {
                if i == 1 { break }
                i += 1
            }
            return i
        }
        fun main() { f() }" => "f";

    while_true: "
        fun f(): Int {
            var i = 0
            while true {
                i += 1
                if i == 9 { return i }
            }
        }
        fun main() { f() }" => "f";

    ranges_of_step_one: "
        fun f(n: Int): Int {
            var sum = 0
            for i in 0..<n { sum += i }
            for i in n..0 step -1 { sum += i }
            return sum
        }
        fun main() { f(3) }" => "f";

    ranges_of_other_steps_compare_what_is_left: "
        fun f(a: Int, b: Int): Int {
            var sum = 0
            for i in a..b step 3 { sum += i }
            for i in b..<a step -2 { sum += i }
            return sum
        }
        fun main() { f(1, 9) }" => "f";

    for_over_an_array_checks_no_bounds: "
        fun f(items: Array<Float>): Float {
            var sum = 0.0
            for x in items { sum += x }
            return sum
        }
        fun main() { f([1.0]) }" => "f";

    catch_tries_its_clauses_in_order: "
        class A(message: Str) : Error(message)
        fun risky(): Int = 1
        fun f(): Int {
            try { return risky() / 2 }
            catch (e: A) { return 1 }
            catch (e: StateError) { throw e }
        }
        fun main() { f() }" => "f";

    finally_stands_once_for_all_ways_out: "
        fun risky(): Bool = true
        fun f(): Int {
            while true {
                try {
                    if risky() { break }
                    if risky() { continue }
                    if risky() { return 1 }
                } finally { risky() }
            }
            return 2
        }
        fun main() { f() }" => "f";

    lock_is_try_and_finally: "
        var n = 0
        fun f(m: Mutex) { lock m { n += 1 } }
        fun main() { f(Mutex()) }" => "f";

    a_closure_shares_what_is_assigned_and_copies_the_rest: "
        fun f(n: Int): () -> Int {
            var i = 0
            let g = () => { i += n
                return i }
            i = 5
            return g
        }
        fun main() { f(1)() }" => "f", "closure at main.lang:4", "main";

    function_references_are_made_once: "
        fun double(x: Int): Int = x * 2
        fun f(): (Int) -> Int = double
        fun main() { f()(1) }" => "f", "double (reference)", "<start>";

    match_on_dense_numbers_is_a_table: "
        fun f(x: Int): Str = match x {
            1 => \"one\"
            2, 4 => \"even\"
            3..5 => \"many\"
            else => \"?\"
        }
        fun main() { f(1) }" => "f";

    match_on_types_and_null: "
        fun f(x: Object?): Int = match x {
            null => 0
            is Str as s => s.length
            is Array<Int> as a => a[0]
            else => -1
        }
        fun main() { f(null) }" => "f";

    nullable_numbers_compare_without_boxing_the_other_side: "
        fun f(x: Int?): Bool = x == 3
        fun g(x: Float?, y: Float?): Bool = x != y
        fun h<T>(x: T): Bool = x == null
        fun main() { f(1)
            g(1.0, null)
            h(1) }" => "f", "g", "h<Int>";

    objects_compare_by_identity_then_equals: "
        class P
        fun f(a: P?, b: P?): Bool = a == b
        fun g(a: Str, b: Str): Bool = a != b
        fun main() { f(P(), null)
            g(\"a\", \"b\") }" => "f", "g";

    interpolation_of_everything: "
        fun f(i: Int, x: Float, b: Bool, s: Str?, n: Int?, o: Object): Str = \"${i}${x}${b}${s}${n}${o}\"
        fun main() { f(1, 1.0, true, null, null, \"\") }" => "f";

    added_texts_are_one_concatenation: "
        fun f(s: Str, n: Int): Str = \"a\" + s + \"${n}\" + (s + \"b\")
        fun main() { f(\"\", 1) }" => "f";

    casts: "
        interface I
        fun f(o: Object): I = o as I
        fun g(o: Object?): I? = o as I?
        fun h(o: Object): Str? = o as? Str
        fun j(n: Int?): Int = n as Int
        fun main() { f(\"\")
            g(null)
            h(\"\")
            j(1) }" => "f", "g", "h", "j";

    calls_are_virtual_unless_nothing_can_override: "
        class A { fun m(): Int = 1
            fun generic<T>(x: T): T = x }
        fun f(a: A, s: Str, t: Array<Int>): Int = a.m() + a.generic(2) + A().m() + s.trim().length + t.indexOf(1) + 5.abs()
        fun main() { f(A(), \"\", [1]) }" => "f";

    construction_runs_bases_first: "
        class A(let x: Int) { let y: Int = x + 1 }
        class B(z: Int) : A(z * 2) { let w: Int? = z }
        fun f(): Int = B(1).y
        fun main() { f() }" => "f", "B.init", "A.init";

    arrays: "
        fun f(n: Int): Array<Int> {
            let a = Array<Int>(n, 7)
            let b = Array<Float>(n, 0.0)
            a[n - 1] = a[0] + b.length
            return [n, a[1]]
        }
        fun main() { f(2) }" => "f";

    globals_and_constants: "
        let LIMIT = 10
        var count = 3
        let table = [LIMIT]
        fun f(): Int { count = count + LIMIT
            return table[0] }
        fun main(): Int = f()" => "f", "init table", "<start>";

    a_result_that_is_represented_differently_is_bridged: "
        class Base { fun m(): Str = \"\" }
        class Sub : Base() { override fun m(): Never { throw StateError(\"\") } }
        fun f(x: Base): Str = x.m()
        fun main() { f(Base())
            f(Sub()) }" => "f", "Sub.m (bridge)", "Sub.m";

    unit_is_a_value_in_generic_code: "
        fun call<T>(f: () -> T): T = f()
        fun main() { let u = call(() => { })
            println(u) }" => "main", "call<Unit>", "println<Unit>";

    natives_stand_in_place: "
        fun f(x: Float): Float = Math.sqrt(x) + Math.sin(x)
        fun main() { f(1.0) }" => "f", "Math.sqrt", "Math.sin";
}

/// Only what can run is there.
#[test]
fn methods_follow_instantiation_and_calls() {
    let names = |source: &str| module(source).funcs.values().map(|f| f.name.to_string()).collect::<Vec<_>>();
    let all = names(
        "interface I { fun called(): Int
            fun never(): Int }
        class Made : I { override fun called(): Int = 1
            override fun never(): Int = 2 }
        class Unmade : I { override fun called(): Int = 3
            override fun never(): Int = 4 }
        fun f(i: I): Int = i.called()
        fun main() { f(Made())
            let u: Unmade? = null
            if u != null { f(u) } }",
    );
    assert!(all.contains(&"Made.called".to_string()), "{all:?}");
    for absent in ["Made.never", "Unmade.called", "Unmade.never"] {
        assert!(!all.contains(&absent.to_string()), "{absent} in {all:?}");
    }
}

#[test]
fn names_are_the_users() {
    let module = module(
        "fun main() { let list = List<Int>()
            list.add(1)
            println(list.map(x => Pair(x, \"a\")).get(0)) }",
    );
    for name in ["main", "List<Int>.add", "List<Int>.map<Pair<Int, Str>>", "closure at main.lang:3", "Pair<Int, Str>.toString"] {
        function(&module, name);
    }
    assert!(module.classes.values().any(|c| &*c.name == "List<Pair<Int, Str>>"));
}

/// Every module is text that reads back.
#[test]
fn modules_read_back() {
    let module = module("fun main() { println(mapOf<Str, Int>()) }");
    let text = module.to_string();
    let parsed = jit::ir::parser::parse(&text).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(parsed.to_string(), text);
}

#[test]
fn types_that_grow_without_end_are_reported() {
    let cases = [
        "fun f<T>(x: T) { f(Pair(x, x)) }
        fun main() { f(1) }",
        "class Node<T>(let next: Node<Array<T>>?)
        fun main() { Node<Int>(null) }",
        "class Node<T> { fun m() { Node<Node<T>>().m() } }
        fun main() { Node<Int>().m() }",
        "fun f<A, B>(a: A, b: B) { f((x: A) => b, (x: B) => a) }
        fun main() { f(1, 2) }",
        // Each step multiplies the type's size.
        "class T3<A, B, C>(let a: A, let b: B, let c: C)
        fun f<T>(x: T) { f(T3(T3(x, x, x), T3(x, x, x), T3(x, x, x))) }
        fun main() { f(1) }",
    ];
    for source in cases {
        let errors = try_lower(source).map(|m| m.to_string()).unwrap_err();
        assert!(errors.starts_with("E0603"), "{errors}");
    }
}

/// Each instance is small, but there are too many: every bit of a type of 16 bits.
#[test]
fn instances_without_end_are_reported() {
    let source = "
        class A<T>
        class B<T>
        fun f<T>(n: Int, x: T) { if n > 0 { f(n - 1, A<T>())
            f(n - 1, B<T>()) } }
        fun main() { f(1, 0) }";
    let errors = try_lower(source).map(|_| ()).unwrap_err();
    assert!(errors.starts_with("E0604"), "{errors}");
}

//! Who listens is told of all code: what each piece is, where it lies, and where its instructions come from.

use crate::mock::*;
use jit::ir::{Block, Loc};
use jit::native::{Level, Listener, NewCode, Osr, Position, Profiling};
use jit::opt::osr::enter_at;
use std::sync::{Arc, Mutex};

#[derive(Clone, PartialEq, Eq, Debug)]
struct Told {
    name: String,
    address: u64,
    bytes: Vec<u8>,
    positions: Vec<Position>,
}

#[derive(Default, Debug)]
struct Ears(Mutex<Vec<Told>>);

impl Listener for Ears {
    fn compiled(&self, code: &NewCode<'_>) {
        let NewCode { name, address, bytes, positions, .. } = *code;
        self.0.lock().unwrap().push(Told { name: name.into(), address, bytes: bytes.into(), positions: positions.into() });
    }

    fn ended(&self) {}
}

/// `f` calls `outer`, which calls `inner`, both inlined into it.
const TEXT: &str = r#"
fn0 "inner"(class1?) -> int @30 {
block0(v0: ref):
  v1 = load v0.field0 @31
  return v1
}
fn1 "outer"(class1?) -> int @40 {
block0(v0: ref):
  v1 = call fn0(v0) site0 @41
  return v1
}
fn2 "f"(int, class1?) -> int @10 {
in0 fn1 @41 site1 @11
in1 fn0 @31 site0 @in0
block0(v0: int, v1: ref):
  v2 = iconst 0
  jump block1(v2)
block1(v3: int):
  v4 = load v1.field0 @in1
  v5 = irem v4, v0 @12
  v6 = iadd v3, v5
  poll
  v7 = icmp lt v6, v0
  branch v7, block1(v6), block2
block2():
  return v6
}
"#;

#[test]
fn all_code_is_told_of_as_it_lies() {
    for level in Level::ALL {
        let ears = Arc::new(Ears::default());
        let config = Config { optimize: level == Level::Optimized, profiling: Profiling::Calls, ..Config::default() };
        let program = Program::adjusted(parse(TEXT), config, |options| {
            options.osr = Osr::Installed;
            options.listener = Some(ears.clone());
        });
        let (engine, f) = (&program.engine, program.func("f"));
        program.module.funcs.keys().for_each(|func| _ = engine.compile(func).unwrap());
        engine.complete_twins();
        let rest = enter_at(&program.module, &program.module.funcs[f], Block::from_u32(1)).expect("a loop");
        let rest = engine.install_osr(f, Block::from_u32(1), &rest, level).unwrap();
        let mut told = ears.0.lock().unwrap().clone();
        assert_eq!(told.last().map(|told| (told.address, told.bytes.len() as u32)), Some((rest.entry, rest.len)));
        let names: Vec<&str> = told.iter().map(|told| &*told.name).collect();
        assert_eq!(names, ["inner", "outer", "f", "inner", "outer", "f", "f"], "each, its twin, and the rest of the loop");
        told.sort_by_key(|told| told.address);
        let mut there = Vec::new();
        engine.each_code(|func, address, len| there.push((program.module.funcs[func].name.to_string(), address, len as usize)));
        assert_eq!(told.iter().map(|told| (told.name.clone(), told.address, told.bytes.len())).collect::<Vec<_>>(), there);
        for told in told {
            // SAFETY: code that nobody has retired.
            let lies = unsafe { std::slice::from_raw_parts(told.address as *const u8, told.bytes.len()) };
            assert_eq!(lies, told.bytes, "{}", told.name);
            assert!(told.positions.windows(2).all(|pair| pair[0].offset < pair[1].offset), "{:?}", told.positions);
            assert!(told.positions.iter().all(|position| (position.offset as usize) < told.bytes.len()), "{:?}", told.positions);
            let of = |name: &str, loc: u32| {
                let func = program.func(name);
                told.positions.iter().any(|position| (position.func, position.loc) == (func, Loc(loc)))
            };
            // What was inlined stands for its own line, and the calls around it for nothing.
            let is_f = told.name == "f";
            assert_eq!(
                (of("inner", 31), of("f", 12), of("outer", 41)),
                (is_f || told.name == "inner", is_f, told.name == "outer"),
                "{told:?}"
            );
            assert!(!of("f", 11) && !told.positions.iter().any(|position| position.loc.inlined().is_some()), "{told:?}");
        }
    }
}

/// Code that counts is called instead of it where calls are to be counted: it has nothing in it for that.
#[test]
fn code_that_does_not_count_is_that_of_a_program_without_a_profiler() {
    const SWAP: &str = r#"
fn0 "swap"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = call fn1(v1, v0) site0
  return v2
}
fn1 "subtract"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = isub v0, v1
  return v2
}
"#;
    for optimize in [false, true] {
        let code = |profiling: Profiling| {
            let ears = Arc::new(Ears::default());
            let config = Config { optimize, profiling, ..Config::default() };
            let program = Program::adjusted(parse(SWAP), config, |options| options.listener = Some(ears.clone()));
            program.engine.count_calls(false);
            program.engine.compile(program.func("swap")).unwrap();
            let told = ears.0.lock().unwrap();
            (told[0].bytes.len(), told[0].positions.clone())
        };
        assert_eq!(code(Profiling::Calls), code(Profiling::Off), "optimized: {optimize}");
    }
}

//! `tests/opt/*.txt`: what passes make of modules. A case is a line `// pass: gvn simplify` (run in this order; `inline` is one round into each function, `inline-probed` the same with probes), a module, a line of `=`, and the functions as they are afterwards; it ends at a line of dashes.
//!
//! A line `// targets: fn2 fn0` behind it says which targets of virtual calls get tests, in this order; without it, those that the class hierarchy suggests. A line `// rare: fn2 fn0` says which functions are hardly ever called.
//!
//! Lines `//> fn0(1, 2) = 3` in the module must hold before and after. `BLESS=1` writes the expectations; read them before they are committed.

mod common;

use common::broken_promises;
use jit::ir::parser::parse;
use jit::ir::printer::print_function;
use jit::ir::verifier::verify;
use jit::ir::{FuncId, Module};
use jit::opt::{Pass, Probes, run_inlining, run_pass};
use profiler::oracle::{Accepted, CallSiteFacts, Oracle, Refused, Verdict, VirtualCallFacts};

/// Takes every callee below a size, no function into its own code twice.
struct Policy {
    targets: Option<Vec<FuncId>>,
    rare: Vec<FuncId>,
}

impl Policy {
    fn of(case: &str) -> Policy {
        let func = |name: &str| FuncId::from_u32(name.strip_prefix("fn").and_then(|n| n.parse().ok()).expect("a function such as fn3"));
        let line = |start| case.lines().find_map(|l| l.strip_prefix(start)).map(|names| names.split_whitespace().map(func).collect());
        Policy { targets: line("// targets:"), rare: line("// rare:").unwrap_or_default() }
    }
}

impl Oracle for Policy {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        match facts {
            CallSiteFacts { callee, .. } if self.rare.contains(callee) => Verdict::Call(Refused::ColdByProfile),
            CallSiteFacts { recursion: 2.., .. } => Verdict::Call(Refused::Recursive),
            CallSiteFacts { callee_size: 0..40, .. } => Verdict::Inline(Accepted::Small),
            _ => Verdict::Call(Refused::CalleeTooLarge),
        }
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        self.targets.clone().unwrap_or_else(|| call.suggested.to_vec())
    }
}

fn sound(module: &Module, when: &str, case: &str) {
    let problems: Vec<String> = verify(module).iter().map(|p| format!("{p}\n")).collect();
    assert!(problems.is_empty(), "{when}:\n{}\n{case}\n{module}", problems.concat());
}

fn run_case(case: &str) -> String {
    let (passes, _) = case.trim_start().strip_prefix("// pass:").and_then(|c| c.split_once('\n')).expect("`// pass: …` comes first");
    let mut module = parse(case).unwrap_or_else(|e| panic!("{e} in\n{case}"));
    let policy = Policy::of(case);
    sound(&module, "before", case);
    assert_eq!(broken_promises(&module, case), [""; 0], "before, in\n{case}");
    for name in passes.split_whitespace() {
        let probes = match name {
            "inline" => Some(Probes::None),
            "inline-probed" => Some(Probes::Inlined),
            _ => None,
        };
        if let Some(probes) = probes {
            run_inlining(&mut module, &policy, probes);
            sound(&module, name, case);
            continue;
        }
        let pass = Pass::ALL.iter().find(|p| p.name() == name).unwrap_or_else(|| panic!("there is no pass `{name}`"));
        run_pass(&mut module, *pass, &policy);
        sound(&module, name, case);
    }
    assert_eq!(broken_promises(&module, case), [""; 0], "after {passes}, in\n{case}\n{module}");
    let with_body = module.funcs.iter().filter(|(_, f)| !f.layout.is_empty());
    with_body.map(|(id, _)| print_function(&module, id)).collect()
}

#[test]
fn passes_make_what_is_expected() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/opt");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut failures = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut blessed = Vec::new();
        for case in text.split("\n-----\n") {
            let (input, expected) = case.split_once("\n=====\n").unwrap_or((case.trim_end(), ""));
            let found = run_case(input);
            if found.trim_end() != expected.trim_end() {
                failures.push(format!("{}:\n{input}\ngives\n{found}\nnot\n{expected}", path.display()));
            }
            blessed.push(format!("{}\n=====\n{}\n", input.trim_end(), found.trim_end()));
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, blessed.join("\n-----\n")).unwrap();
        }
    }
    assert!(failures.is_empty() || std::env::var_os("BLESS").is_some(), "{}", failures.join("\n\n"));
}

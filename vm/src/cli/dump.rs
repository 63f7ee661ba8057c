//! `vm dump FILE --stage STAGE [--function NAME]`: what each stage of the compiler makes of a program.

use super::args::{DumpArgs, Stage};
use super::compile::compile;
use super::text;
use crate::diag::Diagnostics;
use crate::sema;
use crate::source::{Origin, SourceMap};
use crate::syntax::{self, Positions};
use jit::ir::{FuncId, Module, printer};

pub fn run(args: &DumpArgs) -> u8 {
    match args.stage {
        Stage::Tokens | Stage::Ast => syntax(args),
        Stage::Ir => ir(args),
        #[cfg(feature = "native")]
        Stage::Clif | Stage::Asm => native(args),
    }
}

/// Of the main file alone, also where it has errors (which are printed too).
fn syntax(args: &DumpArgs) -> u8 {
    let mut map = SourceMap::new();
    let mut errors = Diagnostics::new();
    if args.function.is_some() {
        text::complain("error: --function goes with the stages ir, clif and asm\n");
        return super::FAILURE;
    }
    let units = sema::load(&mut map, &args.file, &mut errors);
    let Some(unit) = units.iter().rfind(|u| u.origin == Origin::User) else {
        text::show(&errors, &map);
        return super::FAILURE;
    };
    let out = match args.stage {
        Stage::Tokens => syntax::dump_tokens(&map, &syntax::lex(&map, unit.file, &mut Diagnostics::new()).tokens),
        _ => syntax::dump_ast(&map, &unit.ast, Positions::Shown),
    };
    let code = text::print(&out);
    text::show(&errors, &map);
    if errors.is_empty() { code } else { super::FAILURE }
}

fn ir(args: &DumpArgs) -> u8 {
    let Some(compiled) = compile(&args.file, false) else { return super::FAILURE };
    let module = &compiled.module;
    match &args.function {
        None => text::print(&module.to_string()),
        Some(name) => match selected(module, name) {
            Ok(funcs) => text::print(&funcs.iter().map(|&f| printer::print_function(module, f) + "\n").collect::<String>()),
            Err(code) => code,
        },
    }
}

/// Functions with this very name, or else those whose names contain it.
fn selected(module: &Module, name: &str) -> Result<Vec<FuncId>, u8> {
    let matching = |test: &dyn Fn(&str) -> bool| -> Vec<FuncId> {
        module.funcs.iter().filter(|(_, f)| !f.layout.is_empty() && test(&f.name)).map(|(id, _)| id).collect()
    };
    let exact = matching(&|n| n == name);
    let found = if exact.is_empty() { matching(&|n| n.contains(name)) } else { exact };
    if !found.is_empty() {
        return Ok(found);
    }
    let similar = crate::diag::suggest(name, module.funcs.values().map(|f| &*f.name));
    let hint = similar.map(|s| format!(" (did you mean {s}?)")).unwrap_or_default();
    text::complain(&format!("error: the program has no function {name}{hint}; functions that are never called are not compiled\n"));
    Err(super::FAILURE)
}

#[cfg(feature = "native")]
fn native(args: &DumpArgs) -> u8 {
    use crate::runtime::native::NativeEngine;
    use crate::runtime::{Runtime, RuntimeOptions};
    use jit::layout::Layout;
    use std::sync::Arc;

    let Some(compiled) = compile(&args.file, false) else { return super::FAILURE };
    let all: Vec<FuncId> = compiled.module.funcs.iter().filter(|(_, f)| !f.layout.is_empty()).map(|(id, _)| id).collect();
    let funcs = match &args.function {
        None => all,
        Some(name) => match selected(&compiled.module, name) {
            Ok(funcs) => funcs,
            Err(code) => return code,
        },
    };
    let module = Arc::new(compiled.module);
    let layout = Arc::new(Layout::new(&module));
    let dumped =
        Runtime::new(module, layout, Box::new(compiled.map), RuntimeOptions::default()).map_err(|e| e.to_string()).and_then(|runtime| {
            let engine = NativeEngine::new(&runtime, jit::native::Options::default()).map_err(|e| e.to_string())?;
            let dump = |&f: &FuncId| match args.stage {
                Stage::Clif => Ok(engine.inner().dump_clif(f)),
                _ => engine.inner().dump_asm(f).map_err(|e| e.to_string()),
            };
            funcs.iter().map(|f| dump(f).map(|text| text + "\n")).collect::<Result<String, String>>()
        });
    match dumped {
        Ok(out) => text::print(&out),
        Err(message) => {
            text::complain(&format!("error: {message}\n"));
            super::FAILURE
        }
    }
}

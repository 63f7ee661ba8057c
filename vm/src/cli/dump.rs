//! `vm dump FILE --stage STAGE [--function NAME]`: what each stage of the compiler makes of a program.

#[cfg(feature = "native")]
use super::args::{CodeTier, ProfileCodeArg};
use super::args::{DumpArgs, OptArgs, Stage};
use super::compile::compile;
use super::live::earlier;
use super::optimize::{Job, decisions, time_table};
use super::text;
use crate::diag::Diagnostics;
use crate::runtime::names;
use crate::sema;
use crate::source::{Origin, SourceMap};
use crate::syntax::{self, Positions};
use jit::ir::{FuncId, Module, printer};
use jit::opt::Optimized;
use jit::opt::Probes;
use profiler::oracle::{InlineDecision, Verdict};

pub fn run(args: &DumpArgs) -> u8 {
    if let Err(message) = fits(args) {
        return text::fail(message);
    }
    match args.stage {
        Stage::Tokens | Stage::Ast => syntax(args),
        Stage::Ir | Stage::Opt => ir(args),
        Stage::Inline => inline(args),
        #[cfg(feature = "native")]
        Stage::Clif | Stage::Asm => native(args),
    }
}

/// Whether the flags go with the stage.
fn fits(args: &DumpArgs) -> Result<(), String> {
    if args.function.is_some() && matches!(args.stage, Stage::Tokens | Stage::Ast) {
        return Err("--function goes with the stages from ir on".into());
    }
    let optimizes = matches!(args.stage, Stage::Opt | Stage::Inline);
    #[cfg(feature = "native")]
    if args.tier.is_some() && !matches!(args.stage, Stage::Clif | Stage::Asm) {
        return Err("--tier goes with the stages clif and asm".into());
    }
    #[cfg(feature = "native")]
    match args.profile_code {
        Some(_) if !matches!(args.stage, Stage::Clif | Stage::Asm) => return Err("--profile-code goes with the stages clif and asm".into()),
        Some(ProfileCodeArg::Inlined) if args.tier != Some(CodeTier::Opt) => {
            return Err("--profile-code inlined goes with --tier opt: no other tier inlines".into());
        }
        _ => {}
    }
    #[cfg(feature = "native")]
    let optimizes = optimizes || args.tier == Some(CodeTier::Opt);
    if args.opt != OptArgs::default() && !optimizes {
        return Err(
            "--inline, --plan-in, --plan-out, --passes and --time-passes go with the stages opt and inline, and with --tier opt".into()
        );
    }
    if args.profile_in.is_some() && !args.opt.asks_profile() {
        return Err("--profile-in goes with --inline dynamic, weak-static, cost-benefit and context: nothing else asks a profile".into());
    }
    text::check_apart([("--plan-out", args.opt.plan_out.as_deref()), ("--profile-in", args.profile_in.as_deref())])?;
    args.opt.check(&args.file, args.profile_in.as_deref())
}

/// What the optimizer makes of the program.
fn optimized(module: Module, map: &SourceMap, args: &DumpArgs) -> Result<Optimized, u8> {
    #[cfg(feature = "native")]
    let probes = if args.profile_code == Some(ProfileCodeArg::Inlined) { Probes::Inlined } else { Probes::None };
    #[cfg(not(feature = "native"))]
    let probes = Probes::None;
    text::check_sources(args.opt.plan_out.as_deref(), map).map_err(text::fail)?;
    let read = |path| earlier(path, || names::program(&module, map), true);
    let optimized = args.profile_in.as_deref().map(read).transpose().and_then(|profile| {
        let job = Job { file: &args.file, map, args: &args.opt, profile: profile.as_ref(), probes, verify: false, warn: true };
        job.optimize(module)
    });
    let optimized = optimized.map_err(text::fail)?;
    if args.opt.time_passes {
        text::complain(&time_table(&optimized));
    }
    Ok(optimized)
}

/// Of the main file alone, also where it has errors (which are printed too).
fn syntax(args: &DumpArgs) -> u8 {
    let mut map = SourceMap::new();
    let mut errors = Diagnostics::new();
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
    let name = args.function.as_deref();
    let (module, funcs) = if args.stage == Stage::Opt {
        let optimized = match optimized(compiled.module, &compiled.map, args) {
            Ok(optimized) => optimized,
            Err(code) => return code,
        };
        let funcs = selected_optimized(&optimized, name);
        (optimized.module, funcs)
    } else if name.is_none() {
        return text::print(&compiled.module.to_string());
    } else {
        let funcs = selected(&compiled.module, with_body(&compiled.module), name);
        (compiled.module, funcs)
    };
    match funcs {
        Ok(funcs) => text::print(&funcs.iter().map(|&f| printer::print_function(&module, f) + "\n").collect::<String>()),
        Err(code) => code,
    }
}

fn with_body(module: &Module) -> Vec<FuncId> {
    module.funcs.iter().filter(|(_, f)| !f.layout.is_empty()).map(|(id, _)| id).collect()
}

fn inline(args: &DumpArgs) -> u8 {
    let Some(compiled) = compile(&args.file, false) else { return super::FAILURE };
    let roots = match selected(&compiled.module, with_body(&compiled.module), args.function.as_deref()) {
        Ok(roots) => roots,
        Err(code) => return code,
    };
    let optimized = match optimized(compiled.module, &compiled.map, args) {
        Ok(optimized) => optimized,
        Err(code) => return code,
    };
    let shown = optimized.decisions.iter().filter(|d| roots.contains(&d.root));
    text::print(&decisions(&optimized.module, &compiled.map, shown))
}

/// As [`selected`], of the functions that are still called. One with this very name that is not, because it is inlined wherever it was, is shown where it is inlined.
fn selected_optimized(optimized: &Optimized, name: Option<&str>) -> Result<Vec<FuncId>, u8> {
    let Optimized { module, called, decisions, .. } = optimized;
    if let Some(name) = name.filter(|name| !called.iter().any(|&id| &*module.funcs[id].name == *name)) {
        let inlined = |d: &&InlineDecision| matches!(d.verdict, Verdict::Inline(_)) && &*module.funcs[d.callee].name == name;
        let mut roots: Vec<FuncId> = decisions.iter().filter(inlined).map(|d| d.root).filter(|root| called.contains(root)).collect();
        roots.sort_unstable();
        roots.dedup();
        if !roots.is_empty() {
            text::complain(&format!("note: {name} is inlined wherever it is called; these functions contain it\n"));
            return Ok(roots);
        }
    }
    selected(module, called.clone(), name)
}

/// Those of `all` with this very name, or else those whose names contain it; all without a name.
fn selected(module: &Module, all: Vec<FuncId>, name: Option<&str>) -> Result<Vec<FuncId>, u8> {
    let Some(name) = name else { return Ok(all) };
    let matching =
        |test: &dyn Fn(&str) -> bool| -> Vec<FuncId> { all.iter().copied().filter(|&id| test(&module.funcs[id].name)).collect() };
    let exact = matching(&|n| n == name);
    let found = if exact.is_empty() { matching(&|n| n.contains(name)) } else { exact };
    if !found.is_empty() {
        return Ok(found);
    }
    let similar = crate::diag::suggest(name, module.funcs.values().map(|f| &*f.name));
    let hint = similar.map(|s| format!(" (did you mean {s}?)")).unwrap_or_default();
    text::complain(&format!(
        "error: the program has no function {name}{hint}; functions that are never called, or inlined wherever they are, are not compiled\n"
    ));
    Err(super::FAILURE)
}

#[cfg(feature = "native")]
fn native(args: &DumpArgs) -> u8 {
    use crate::runtime::native::NativeEngine;
    use crate::runtime::{Runtime, RuntimeOptions};
    use jit::layout::Layout;
    use jit::native::{Level, Options, Profiling};
    use std::sync::Arc;

    let Some(compiled) = compile(&args.file, false) else { return super::FAILURE };
    let optimize = args.tier == Some(CodeTier::Opt);
    let profiling = match args.profile_code {
        None => Profiling::Off,
        Some(ProfileCodeArg::Calls) => Profiling::Calls,
        Some(ProfileCodeArg::Inlined) => Profiling::Inlined,
    };
    let name = args.function.as_deref();
    let (module, funcs) = if optimize {
        let Ok(optimized) = optimized(compiled.module, &compiled.map, args) else { return super::FAILURE };
        let funcs = selected_optimized(&optimized, name);
        (optimized.module, funcs)
    } else {
        let funcs = selected(&compiled.module, with_body(&compiled.module), name);
        (compiled.module, funcs)
    };
    let Ok(funcs) = funcs else { return super::FAILURE };
    let module = Arc::new(module);
    let layout = Arc::new(Layout::new(&module));
    let dumped =
        Runtime::new(module, layout, Box::new(compiled.map), RuntimeOptions::default()).map_err(|e| e.to_string()).and_then(|runtime| {
            let level = if optimize { Level::Optimized } else { Level::Baseline };
            let options = Options { level, profiling, ..Options::default() };
            let engine = NativeEngine::new(&runtime, options).map_err(|e| e.to_string())?;
            let dump = |&f: &FuncId| match args.stage {
                Stage::Clif => Ok(engine.inner().dump_clif(f)),
                _ => engine.inner().dump_asm(f).map_err(|e| e.to_string()),
            };
            funcs.iter().map(|f| dump(f).map(|text| text + "\n")).collect::<Result<String, String>>()
        });
    match dumped {
        Ok(out) => text::print(&out),
        Err(message) => text::fail(message),
    }
}

//! Records the programs of [`crate::traces`].
//!
//! In: `vm`, and as far as they are there `python3` and `cc`. Out: a trace file for each program, made under another name first, so that what has its name is complete.

use crate::process;
use crate::traces::{Source, Traced, chosen, folder};
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(clap::Args)]
pub struct Options {
    /// Only these
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Record those too that are there
    #[arg(long)]
    again: bool,
}

pub fn run(options: &Options) -> Result<(), String> {
    let folder = folder()?;
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    println!("| trace | shape | events | threads | functions | edges | bytes an event |");
    println!("|---|---|---|---|---|---|---|");
    for traced in chosen(&options.only)? {
        let path = traced.path()?;
        if options.again || !path.exists() {
            let unfinished = path.with_extension("unfinished");
            let Some(mut command) = command(traced, &unfinished)? else { continue };
            process::run(&mut command)?;
            fs::rename(&unfinished, &path).map_err(|e| format!("{}: {e}", unfinished.display()))?;
        }
        describe(traced, &path)?;
    }
    Ok(())
}

/// What runs the program and writes the file. `None`, with a line on stderr, if something for it is not on this machine.
fn command(traced: &Traced, output: &Path) -> Result<Option<Command>, String> {
    let recorders = process::root().join("recorders");
    let programs = process::root().join("benches/traced");
    let mut command = match traced.source {
        Source::Sample(name) => {
            let mut command = Command::new(process::vm()?);
            let sample = process::root().join("lang-samples").join(name).with_extension("lang");
            command.arg("trace").arg(sample).arg("-o").arg(output).arg("--");
            command
        }
        Source::Python(script) => {
            let Some(python) = process::peer("python3") else { return Ok(None) };
            let mut command = Command::new(python);
            command.env("PYTHONHASHSEED", "0").arg(recorders.join("record.py")).arg("-o").arg(output).arg(programs.join(script));
            command
        }
        Source::C(file) => {
            let Some(compiler) = process::peer("cc") else { return Ok(None) };
            let program = output.with_extension("program");
            let mut build = Command::new(compiler);
            build.args(["-O1", "-g", "-finstrument-functions"]).arg(programs.join(file)).arg(recorders.join("record.c"));
            process::run(build.arg("-o").arg(&program).args(["-lpthread", "-ldl"]))?;
            let mut command = Command::new(program);
            command.env("TRACE_FILE", output);
            command
        }
    };
    command.args(traced.args);
    Ok(Some(command))
}

fn describe(traced: &Traced, path: &Path) -> Result<(), String> {
    let trace = traced.load()?;
    let bytes = fs::metadata(path).map_err(|e| e.to_string())?.len();
    let (threads, program) = (trace.threads.len(), &trace.program);
    let (functions, edges, events) = (program.functions.len(), program.edges().len(), trace.events());
    let each = bytes as f64 / events as f64;
    println!("| {} | {} | {events} | {threads} | {functions} | {edges} | {each:.2} |", traced.name, traced.shape);
    Ok(())
}

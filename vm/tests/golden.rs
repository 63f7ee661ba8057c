//! Programs with their expected output, each run by the built `vm` on every tier, with ordinary memory, with a tiny nursery, and with a collection at every allocation.
//!
//! Data: `lang-samples/*.lang` and `vm/tests/lang/*.lang` with `NAME.out` (stdout, exit code 0); `vm/tests/lang/fail/*.lang` with `NAME.err` (each line must occur in stderr in this
//! order; exit code 1, or the one in a first line `exit N`) and optionally `NAME.out`; the ```` ```lang ```` blocks of `docs/language.md` with the ```` ```output ```` blocks behind them.
//! A line `// stress: N` in a program says how often to collect under stress (default 1: every allocation), for programs that allocate much.
//! `BLESS=1` writes missing `.out` files from the reference interpreter's output, for new programs whose output has been checked by other means.

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Program {
    name: String,
    path: PathBuf,
    /// `None`: not compared.
    stdout: Option<String>,
    /// Pieces of stderr in order; empty for programs that must succeed.
    stderr: Vec<String>,
    exit: i32,
    stress: u32,
}

/// Tier and further flags; `N` stands for the program's stress interval.
const MODES: &[(&str, &str, &[&str])] = &[
    ("interp", "interp", &[]),
    ("interp-tiny-nursery", "interp", &["--nursery", "64k"]),
    ("interp-stress", "interp", &["--gc-stress", "N"]),
    #[cfg(feature = "native")]
    ("baseline", "baseline", &[]),
    #[cfg(feature = "native")]
    ("baseline-tiny-nursery", "baseline", &["--nursery", "64k"]),
    #[cfg(feature = "native")]
    ("baseline-stress", "baseline", &["--gc-stress", "N"]),
    #[cfg(feature = "native")]
    ("baseline-osr", "baseline", &["--osr-stress"]),
    #[cfg(feature = "native")]
    ("baseline-osr-stress", "baseline", &["--osr-stress", "--gc-stress", "N"]),
    // A call leaves one loop, where all may be left the first: the innermost of a nest.
    #[cfg(feature = "native")]
    ("baseline-osr-first", "baseline", &["--osr-stress=first"]),
    #[cfg(feature = "native")]
    ("baseline-osr-second", "baseline", &["--osr-stress=second"]),
    #[cfg(feature = "native")]
    ("baseline-osr-third", "baseline", &["--osr-stress=third"]),
    #[cfg(feature = "native")]
    ("baseline-osr-fourth", "baseline", &["--osr-stress=fourth"]),
    #[cfg(feature = "native")]
    ("opt", "opt", &[]),
    #[cfg(feature = "native")]
    ("opt-apart", "opt", &["--inline", "none"]),
    #[cfg(feature = "native")]
    ("opt-tiny-nursery", "opt", &["--nursery", "64k"]),
    #[cfg(feature = "native")]
    ("opt-stress", "opt", &["--gc-stress", "N"]),
    #[cfg(feature = "native")]
    ("adaptive", "adaptive", &[]),
    #[cfg(feature = "native")]
    ("adaptive-stress", "adaptive", &["--gc-stress", "N", "--nursery", "64k"]),
    #[cfg(feature = "native")]
    ("adaptive-forced", "adaptive", &["--adapt-stress", "1"]),
];

fn main() {
    let args = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above the crate");
    let mut programs = Vec::new();
    for folder in ["lang-samples", "vm/tests/lang", "vm/tests/lang/fail"] {
        collect(&root.join(folder), &mut programs);
    }
    reference(&root.join("docs/language.md"), &mut programs);
    let programs: &'static [Program] = programs.leak();
    // What is expected is the interpreter's to say.
    let modes = |p: &Program| {
        let is_known = p.stdout.is_some() || !p.stderr.is_empty();
        MODES.iter().filter(move |mode| is_known || mode.0 == "interp")
    };
    let trial = |p: &'static Program, mode: &'static (&str, &str, &[&str])| {
        Trial::test(format!("{}::{}", p.name, mode.0), move || check(p, mode.1, mode.2))
    };
    let trials = programs.iter().flat_map(|p| modes(p).map(move |mode| trial(p, mode))).collect();
    libtest_mimic::run(&args, trials).exit();
}

fn blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

fn collect(dir: &Path, programs: &mut Vec<Program>) {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("a readable folder").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "lang"));
    paths.sort();
    for path in paths {
        let out = std::fs::read_to_string(path.with_extension("out")).ok();
        let err = std::fs::read_to_string(path.with_extension("err")).ok();
        let text = std::fs::read_to_string(&path).expect("a readable program");
        if out.is_none() && err.is_none() {
            if !text.contains("fun main(") {
                // A part that others import.
                continue;
            }
            assert!(blessing(), "{}: nobody says what the program prints", path.display());
        }
        let mut stderr: Vec<String> = err.iter().flat_map(|e| e.lines()).map(str::to_string).collect();
        let exit = match stderr.first().and_then(|l| l.strip_prefix("exit ")).and_then(|n| n.parse().ok()) {
            Some(code) => {
                stderr.remove(0);
                code
            }
            None => i32::from(err.is_some()),
        };
        let folder = dir.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{folder}/{}", path.file_stem().unwrap_or_default().to_string_lossy());
        programs.push(Program { name, path, stdout: out, stderr, exit, stress: stress_of(&text) });
    }
}

fn stress_of(text: &str) -> u32 {
    text.lines().find_map(|l| l.strip_prefix("// stress: ")).and_then(|n| n.trim().parse().ok()).unwrap_or(1)
}

/// The runnable programs of the language reference, written to a folder of their own.
fn reference(path: &Path, programs: &mut Vec<Program>) {
    let text = std::fs::read_to_string(path).expect("the language reference");
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reference");
    std::fs::create_dir_all(&dir).expect("a folder for the reference's programs");
    let mut blocks = fenced(&text).into_iter().peekable();
    while let Some((line, language, body)) = blocks.next() {
        if language != "lang" {
            continue;
        }
        let stdout = blocks.next_if(|(_, l, _)| l == "output").map(|(_, _, body)| body);
        assert!(stdout.is_some(), "docs/language.md:{line}: a program without an output block");
        let path = dir.join(format!("line{line}.lang"));
        std::fs::write(&path, &body).expect("a writable folder");
        programs.push(Program {
            name: format!("reference/line{line}"),
            path,
            stdout,
            stderr: Vec::new(),
            exit: 0,
            stress: stress_of(&body),
        });
    }
}

/// First line, language and body of each fenced block.
fn fenced(text: &str) -> Vec<(usize, String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (i, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) if !language.contains('`') => open = Some((i + 1, language.to_string(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, _, body)), None) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

fn run(program: &Program, tier: &str, flags: &[&str]) -> Output {
    let stress = program.stress.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_vm"));
    command.arg("run").arg("--tier").arg(tier).arg("--verify");
    command.args(flags.iter().map(|f| if *f == "N" { stress.as_str() } else { f }));
    command.arg(&program.path).stdin(Stdio::null()).output().expect("the vm binary starts")
}

fn check(program: &Program, tier: &str, flags: &[&str]) -> Result<(), Failed> {
    let output = run(program, tier, flags);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() != Some(program.exit) {
        return Err(format!("ended with {}, expected exit code {}\n{stderr}", output.status, program.exit).into());
    }
    match &program.stdout {
        Some(expected) if *expected != stdout => return Err(format!("stdout differs\n{}{stderr}", difference(expected, &stdout)).into()),
        None if blessing() && program.stderr.is_empty() => std::fs::write(program.path.with_extension("out"), stdout.as_bytes())?,
        _ => {}
    }
    if program.stderr.is_empty() && !stderr.is_empty() {
        return Err(format!("unexpected stderr:\n{stderr}").into());
    }
    let mut rest: &str = &stderr;
    for piece in &program.stderr {
        match rest.find(piece.as_str()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return Err(format!("stderr lacks (in this order) {piece:?}:\n{stderr}").into()),
        }
    }
    Ok(())
}

/// The first line in which two texts differ.
fn difference(expected: &str, actual: &str) -> String {
    let (mut e, mut a) = (expected.lines(), actual.lines());
    for line in 1.. {
        match (e.next(), a.next()) {
            (None, None) => break,
            (x, y) if x == y => {}
            (x, y) => return format!("line {line}: expected {x:?}\n{:10}     got {y:?}\n", ""),
        }
    }
    "they differ in the last line's end\n".into()
}

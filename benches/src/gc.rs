//! Time spent in collections, ours against Java's SerialGC with the same heap limit (both from their own logs), everything else at its default, and our resident memory under `--heap 64m`.

use crate::peers::twins::{Scratch, compile_java};
use crate::{process, stats};
use std::path::Path;
use std::process::Command;

struct Case {
    sample: &'static str,
    peer: &'static str,
    args: &'static [&'static str],
    heap: &'static str,
}

const CASES: &[Case] = &[
    Case { sample: "binary_trees", peer: "BinaryTrees", args: &["18"], heap: "256m" },
    Case { sample: "mutate_objects", peer: "MutateObjects", args: &["1000000", "10000000"], heap: "256m" },
];

pub fn run(runs: usize) -> Result<(), String> {
    let java = process::peer("java").zip(process::peer("javac"));
    let classes = match &java {
        Some((_, javac)) => Some(compile_peers(javac)?),
        None => None,
    };
    println!("| program | heap | ours: collection ms | SerialGC: collection ms | ours / SerialGC |");
    println!("|---|---|---|---|---|");
    for case in CASES {
        let (mut ours, mut theirs, mut ratios) = (vec![], vec![], vec![]);
        for _ in 0..runs.max(1) {
            let mine = run_ours(case)?;
            ours.push(mine.pauses);
            if let (Some((java, _)), Some(classes)) = (&java, &classes) {
                let peer = run_java(java, classes.path(), case)?;
                if peer.output != mine.output {
                    return Err(format!("{}: the twins disagree:\n{}{}", case.sample, mine.output, peer.output));
                }
                theirs.push(peer.pauses);
                ratios.push(mine.pauses / peer.pauses);
            }
        }
        print!("| {} {} | {} | {:.0} ", case.sample, case.args.join(" "), case.heap, stats::spread(ours));
        match theirs.is_empty() {
            true => println!("| – | – |"),
            false => println!("| {:.0} | {:.2} |", stats::spread(theirs), stats::spread(ratios)),
        }
    }
    memory()
}

fn compile_peers(javac: &Path) -> Result<Scratch, String> {
    let classes = Scratch::new()?;
    compile_java(javac, &CASES.iter().map(|c| c.peer).collect::<Vec<_>>(), classes.path())?;
    Ok(classes)
}

struct Collected {
    /// Milliseconds in collections.
    pauses: f64,
    output: String,
}

impl Collected {
    fn new(run: process::Run) -> Self {
        Collected { pauses: pauses(&run.stderr), output: run.stdout }
    }
}

fn run_ours(case: &Case) -> Result<Collected, String> {
    let sample = process::root().join(format!("lang-samples/{}.lang", case.sample));
    process::run(
        Command::new(process::vm()?)
            .args(["run", "--tier", "baseline", "--gc-log", "--heap", case.heap])
            .arg(sample)
            .arg("--")
            .args(case.args),
    )
    .map(Collected::new)
}

fn run_java(java: &Path, classes: &Path, case: &Case) -> Result<Collected, String> {
    let flags = ["-XX:+UseSerialGC".to_string(), format!("-Xmx{}", case.heap), "-Xlog:gc:stderr".into()];
    process::run(Command::new(java).args(flags).arg("-cp").arg(classes).arg(case.peer).args(case.args)).map(Collected::new)
}

/// Sum of the `… 1.234ms` that end the log lines of pauses; both logs have them.
fn pauses(log: &str) -> f64 {
    log.lines()
        .filter(|l| l.contains("Pause"))
        .filter_map(|l| l.trim_end().strip_suffix("ms")?.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

fn memory() -> Result<(), String> {
    println!("\n| program | limit | resident MiB, whole process |");
    println!("|---|---|---|");
    let hello = process::root().join("lang-samples/hello.lang");
    let rest = process::run(Command::new(process::vm()?).args(["run", "--tier", "baseline"]).arg(hello))?.max_rss_kib as f64 / 1024.0;
    println!("| hello | – | {rest:.1} |");
    for (sample, args) in [("binary_trees", ["16"].as_slice()), ("splay", &["8000", "200000"])] {
        let path = process::root().join(format!("lang-samples/{sample}.lang"));
        let run =
            process::run(Command::new(process::vm()?).args(["run", "--tier", "baseline", "--heap", "64m"]).arg(path).arg("--").args(args))?;
        println!("| {sample} {} | --heap 64m | {:.1} |", args.join(" "), run.max_rss_kib as f64 / 1024.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::pauses;

    #[test]
    fn sums_pause_lines_only() {
        let log = "[0.1s][info][gc] Using Serial\n[0.2s][info][gc] GC(0) Pause Young (Allocation Failure) 16M->2M(61M) 1.500ms\n[0.3s][info][gc] GC(1) Pause Full 3M->1M(61M) 2.250ms\n";
        assert_eq!(pauses(log), 3.75);
    }
}

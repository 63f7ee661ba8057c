//! The benchmark set: samples and the sizes at which they run long enough to be measured.

use crate::process;
use std::path::PathBuf;
use std::process::Command;

pub struct Benchmark {
    pub name: &'static str,
    /// Arguments for a run of half a second to a second on the baseline tier.
    pub args: &'static [&'static str],
}

pub const SUITE: &[Benchmark] = &[
    Benchmark { name: "richards", args: &["700", "10000"] },
    Benchmark { name: "deltablue", args: &["10000", "30"] },
    Benchmark { name: "splay", args: &["8000", "200000"] },
    Benchmark { name: "raytrace", args: &["2500"] },
    Benchmark { name: "nbody", args: &["6000000"] },
    Benchmark { name: "fannkuch", args: &["10"] },
    Benchmark { name: "spectral_norm", args: &["2000"] },
    Benchmark { name: "mandelbrot", args: &["3000"] },
    Benchmark { name: "binary_trees", args: &["18"] },
    Benchmark { name: "word_count", args: &["5000000"] },
    Benchmark { name: "matrix_multiply", args: &["500"] },
    Benchmark { name: "merge_sort", args: &["400000"] },
    Benchmark { name: "bytecode_interpreter", args: &["200000"] },
    Benchmark { name: "expression_tree", args: &["1000000"] },
    Benchmark { name: "event_simulation", args: &["3000000", "3"] },
    Benchmark { name: "recursive_descent", args: &["300000"] },
    Benchmark { name: "work_queue", args: &["300000", "4"] },
];

impl Benchmark {
    pub fn path(&self) -> PathBuf {
        process::root().join("lang-samples").join(format!("{}.lang", self.name))
    }

    /// `vm run FLAGS… sample -- args`
    pub fn command(&self, flags: &[&str]) -> Result<Command, String> {
        let mut command = self.command_at_default_size(flags)?;
        command.arg("--").args(self.args);
        Ok(command)
    }

    /// `vm run FLAGS… sample`: a few milliseconds of work.
    pub fn command_at_default_size(&self, flags: &[&str]) -> Result<Command, String> {
        let mut command = Command::new(process::vm()?);
        command.arg("run").args(flags).arg(self.path());
        Ok(command)
    }
}

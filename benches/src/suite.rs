//! The benchmark set: samples and the sizes at which they run long enough to be measured.

use crate::process;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

pub struct Benchmark {
    pub name: &'static str,
    /// Arguments for a run of half a second to a second on the baseline tier.
    pub args: Vec<&'static str>,
}

/// Those of `lang-samples/benchmarks.txt`.
pub static SUITE: LazyLock<Vec<Benchmark>> = LazyLock::new(|| {
    let lines = include_str!("../../lang-samples/benchmarks.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(benchmark).collect()
});

/// Those of the set that are named, or all if none is.
pub fn chosen(only: &[String]) -> Result<Vec<&'static Benchmark>, String> {
    if let Some(name) = only.iter().find(|name| !SUITE.iter().any(|b| b.name == name.as_str())) {
        let names: Vec<&str> = SUITE.iter().map(|b| b.name).collect();
        return Err(format!("no sample {name:?}; there are {}", names.join(", ")));
    }
    Ok(SUITE.iter().filter(|b| only.is_empty() || only.iter().any(|name| name == b.name)).collect())
}

fn benchmark(line: &'static str) -> Option<Benchmark> {
    let (file, args) = line.split_once(' ')?;
    Some(Benchmark { name: file.strip_suffix(".lang")?, args: args.split_whitespace().collect() })
}

impl Benchmark {
    pub fn path(&self) -> PathBuf {
        process::root().join("lang-samples").join(format!("{}.lang", self.name))
    }

    /// `vm run FLAGS… sample -- args`
    pub fn command(&self, flags: &[&str]) -> Result<Command, String> {
        let mut command = self.command_at_default_size(flags)?;
        command.arg("--").args(&self.args);
        Ok(command)
    }

    /// `vm run FLAGS… sample`: a few milliseconds of work.
    pub fn command_at_default_size(&self, flags: &[&str]) -> Result<Command, String> {
        let mut command = Command::new(process::vm()?);
        command.arg("run").args(flags).arg(self.path());
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_sample_with_arguments() {
        assert_eq!(SUITE.iter().filter(|b| b.path().exists() && !b.args.is_empty()).count(), SUITE.len());
        let lines = include_str!("../../lang-samples/benchmarks.txt").lines().filter(|line| line.contains(".lang "));
        assert_eq!((lines.count(), SUITE[0].name, SUITE[0].args.as_slice()), (SUITE.len(), "richards", &["700", "10000"][..]));
    }
}

//! The twins in `benches/peers/`: compiled into a temporary folder, which goes away with the value, and the commands that run them.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Java,
    Cpp,
    Node,
}

impl Language {
    pub fn name(self) -> &'static str {
        match self {
            Language::Java => "Java",
            Language::Cpp => "C++",
            Language::Node => "node",
        }
    }
}

/// Twins in C++ and JavaScript have the sample's name; classes have names of their own.
const JAVA_CLASSES: &[(&str, &str)] = &[
    ("richards", "Richards"),
    ("deltablue", "DeltaBlue"),
    ("splay", "Splay"),
    ("raytrace", "RayTrace"),
    ("nbody", "NBody"),
    ("fannkuch", "Fannkuch"),
    ("spectral_norm", "SpectralNorm"),
    ("mandelbrot", "Mandelbrot"),
    ("binary_trees", "BinaryTrees"),
    ("word_count", "WordCount"),
    ("matrix_multiply", "MatrixMultiply"),
    ("merge_sort", "MergeSort"),
    ("bytecode_interpreter", "BytecodeInterpreter"),
    ("expression_tree", "ExpressionTree"),
    ("event_simulation", "EventSimulation"),
    ("recursive_descent", "RecursiveDescent"),
    ("work_queue", "WorkQueue"),
];

/// `-ffp-contract=off`: no fused multiply-add where the sample rounds twice, or results would differ between machines.
const CPP_FLAGS: &[&str] = &["-std=c++20", "-O2", "-ffp-contract=off", "-pthread"];

pub fn java_class(sample: &str) -> Option<&'static str> {
    JAVA_CLASSES.iter().find(|(name, _)| *name == sample).map(|(_, class)| *class)
}

pub fn source(file: &str) -> PathBuf {
    process::root().join("benches/peers").join(file)
}

/// A new folder, removed with all that is in it in the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Result<Scratch, String> {
        let path = std::env::temp_dir().join(format!("vm-peers-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in a folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles classes of `benches/peers/`, and what they share.
pub fn compile_java(javac: &Path, classes: &[&str], out: &Path) -> Result<(), String> {
    let sources = ["Bench", "Xoshiro"].iter().chain(classes).map(|class| source(&format!("{class}.java")));
    process::run(Command::new(javac).arg("-d").arg(out).args(sources)).map(drop)
}

pub struct Twins {
    scratch: Scratch,
    java: Option<PathBuf>,
    cpp: Option<PathBuf>,
    node: Option<PathBuf>,
}

impl Twins {
    /// Those of the given samples, in the languages found on this machine.
    pub fn build(samples: impl Iterator<Item = &'static str> + Clone) -> Result<Twins, String> {
        let scratch = Scratch::new()?;
        let java = match process::peer("java").zip(process::peer("javac")) {
            Some((java, javac)) => {
                let classes: Vec<&str> = samples.clone().filter_map(java_class).collect();
                compile_java(&javac, &classes, scratch.path())?;
                Some(java)
            }
            None => None,
        };
        let cpp = process::peer("c++");
        if let Some(compiler) = &cpp {
            for sample in samples {
                let program = scratch.path().join(sample);
                process::run(Command::new(compiler).args(CPP_FLAGS).arg("-o").arg(program).arg(source(&format!("{sample}.cpp"))))?;
            }
        }
        Ok(Twins { scratch, java, cpp, node: process::peer("node") })
    }

    fn tool(&self, language: Language) -> Option<&Path> {
        match language {
            Language::Java => self.java.as_deref(),
            Language::Cpp => self.cpp.as_deref(),
            Language::Node => self.node.as_deref(),
        }
    }

    pub fn languages(&self) -> Vec<Language> {
        [Language::Java, Language::Cpp, Language::Node].into_iter().filter(|l| self.tool(*l).is_some()).collect()
    }

    pub fn has(&self, language: Language, sample: &str) -> bool {
        match language {
            Language::Java => java_class(sample).is_some(),
            Language::Cpp => true,
            Language::Node => source(&format!("{sample}.js")).exists(),
        }
    }

    /// Runs a twin of a language that is on this machine; arguments are still to be added.
    pub fn command(&self, language: Language, sample: &str) -> Command {
        let tool = self.tool(language).expect("the language is on this machine");
        let folder = self.scratch.path();
        match language {
            Language::Java => {
                let mut command = Command::new(tool);
                command.arg("-cp").arg(folder).arg(java_class(sample).expect("the sample has a twin"));
                command
            }
            Language::Cpp => Command::new(folder.join(sample)),
            Language::Node => {
                let mut command = Command::new(tool);
                command.arg(source(&format!("{sample}.js")));
                command
            }
        }
    }

    /// The first line of what the tool says about itself, for C++ with the flags used.
    pub fn version(&self, language: Language) -> String {
        let tool = self.tool(language).expect("the language is on this machine");
        let output = process::run(Command::new(tool).arg("--version"));
        let line = output.ok().and_then(|run| Some(run.stdout.lines().next()?.to_string())).unwrap_or_else(|| "of unknown version".into());
        if language == Language::Cpp { format!("{line}, {}", CPP_FLAGS.join(" ")) } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::SUITE;

    #[test]
    fn every_benchmark_has_its_twins() {
        for benchmark in SUITE.iter() {
            let class = java_class(benchmark.name).unwrap_or_else(|| panic!("{} has no class", benchmark.name));
            for file in [format!("{class}.java"), format!("{}.cpp", benchmark.name)] {
                assert!(source(&file).exists(), "{file}");
            }
        }
    }

    #[test]
    fn twins_stand_for_programs_of_the_suite() {
        for (sample, _) in JAVA_CLASSES {
            assert!(SUITE.iter().any(|b| b.name == *sample), "{sample}");
        }
    }
}

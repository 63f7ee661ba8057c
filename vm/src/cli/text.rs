//! Text to the standard streams, which may be closed, full, or no terminal.

use crate::diag::Diagnostics;
use crate::source::SourceMap;
pub use profiler::words::counted;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

/// What a shell shows for a process that SIGPIPE ended: a reader that went away is no error worth a word.
const CLOSED: u8 = 141;

/// Writes to stdout. Gives the exit code.
pub fn print(text: &str) -> u8 {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => 0,
        Err(e) if e.kind() == ErrorKind::BrokenPipe => CLOSED,
        Err(e) => fail(format!("cannot write to the standard output: {e}")),
    }
}

/// Writes to stderr; where that fails there is nobody to tell.
pub fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Says on stderr what is wrong. Gives the exit code.
pub fn fail(error: impl std::fmt::Display) -> u8 {
    complain(&format!("error: {error}\n"));
    super::FAILURE
}

/// What can be seen now of why a file could not be written later.
pub fn check_folder(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("cannot write {}: it is a folder", path.display()));
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(format!("cannot write {}: there is no folder {}", path.display(), folder.display()))
        }
        _ => Ok(()),
    }
}

/// What is written takes the place of no source of the program.
pub fn check_sources<'a>(outputs: impl IntoIterator<Item = &'a Path>, map: &SourceMap) -> Result<(), String> {
    let is_source = |path: &&Path| map.files().any(|(_, file)| is_same(path, &file.path));
    let source = outputs.into_iter().find(is_source);
    source
        .map_or(Ok(()), |path| Err(format!("{} is a source of the program, which would be replaced: choose another file", path.display())))
}

/// No two of these are one file, which would be written twice, or before it is read: files with the flags that name them. Devices are any number of files.
pub fn check_apart<const N: usize>(files: [(&str, Option<&Path>); N]) -> Result<(), String> {
    let named: Vec<(&str, &Path)> =
        files.iter().filter_map(|&(flag, path)| Some((flag, path?))).filter(|(_, path)| path.is_file() || !path.exists()).collect();
    for (at, (flag, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..at].iter().find(|(_, other)| is_same(other, path)) {
            return Err(format!("{other} and {flag} name one file, {}: choose another for one of them", path.display()));
        }
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether both are one file, be it there or not.
fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok().or_else(|| Some(folder(path).canonicalize().ok()?.join(path.file_name()?)));
    real(a).is_some_and(|a| real(b) == Some(a))
}

/// Prints errors of the front end to stderr, coloured on a terminal unless `NO_COLOR` is set.
pub fn show(errors: &Diagnostics, map: &SourceMap) {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    complain(&errors.render(map, colour));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_whatever_they_are_called() {
        let folder = std::env::temp_dir().join(format!("vm-apart-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        let apart = |a: &Path, b: &Path| check_apart([("--a", Some(a)), ("--none", None), ("--b", Some(b))]).is_ok();
        let file = folder.join("file");
        for is_there in [false, true] {
            assert!(!apart(&file, &folder.join("sub/../file")), "{is_there}");
            assert!(apart(&file, &folder.join("other")) && apart(&file, &folder.join("sub/file")), "{is_there}");
            std::fs::write(&file, "").unwrap();
        }
        assert!(apart(Path::new("/dev/null"), Path::new("/dev/null")));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

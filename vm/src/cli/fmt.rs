//! `vm fmt FILE… [--check]`: formats files in place. A file that does not parse is reported and left as it is.

use super::text;
use crate::source::{Origin, SourceMap};
use crate::syntax;
use std::io::Write;
use std::path::{Path, PathBuf};

enum Outcome {
    Unchanged,
    Changed,
    Failed,
}

/// With `check`: 1 if a file would change. 2 if a file could not be read, parsed or written.
pub fn run(files: &[PathBuf], check: bool) -> u8 {
    let mut code = 0;
    for path in files {
        match format(path, check) {
            Outcome::Unchanged => {}
            Outcome::Changed if check => {
                text::print(&format!("{}\n", path.display()));
                code = code.max(1);
            }
            Outcome::Changed => {}
            Outcome::Failed => code = super::FAILURE,
        }
    }
    code
}

fn format(path: &Path, check: bool) -> Outcome {
    let failed = |what: &str, cause: &dyn std::fmt::Display| {
        text::complain(&format!("error: cannot {what} {}: {cause}\n", path.display()));
        Outcome::Failed
    };
    let source = match std::fs::read(path).map_err(|e| e.to_string()).and_then(|b| String::from_utf8(b).map_err(|e| e.to_string())) {
        Ok(source) => source,
        Err(e) => return failed("read", &e),
    };
    let mut map = SourceMap::new();
    let Ok(file) = map.add(path.to_path_buf(), source, Origin::User) else { return failed("read", &"the file is too large") };
    let formatted = match syntax::format(&map, file) {
        Ok(formatted) => formatted,
        Err(errors) => {
            text::show(&errors, &map);
            return Outcome::Failed;
        }
    };
    if formatted == map.file(file).text {
        return Outcome::Unchanged;
    }
    if !check && let Err(e) = replace(path, &formatted) {
        return failed("write", &e);
    }
    Outcome::Changed
}

/// Writes beside the file and renames, so that a full disk loses nothing.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target = std::fs::canonicalize(path)?;
    let temporary = target.with_extension(format!("lang.{}.tmp", std::process::id()));
    let write = || {
        let mut file = std::fs::File::create_new(&temporary)?;
        file.set_permissions(std::fs::metadata(&target)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, &target)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}

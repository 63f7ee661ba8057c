//! Folders for files that a command needs while it runs: they go away with their values, and if SIGINT ends the command.
//!
//! In: what they are for. Out: folders in the system's one for temporary files. Invariant: what exists is listed, so that it is removed once, by whoever comes first. Other processes write files there, not beside it: none is left by one that ends later.

use crate::runtime::interrupt::{self, Signal};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that belongs to this value.
pub struct Temporary(PathBuf);

impl Temporary {
    pub fn new(name: &str) -> Result<Temporary, String> {
        let path = std::env::temp_dir().join(format!("vm-{}-{name}", std::process::id()));
        let mut paths = paths();
        std::fs::create_dir_all(&path).map_err(|error| format!("cannot make the folder {}: {error}", path.display()))?;
        paths.push(path.clone());
        Ok(Temporary(path))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut paths = paths();
        paths.retain(|path| *path != self.0);
        remove(&self.0);
    }
}

/// What is left in a folder for temporary files does no harm.
fn remove(folder: &Path) {
    _ = std::fs::remove_dir_all(folder);
}

/// From now on signals end this process, which runs others: nothing is left of what it needed for them. (Those that a terminal interrupts get the signal themselves.)
pub fn end_when_interrupted() {
    interrupt::listen(|signal| end(signal));
}

/// Ends this process as a signal does.
pub fn end(signal: Signal) -> ! {
    // Held to the end: whoever else comes here waits for that, and what others would make now would stay.
    let paths = paths();
    paths.iter().for_each(|path| remove(path));
    super::text::complain(signal.says());
    std::process::exit(signal.code().into())
}

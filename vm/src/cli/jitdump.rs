//! `--jitdump`: all machine code of a run with its names and lines, in the form that `perf inject --jit` makes files of symbols from.
//!
//! In: each piece of code at the time it is made ([`Listener`]). Out: `jit-PID.dump`, as tools/perf/Documentation/jitdump-specification.txt of the Linux kernel describes it: a header, then for each piece where its instructions come
//! from (if anywhere) and the piece itself with its bytes, and at the end that there will be no more. All numbers are little-endian; times are of the monotonic clock (`perf record -k mono`), so that code which lies where other code has been
//! is told from it.
//!
//! perf knows the file by its name, and learns of it because the program maps it as if it were to be executed. Invariants: what is written ends with a whole record, even where the next one found no room; a file that cannot be written
//! any more is told of on stderr, once, and harms nothing else.

use super::{perf_map, text};
use crate::runtime::Symbols;
use jit::native::{Listener, NewCode, Position};
use measure::clock::monotonic;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, MutexGuard};

/// "JiTD": a reader sees from it how numbers are written.
const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
/// x86-64, among the machines of ELF.
const MACHINE: u32 = 62;

/// What a record is of.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Kind {
    Load = 0,
    DebugInfo = 2,
    Close = 3,
}

/// A dump that is being written.
pub struct JitDump {
    path: PathBuf,
    symbols: Arc<dyn Symbols>,
    state: Mutex<State>,
    _mark: Mark,
}

struct State {
    /// `None` once it is complete, or could not be written.
    file: Option<File>,
    /// Bytes in it.
    len: u64,
    /// Pieces of code in it.
    pieces: u64,
}

impl std::fmt::Debug for JitDump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JitDump").field("path", &self.path).finish_non_exhaustive()
    }
}

impl JitDump {
    /// Begins this process's dump in a folder; one of that name is replaced.
    ///
    /// # Errors
    /// The file cannot be written, or not mapped.
    pub fn create(folder: &Path, symbols: Arc<dyn Symbols>) -> Result<JitDump, String> {
        let path = folder.join(format!("jit-{}.dump", std::process::id()));
        let header = header();
        let begun = perf_map::create(&path).and_then(|mut file| file.write_all(&header).map(|()| file));
        let file = begun
            .map_err(|error| format!("cannot write {}: {error}\nhint: --jitdump takes a folder that can be written to", path.display()))?;
        let mark = Mark::new(&file).map_err(|error| {
            _ = fs::remove_file(&path);
            format!("cannot map {} as code, by which perf finds it: {error}\nhint: files in the folder must not be barred from execution (mount option noexec)", path.display())
        })?;
        let state = Mutex::new(State { file: Some(file), len: header.len() as u64, pieces: 0 });
        Ok(JitDump { path, symbols, state, _mark: mark })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds records, whole or not at all.
    fn write(&self, state: &mut State, records: &[u8]) {
        let Some(mut file) = state.file.as_ref() else { return };
        let Err(error) = file.write_all(records) else {
            state.len += records.len() as u64;
            return;
        };
        // Half a record would be taken for one; where this fails, too, the reader has to notice.
        _ = file.set_len(state.len);
        state.file = None;
        let path = self.path.display();
        text::complain(&format!("warning: cannot write {path}: {error}; it holds the first {} pieces of code\n", state.pieces));
    }

    /// Lines of a piece's code: nothing where it has none.
    fn debug_info(&self, code: &NewCode<'_>) -> Vec<u8> {
        let mut entries = Vec::new();
        let mut count = 0u64;
        for &Position { offset, loc, .. } in code.positions {
            let Some(at) = self.symbols.position(loc) else { continue };
            count += 1;
            entries.extend((code.address + u64::from(offset)).to_le_bytes());
            entries.extend(at.line.to_le_bytes());
            entries.extend(at.col.to_le_bytes());
            text_into(&mut entries, &at.path);
        }
        if count == 0 {
            return Vec::new();
        }
        record(Kind::DebugInfo, &[&code.address.to_le_bytes(), &count.to_le_bytes(), &entries])
    }
}

impl Listener for JitDump {
    fn compiled(&self, code: &NewCode<'_>) {
        let lines = self.debug_info(code);
        let mut state = self.state();
        let load = load(code, state.pieces);
        self.write(&mut state, &[lines, load].concat());
        state.pieces += 1;
    }

    fn ended(&self) {
        let mut state = self.state();
        self.write(&mut state, &record(Kind::Close, &[]));
        state.file = None;
    }
}

fn header() -> Vec<u8> {
    const LEN: u32 = 40;
    let mut header = Vec::new();
    // Behind the machine a word that is not used.
    [MAGIC, VERSION, LEN, MACHINE, 0, std::process::id()].iter().for_each(|word| header.extend(word.to_le_bytes()));
    let flags = 0u64;
    [now(), flags].iter().for_each(|word| header.extend(word.to_le_bytes()));
    header
}

/// A record of now.
fn record(kind: Kind, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let len = 16 + body.len() as u32;
    [&(kind as u32).to_le_bytes()[..], &len.to_le_bytes(), &now().to_le_bytes(), &body].concat()
}

/// `number`: no two pieces have the same.
fn load(code: &NewCode<'_>, number: u64) -> Vec<u8> {
    // SAFETY: takes and keeps nothing.
    let thread = unsafe { libc::gettid() } as u32;
    let mut body = Vec::new();
    [std::process::id(), thread].iter().for_each(|id| body.extend(id.to_le_bytes()));
    // Where it runs; where it lies, which is the same; its length.
    [code.address, code.address, code.bytes.len() as u64, number].iter().for_each(|word| body.extend(word.to_le_bytes()));
    text_into(&mut body, &perf_map::shown(code.name));
    record(Kind::Load, &[&body, code.bytes])
}

/// Ends with a zero, and has none inside.
fn text_into(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
    out.push(0);
}

/// In nanoseconds.
fn now() -> u64 {
    monotonic().expect("every Linux has the clock")
}

/// The file's first page mapped executable, which nobody executes: perf notes such mappings, those that it meets when it is attached to a running program, too.
struct Mark(NonNull<libc::c_void>);

// SAFETY: an address that is only unmapped.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    /// Of any length: a mapping covers all of its first page.
    const LEN: usize = 1;

    fn new(file: &File) -> io::Result<Mark> {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: a fresh mapping at an address of the system's choice, which nobody reads.
        let start = unsafe { libc::mmap(null_mut(), Self::LEN, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        match NonNull::new(start) {
            Some(start) if start.as_ptr() != libc::MAP_FAILED => Ok(Mark(start)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.0.as_ptr(), Self::LEN) };
    }
}

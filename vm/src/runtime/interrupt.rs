//! SIGINT: ends the program with its output written and exit code 130, or does what else a command wants to be done.
//!
//! The handler only writes a byte to a pipe; a thread that reads it does the rest, as ordinary code. A second SIGINT ends the process at once. Where SIGINT is ignored already (a background job of a shell script), it stays so.
//! Handlers belong to the process: the two statics here are the runtime's only global state.

use super::program::{End, ExitStatus, Runtime};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The exit code of what SIGINT has ended.
pub const CODE: u8 = 130;

/// A program that SIGINT ends.
pub fn watch(runtime: &Arc<Runtime>) {
    const PATIENCE: Duration = Duration::from_millis(500);
    let runtime = Arc::downgrade(runtime);
    listen(move || {
        let Some(runtime) = runtime.upgrade() else { return };
        let (output, errors) = (runtime.clone(), runtime.clone());
        within(PATIENCE, move || _ = output.writers.close());
        within(PATIENCE, move || errors.writers.error_now("interrupted\n"));
        runtime.end_with(ExitStatus { code: CODE, end: End::Interrupted });
    });
}

/// Does what may be stuck in a write that nobody reads, or wait for one: goes on after that time in any case.
fn within(time: Duration, write: impl FnOnce() + Send + 'static) {
    let (done, told) = channel();
    let work = move || {
        write();
        _ = done.send(());
    };
    if std::thread::Builder::new().name("interrupted".into()).spawn(work).is_ok() {
        _ = told.recv_timeout(time);
    }
}

#[cfg(not(unix))]
pub fn listen(_: impl FnOnce() + Send + 'static) {}

/// From now on SIGINT does this, and not what it did before.
#[cfg(unix)]
pub fn listen(interrupted: impl FnOnce() + Send + 'static) {
    use std::io::Read;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::*};

    static PIPE: AtomicI32 = AtomicI32::new(-1);
    static SEEN: AtomicBool = AtomicBool::new(false);

    extern "C" fn handler(_signal: i32) {
        if SEEN.swap(true, SeqCst) {
            // SAFETY: ends the process without running anything else.
            unsafe { libc::_exit(i32::from(CODE)) }
        }
        // SAFETY: a write to a pipe is async-signal-safe; the byte is valid for the call.
        unsafe { libc::write(PIPE.load(SeqCst), [0u8].as_ptr().cast(), 1) };
    }

    let Ok((mut reader, writer)) = std::io::pipe() else { return };
    PIPE.store(std::os::fd::IntoRawFd::into_raw_fd(writer), SeqCst);
    let body = move || {
        if matches!(reader.read(&mut [0]), Ok(1)) {
            interrupted();
        }
    };
    // Without the thread the default action is better than a handler that does nothing.
    if std::thread::Builder::new().name("interrupt".into()).stack_size(64 << 10).spawn(body).is_err() {
        return;
    }
    // SAFETY: the actions are initialized before use, and the handler only does what a handler may.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGINT, std::ptr::null(), &mut old) != 0 || old.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler as extern "C" fn(i32) as usize;
        new.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&mut new.sa_mask);
        libc::sigaction(libc::SIGINT, &new, std::ptr::null_mut());
    }
}

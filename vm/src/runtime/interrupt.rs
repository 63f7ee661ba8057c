//! SIGINT: ends the program with its output written and exit code 130.
//!
//! The handler only writes a byte to a pipe; a thread that reads it does the rest, as ordinary code. A second SIGINT ends the process at once. Where SIGINT is ignored already (a background job of a shell script), it stays so.
//! Handlers belong to the process: the two statics here are the runtime's only global state.

use super::program::{End, ExitStatus, Runtime};
use std::sync::Arc;

const INTERRUPTED: ExitStatus = ExitStatus { code: 130, end: End::Interrupted };

#[cfg(unix)]
pub fn watch(runtime: &Arc<Runtime>) {
    use std::io::Read;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::*};
    use std::time::Duration;

    static PIPE: AtomicI32 = AtomicI32::new(-1);
    static SEEN: AtomicBool = AtomicBool::new(false);

    extern "C" fn handler(_signal: i32) {
        if SEEN.swap(true, SeqCst) {
            // SAFETY: ends the process without running anything else.
            unsafe { libc::_exit(i32::from(INTERRUPTED.code)) }
        }
        // SAFETY: a write to a pipe is async-signal-safe; the byte is valid for the call.
        unsafe { libc::write(PIPE.load(SeqCst), [0u8].as_ptr().cast(), 1) };
    }

    let Ok((mut reader, writer)) = std::io::pipe() else { return };
    PIPE.store(std::os::fd::IntoRawFd::into_raw_fd(writer), SeqCst);
    let runtime = Arc::downgrade(runtime);
    let body = move || {
        if !matches!(reader.read(&mut [0]), Ok(1)) {
            return;
        }
        let Some(runtime) = runtime.upgrade() else { return };
        // Whoever holds the output may be stuck in a write nobody reads.
        runtime.writers.close_within(Duration::from_millis(500));
        runtime.writers.error_now("interrupted\n");
        runtime.end_with(INTERRUPTED);
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

#[cfg(not(unix))]
pub fn watch(_runtime: &Arc<Runtime>) {}

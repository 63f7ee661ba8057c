//! SIGINT: ends the program with its output written and exit code 130.
//!
//! No handler: the signal is blocked in all threads (they inherit the mask), and one thread waits for it, so the reaction is ordinary code. A second SIGINT ends the process at once.

use super::program::{End, ExitStatus, Runtime};
use std::sync::Arc;
use std::time::Duration;

const INTERRUPTED: ExitStatus = ExitStatus { code: 130, end: End::Interrupted };

#[cfg(unix)]
pub fn watch(runtime: &Arc<Runtime>) {
    let runtime = Arc::downgrade(runtime);
    // SAFETY: the set is initialized before use; blocking a signal has no precondition.
    let set = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        set
    };
    let wait = move || {
        let mut signal = 0;
        // SAFETY: both arguments are valid for the call.
        while unsafe { libc::sigwait(&set, &mut signal) } != 0 {}
    };
    let body = move || {
        wait();
        let Some(runtime) = runtime.upgrade() else { return };
        let again = std::thread::Builder::new().name("interrupt".into()).stack_size(64 << 10);
        let set = set;
        let second = again.spawn(move || {
            let mut signal = 0;
            // SAFETY: as above.
            while unsafe { libc::sigwait(&set, &mut signal) } != 0 {}
            std::process::exit(i32::from(INTERRUPTED.code));
        });
        drop(second);
        // Whoever holds the output may be stuck in a write nobody reads.
        runtime.writers.close_within(Duration::from_millis(500));
        runtime.writers.error_now("interrupted\n");
        runtime.end_with(INTERRUPTED);
    };
    // Without this thread the signal would be lost: then rather have its default action.
    if std::thread::Builder::new().name("interrupt".into()).stack_size(64 << 10).spawn(body).is_err() {
        // SAFETY: the set was initialized above.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut()) };
    }
}

#[cfg(not(unix))]
pub fn watch(_runtime: &Arc<Runtime>) {}

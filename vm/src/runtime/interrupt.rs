//! SIGINT, SIGTERM and SIGHUP: end the program with its output written and exit code 128 + the signal's number, or do what else a command wants to be done.
//!
//! The handler only writes a byte to a pipe; a thread that reads it does the rest, as ordinary code. A second signal ends the process at once. Where one is ignored already (a background job of a shell script, `nohup`), it stays so.
//! Handlers belong to the process: the two statics here are the runtime's only global state.

use super::program::{End, ExitStatus, Runtime};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The exit code of what SIGINT has ended.
pub const CODE: u8 = 130;

/// What somebody wants the process to end by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    Interrupt,
    Terminate,
    HangUp,
}

impl Signal {
    /// The exit code of what it has ended.
    pub fn code(self) -> u8 {
        match self {
            Signal::Interrupt => CODE,
            Signal::Terminate => 143,
            Signal::HangUp => 129,
        }
    }

    /// What is said to have happened to the program, on a line.
    pub fn says(self) -> &'static str {
        match self {
            Signal::Interrupt => "interrupted\n",
            Signal::Terminate => "terminated\n",
            Signal::HangUp => "hung up\n",
        }
    }

    #[cfg(unix)]
    const ALL: [(i32, Signal); 3] = [(libc::SIGINT, Signal::Interrupt), (libc::SIGTERM, Signal::Terminate), (libc::SIGHUP, Signal::HangUp)];
}

/// A program that these signals end.
pub fn watch(runtime: &Arc<Runtime>) {
    const PATIENCE: Duration = Duration::from_millis(500);
    let runtime = Arc::downgrade(runtime);
    listen(move |signal| {
        let Some(runtime) = runtime.upgrade() else { return };
        let (output, errors) = (runtime.clone(), runtime.clone());
        within(PATIENCE, move || _ = output.writers.close());
        within(PATIENCE, move || errors.writers.error_now(signal.says()));
        runtime.end_with(ExitStatus { code: signal.code(), end: End::Interrupted });
    });
}

/// Does what may be stuck in a write that nobody reads, or wait for one: goes on after that time in any case.
fn within(time: Duration, write: impl FnOnce() + Send + 'static) {
    let (done, told) = channel();
    let work = move || {
        write();
        _ = done.send(());
    };
    if let Ok(thread) = std::thread::Builder::new().name("interrupted".into()).spawn(work) {
        _ = told.recv_timeout(time);
        // It may be stuck, so it is not joined; dropping it would detach it, see `OsThreads`.
        std::mem::forget(thread);
    }
}

#[cfg(not(unix))]
pub fn listen(_: impl FnOnce(Signal) + Send + 'static) {}

/// From now on these signals do this, and not what they did before.
#[cfg(unix)]
pub fn listen(ended: impl FnOnce(Signal) + Send + 'static) {
    use std::io::Read;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::*};

    static PIPE: AtomicI32 = AtomicI32::new(-1);
    static SEEN: AtomicBool = AtomicBool::new(false);

    extern "C" fn handler(signal: i32) {
        if SEEN.swap(true, SeqCst) {
            // SAFETY: ends the process without running anything else.
            unsafe { libc::_exit(128 + signal) }
        }
        // SAFETY: a write to a pipe is async-signal-safe; the byte is valid for the call.
        unsafe { libc::write(PIPE.load(SeqCst), [signal as u8].as_ptr().cast(), 1) };
    }

    let Ok((mut reader, writer)) = std::io::pipe() else { return };
    PIPE.store(std::os::fd::IntoRawFd::into_raw_fd(writer), SeqCst);
    let body = move || {
        let mut byte = [0];
        let came = matches!(reader.read(&mut byte), Ok(1));
        if let Some((_, signal)) = Signal::ALL.into_iter().find(|(number, _)| came && *number == i32::from(byte[0])) {
            ended(signal);
        }
    };
    // Without the thread the default action is better than a handler that does nothing.
    if std::thread::Builder::new().name("interrupt".into()).stack_size(64 << 10).spawn(body).is_err() {
        return;
    }
    Signal::ALL.into_iter().for_each(|(number, _)| handle(number, handler));
}

/// On a stack of its own, where the thread has one: it may be at the end of its other one.
#[cfg(unix)]
fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: the actions are initialized before use, and the handler only does what a handler may.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut old) != 0 || old.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler as usize;
        new.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigemptyset(&mut new.sa_mask);
        libc::sigaction(signal, &new, std::ptr::null_mut());
    }
}

/// A file that grows beyond its limit (`ulimit -f`) is an error of the write, not the process's end.
pub fn ignore_file_limits() {
    // SAFETY: nothing is called.
    #[cfg(unix)]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

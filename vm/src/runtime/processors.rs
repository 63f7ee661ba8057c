//! Time on processors.

use std::time::Duration;

/// What all threads of this process have used so far, in user and in system mode; `None` where the system does not tell.
#[cfg(unix)]
pub fn used() -> Option<Duration> {
    // SAFETY: `rusage` is plain data for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live local.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    (result == 0).then(|| time(usage.ru_utime) + time(usage.ru_stime))
}

#[cfg(not(unix))]
pub fn used() -> Option<Duration> {
    None
}

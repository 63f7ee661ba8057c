//! Time on processors.

use std::time::Duration;

/// What all threads of this process have used so far, in user and in system mode; `None` where the system does not tell.
///
/// By the clock that counts nanoseconds: `getrusage` tells whole microseconds, in which short iterations take no time at all.
#[cfg(unix)]
pub fn used() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(unix))]
pub fn used() -> Option<Duration> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_takes_less_than_a_microsecond_has_taken_time() {
        let readings: Vec<Duration> = (0..100).map(|_| used().unwrap()).collect();
        assert!(readings.iter().any(|used| !used.as_nanos().is_multiple_of(1000)), "{readings:?}");
    }
}

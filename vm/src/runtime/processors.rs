//! Time on processors.

use std::time::Duration;

/// What all threads of this process have used so far, in user and in system mode; `None` where the system does not tell.
///
/// By the clock that counts nanoseconds: `getrusage` tells whole microseconds, in which short iterations take no time at all.
pub fn used() -> Option<Duration> {
    clock::PROCESS.and_then(clock::read)
}

/// What the calling thread has used so far; the same otherwise.
pub fn used_by_thread() -> Option<Duration> {
    clock::THREAD.and_then(clock::read)
}

#[cfg(unix)]
mod clock {
    use std::time::Duration;

    pub const PROCESS: Option<libc::clockid_t> = Some(libc::CLOCK_PROCESS_CPUTIME_ID);
    pub const THREAD: Option<libc::clockid_t> = Some(libc::CLOCK_THREAD_CPUTIME_ID);

    pub fn read(clock: libc::clockid_t) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live local.
        let result = unsafe { libc::clock_gettime(clock, &mut time) };
        (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
}

#[cfg(not(unix))]
mod clock {
    pub const PROCESS: Option<()> = None;
    pub const THREAD: Option<()> = None;

    pub fn read((): ()) -> Option<std::time::Duration> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_takes_less_than_a_microsecond_has_taken_time() {
        let readings: Vec<Duration> = (0..100).map(|_| used().unwrap()).collect();
        assert!(readings.iter().any(|used| !used.as_nanos().is_multiple_of(1000)), "{readings:?}");
    }

    #[test]
    fn other_threads_are_in_the_time_of_the_process_alone() {
        let (process, thread) = (used().unwrap(), used_by_thread().unwrap());
        let worked = std::thread::spawn(|| while used_by_thread().unwrap().as_millis() < 30 {}).join();
        assert!(worked.is_ok() && used().unwrap() - process >= Duration::from_millis(30));
        assert!(used_by_thread().unwrap() - thread < Duration::from_millis(30), "it has waited");
    }
}

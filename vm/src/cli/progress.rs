//! A progress bar on stderr for work that takes long. Where stderr is no terminal there is none.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// How far a file has been read.
pub struct Progress {
    bar: ProgressBar,
    shown_from: Instant,
}

impl Progress {
    /// Of so many bytes. `quiet`: show nothing in any case.
    pub fn new(bytes: u64, quiet: bool) -> Progress {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(bytes), target);
        let style = ProgressStyle::with_template("{wide_bar} {binary_bytes}/{binary_total_bytes}, {eta} left");
        Progress { bar: bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())), shown_from: Instant::now() + PATIENCE }
    }

    pub fn at(&self, bytes: u64) {
        if !self.bar.is_hidden() && Instant::now() >= self.shown_from {
            self.bar.set_position(bytes);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

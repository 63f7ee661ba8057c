//! Child processes that take turns, a slice of time each: what slows the machine for longer than a slice slows all of them alike, as long as all of them run.
//!
//! In: commands. Out: for each what [`counters::run`] gives, and when it was its turn ([`Slices`]). While one child runs, the others are stopped with all their threads, each for the first time as soon as it was started. The time that passes from its start to its end is that of all; what of it was its own, its slices tell.
//!
//! Invariants: signals go only to children that have not been waited for, so none meets another process; and a stopped child does not outlive this process, whose end kills it.

use crate::clock::{Slices, monotonic};
use crate::counters::{self, Counts};
use crate::process::{self, Observer, Run};
use std::cell::OnceCell;
use std::io;
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// A child that has ended.
pub struct InTurn {
    /// Its time is that from its start to its end, the others' turns included.
    pub run: Run,
    pub counts: Counts,
    pub slices: Slices,
}

impl InTurn {
    /// That came later.
    fn with(mut self, slices: Slices) -> InTurn {
        slices.iter().for_each(|slice| self.slices.push(slice.clone()));
        self
    }
}

/// In the order of the commands. That children fail is no error here.
///
/// # Errors
/// As of [`crate::process::run`], once all children have ended.
pub fn run(commands: &mut [Command], slice: Duration) -> io::Result<Vec<InTurn>> {
    let turns = Turns { children: Mutex::new(vec![Child::New; commands.len()]), changed: Condvar::new() };
    let runs: Vec<io::Result<InTurn>> = std::thread::scope(|scope| {
        let turns = &turns;
        let follow = |(at, command)| {
            // Made here: it says that the child has ended also where there is no thread.
            let turn = Turn::new(turns, at);
            Builder::new().spawn_scoped(scope, move || turn.run(command))
        };
        let threads: Vec<_> = commands.iter_mut().enumerate().map(follow).collect();
        let slices = turns.rotate(slice);
        let failed = |_| Err(io::Error::other("the thread that waits for a child has failed"));
        let ended = threads.into_iter().map(|thread| thread?.join().unwrap_or_else(failed));
        let with = |(ended, slices): (io::Result<InTurn>, Slices)| ended.map(|child| child.with(slices));
        ended.zip(slices).map(with).collect()
    });
    runs.into_iter().collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Child {
    New,
    /// With this id.
    Alive(i32),
    /// Or it could not be started.
    Ended,
}

struct Turns {
    children: Mutex<Vec<Child>>,
    /// A child has been started, or has ended.
    changed: Condvar,
}

impl Turns {
    fn children(&self) -> MutexGuard<'_, Vec<Child>> {
        self.children.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn set(&self, at: usize, child: Child) {
        self.children()[at] = child;
        self.changed.notify_all();
    }

    fn wait<'a>(&self, children: MutexGuard<'a, Vec<Child>>, is_over: impl Fn(&[Child]) -> bool) -> MutexGuard<'a, Vec<Child>> {
        self.changed.wait_while(children, |children| !is_over(children)).unwrap_or_else(|e| e.into_inner())
    }

    /// Lets one child after the other run, until all have ended. Says when each did.
    fn rotate(&self, slice: Duration) -> Vec<Slices> {
        let mut children = self.wait(self.children(), |children| !children.contains(&Child::New));
        let mut slices = vec![Slices::default(); children.len()];
        for at in (0..children.len()).cycle() {
            if children.iter().all(|&child| child == Child::Ended) {
                break;
            }
            let Child::Alive(id) = children[at] else { continue };
            let begun = now();
            signal(id, libc::SIGCONT);
            let is_alone = children.iter().filter(|&&child| child != Child::Ended).count() == 1;
            children =
                if is_alone { self.wait(children, |children| children[at] == Child::Ended) } else { self.one_slice(children, at, slice) };
            if children[at] != Child::Ended {
                stop(id);
            }
            slices[at].push(begun..now());
        }
        slices
    }

    /// Until it is over, or the child has ended.
    fn one_slice<'a>(&'a self, mut children: MutexGuard<'a, Vec<Child>>, at: usize, slice: Duration) -> MutexGuard<'a, Vec<Child>> {
        let begun = Instant::now();
        let left = || slice.checked_sub(begun.elapsed()).filter(|left| !left.is_zero());
        while children[at] != Child::Ended
            && let Some(left) = left()
        {
            children = self.changed.wait_timeout(children, left).unwrap_or_else(|e| e.into_inner()).0;
        }
        children
    }
}

/// What becomes of one child.
struct Turn<'a> {
    turns: &'a Turns,
    at: usize,
    /// What passes from here until it is stopped for the first time.
    begun: u64,
    stopped: OnceCell<u64>,
}

impl<'a> Turn<'a> {
    fn new(turns: &'a Turns, at: usize) -> Self {
        Turn { turns, at, begun: now(), stopped: OnceCell::new() }
    }

    /// To its end; of its slices the first.
    fn run(mut self, command: &mut Command) -> io::Result<InTurn> {
        self.begun = now();
        end_with_this_thread(command);
        let (run, counts) = counters::run_observed(command, &self)?;
        let mut slices = Slices::default();
        self.stopped.get().iter().for_each(|&&stopped| slices.push(self.begun..stopped));
        Ok(InTurn { run, counts, slices })
    }
}

impl Drop for Turn<'_> {
    /// It has ended, or never begun; or nobody waits for it any more.
    fn drop(&mut self) {
        if let Child::Alive(id) = self.turns.children()[self.at] {
            signal(id, libc::SIGKILL);
        }
        self.turns.set(self.at, Child::Ended);
    }
}

impl Observer for Turn<'_> {
    fn started(&self, id: u32) {
        stop(id as i32);
        self.stopped.get_or_init(now);
        self.turns.set(self.at, Child::Alive(id as i32));
    }

    fn ended(&self) {
        self.turns.set(self.at, Child::Ended);
    }
}

fn now() -> u64 {
    monotonic().expect("every Linux has the clock")
}

/// To a child that has not been waited for.
fn signal(child: i32, signal: i32) {
    // SAFETY: a call without memory. It fails for a child that has ended meanwhile, which needs none.
    unsafe { libc::kill(child, signal) };
}

/// The same; and waits until it has stopped, or ended.
///
/// A signal takes effect when its threads next come by the system, perhaps much later where others have the processors. What they do until then is done in this turn.
fn stop(child: i32) {
    signal(child, libc::SIGSTOP);
    // It fails for what is no child, which does nothing that would have to be waited for.
    let _ = process::see(child as u32, libc::WSTOPPED | libc::WEXITED);
}

/// The child is killed when the thread that starts it ends, as it does with this process.
fn end_with_this_thread(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec only this is called, which may be.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        })
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const SLICE: Duration = Duration::from_millis(3);

    /// Each adds lines to one file. In short slices both are in the middle while the other is; in a long one the first comes to its end.
    #[test]
    fn children_take_turns() {
        assert!(changes(SLICE) > 3);
        assert_eq!(changes(Duration::from_secs(100)), 1);
    }

    /// How often the child changes that adds a line.
    fn changes(slice: Duration) -> usize {
        let file = std::env::temp_dir().join(format!("measure-slices-{}-{}", std::process::id(), slice.as_millis()));
        let busy = |name: &str| {
            // It is stopped before the first line even where this process has to wait for a processor.
            let rounds = "j=0; while [ $j -lt 100000 ]; do j=$((j+1)); done; i=0; while [ $i -lt 20 ]; do j=0; while [ $j -lt 5000 ]; do j=$((j+1)); done;";
            shell(&format!("{rounds} echo {name} >> {}; i=$((i+1)); done; echo {name}", file.display()))
        };
        let runs = run(&mut [busy("a"), busy("b"), shell("exit 3")], slice).unwrap();
        let printed: Vec<&[u8]> = runs.iter().map(|child| child.run.stdout.as_slice()).collect();
        assert_eq!(printed, [b"a\n".as_slice(), b"b\n", b""]);
        assert_eq!(runs[2].run.status.code(), Some(3));
        let [one, other] = [&runs[0].slices, &runs[1].slices];
        // In the first both are started.
        assert!(one.iter().skip(1).all(|slice| other.within(slice.clone()).is_zero()), "{one:?} {other:?}");
        let longer = runs[0].run.wall.max(runs[1].run.wall);
        assert!(
            one.total() < longer && other.total() < longer && one.total() + other.total() > longer / 2,
            "{longer:?}: {one:?} {other:?}"
        );
        let lines = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 40);
        lines.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// The state of a process, as the system tells it.
    fn state(child: u32) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    }

    #[test]
    fn who_was_stopped_stands_still() {
        let mut child = shell("while :; do :; done").spawn().unwrap();
        for _ in 0..50 {
            signal(child.id() as i32, libc::SIGCONT);
            std::thread::sleep(Duration::from_micros(200));
            stop(child.id() as i32);
            assert_eq!(state(child.id()), 'T');
        }
        signal(child.id() as i32, libc::SIGKILL);
        stop(child.id() as i32);
        assert_eq!(state(child.id()), 'Z', "it has ended, and nobody has taken its status");
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn who_cannot_be_started_holds_nobody_up() {
        assert!(run(&mut [shell("echo a"), Command::new("/no/such/program")], SLICE).is_err());
        assert!(run(&mut [], SLICE).unwrap().is_empty());
    }
}

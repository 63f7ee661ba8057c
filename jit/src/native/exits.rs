//! Running loops of optimized code go over into code that counts calls, while calls are counted, and back.
//!
//! In: optimized bodies as they are installed; exits ([`crate::opt::exits`]) at which threads have found nothing to go over into. Out: for each exit a cell for either direction, which holds the address of the code that goes on there, or 0.
//!
//! A thread says itself which code is to run ([`ThreadContext::counts_calls`](crate::context::ThreadContext::counts_calls)): it leaves code of the other kind at the next exit it comes to. No code is made for an exit before somebody has wanted to go over there, or was late.
//! Where threads that are to go over stay for long in loops that are not left ([`Op::WatchedPoll`](crate::ir::Op::WatchedPoll)), the body is made anew with exits in more of its loops. Where calls are found to be brief, it is made anew without:
//! what an exit costs is paid at each call (without this `raytrace` takes 1 % longer, `deltablue` 2).
//! All code made of one body is a family. Into it there is a way through its versions' entry cell, or the cell of a loop, alone, and in it from each piece to each other by exits. So once that cell leads to another family's code the family is retired as a group, and nothing more is made for its exits.
//! Invariant: families are made, made anew and retired on one thread, the one that compiles.

use super::api::{Exits, NativeError, VersionInfo};
use super::engine::{Engine, Versions};
use super::osr::MAX_FRAME;
use super::region::Pages;
use super::tables::SiteKind;
use crate::context::Watch;
use crate::ir::{Block, Exit, FuncId, Function, MAX_EXITS};
use crate::opt::exits::{LoopAt, WithExits, long_loop, with_exits, without_exits};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Words of an exit: where code is that does not count, behind it where code is that counts, and not 0 once somebody has found no code. Of a watched poll the last one counts how often looks have found threads late there.
const WORDS: usize = 3;
const WANTED: usize = 2;
/// A loop is left where looks have found threads late in it in so large a part of the times at which code of the other kind was to run: a collection, or another process, may come anywhere. Who stays in it for a whole window is found four or five times.
const LATE_PART: u64 = 50;

fn offset(exit: Exit, word: usize) -> u64 {
    8 * (WORDS * exit.as_u32() as usize + word) as u64
}

/// The cells of all exits.
pub struct ExitCells {
    pages: Option<Pages>,
    next: AtomicU32,
    /// Calls go to code that counts them.
    are_counted: AtomicBool,
}

impl ExitCells {
    pub fn new(has_exits: bool) -> Result<ExitCells, NativeError> {
        let pages = if has_exits { Some(Pages::zeroed_low(8 * WORDS * MAX_EXITS)?) } else { None };
        Ok(ExitCells { pages, next: AtomicU32::new(0), are_counted: AtomicBool::new(true) })
    }

    /// The first of so many new ones.
    fn reserve(&self, count: usize) -> Option<Exit> {
        self.pages.as_ref()?;
        let after = |first: u32| (first as usize + count <= MAX_EXITS).then_some(first + count as u32);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).ok().map(Exit::from_u32)
    }

    /// Where they lie: [`ThreadContext::exit_cells`](crate::context::ThreadContext::exit_cells).
    pub fn address(&self) -> u64 {
        self.pages.as_ref().map_or(0, Pages::address)
    }

    /// Calls go to code that counts them from now on, or to code that does not.
    pub fn count_calls(&self, counts: bool) {
        self.are_counted.store(counts, Ordering::Relaxed);
    }

    fn has(&self, exit: Exit) -> bool {
        exit.as_u32() < self.next.load(Ordering::Relaxed)
    }

    /// From there to the cell that leads to code of this kind, and to what is to be set where that holds 0.
    pub fn offsets(&self, exit: Exit, counts: bool) -> Option<[i32; 2]> {
        self.has(exit).then(|| [usize::from(counts), WANTED].map(|word| offset(exit, word) as i32))
    }

    fn word(&self, exit: Exit, word: usize) -> Option<&AtomicU64> {
        let pages = self.pages.as_ref().filter(|_| self.has(exit))?;
        // SAFETY: inside the pages, which are only used as atomics, by Rust and by compiled code.
        Some(unsafe { &*((pages.address() + offset(exit, word)) as *const AtomicU64) })
    }

    /// What the cell leads to, for a thread that has attended to something at the exit: it may be to count calls since then, or not to. 0 where the code it is in is right, or there is no other, which is wanted from now on. `stub_exit_poll` does the same
    /// where nobody asks for attention.
    pub fn go_over(&self, cell: u64, counts: bool, watch: &mut Watch) -> u64 {
        let (exit, word) = (Exit::from_u32((cell / 8) as u32 / WORDS as u32), (cell / 8) as usize % WORDS);
        if word != usize::from(counts) {
            return 0;
        }
        watch.rounds = 0;
        let code = self.word(exit, word).map_or(0, |cell| cell.load(Ordering::Acquire));
        if code == 0 {
            self.word(exit, WANTED).into_iter().for_each(|wanted| wanted.store(1, Ordering::Relaxed));
        }
        code
    }

    fn is_wanted(&self, exit: Exit) -> bool {
        self.word(exit, WANTED).is_some_and(|word| word.load(Ordering::Relaxed) != 0)
    }

    fn is_often_late(&self, exit: Exit, often: u64, switches: u64) -> bool {
        let late = self.word(exit, WANTED).map_or(0, |word| word.load(Ordering::Relaxed));
        late >= often && LATE_PART * late >= switches
    }

    /// A release store publishes, as with entry cells.
    fn lead_to(&self, exit: Exit, counts: bool, entry: u64) {
        self.word(exit, usize::from(counts)).into_iter().for_each(|cell| cell.store(entry, Ordering::Release));
    }
}

/// What was made of a body.
struct Family {
    body: Arc<Function>,
    /// The loop for which the installed code goes on; `None`: it begins at a call.
    entered: Option<Block>,
    /// Of loops that are left, those for which there is no code, unless there can be none.
    open: Vec<Exit>,
    /// Of its loops that are not left, unless they never are.
    watched: Vec<Exit>,
    /// Of loops that are left, with code or without.
    exits: Vec<Exit>,
    /// First the version, or what goes on for a loop, that was installed.
    code: Vec<VersionInfo>,
    /// [`Families::switches`] when that was.
    installed: u64,
}

/// Those that are not retired.
#[derive(Default)]
pub(super) struct Families {
    /// By name: an exit of the family's first body.
    families: BTreeMap<Exit, Family>,
    /// By the entries of their code.
    names: FxHashMap<u64, Exit>,
    /// How often it was said that calls are to be counted, or are not ([`Engine::count_calls`]).
    pub switches: u64,
    /// Loops that are known to be long.
    pub long: FxHashSet<LoopAt>,
    /// Functions whose calls are brief.
    brief: FxHashSet<FuncId>,
}

/// Whose body is to be made anew, and the watched polls at which threads are often late.
struct Late {
    func: FuncId,
    entered: Option<Block>,
    body: Arc<Function>,
    exits: Vec<Exit>,
}

impl Families {
    /// Code that was made of a body, which goes on for this loop. If the body had exits before, the code that there is of it stays in the family: from there running code comes to the new one.
    pub fn add(&mut self, made: WithExits, entered: Option<Block>, mut code: Vec<VersionInfo>) {
        let WithExits { body, exits, watched } = made;
        let Some(&first) = exits.iter().chain(&watched).min() else { return };
        let before = self.families.iter().find(|(_, family)| family.exits.iter().any(|exit| exits.contains(exit)));
        let name = before.map_or(first, |(&name, _)| name);
        code.iter().for_each(|version| _ = self.names.insert(version.entry, name));
        code.extend(self.families.remove(&name).into_iter().flat_map(|before| before.code));
        let (open, installed) = (exits.clone(), self.switches);
        self.families.insert(name, Family { body, entered, exits, open, watched, code, installed });
    }

    /// The code that begins at either is of one family.
    pub fn are_one(&self, one: u64, other: u64) -> bool {
        self.names.get(&one).is_some_and(|name| self.names.get(&other) == Some(name))
    }

    /// Entries and lengths of the code of the family of which this is some; there is no such family any more.
    pub fn take(&mut self, entry: u64) -> Option<Vec<(u64, u32)>> {
        let family = self.families.remove(self.names.get(&entry)?)?;
        family.code.iter().for_each(|version| _ = self.names.remove(&version.entry));
        Some(family.code.iter().map(|version| (version.entry, version.len)).collect())
    }

    /// A family in which threads are often late at these exits; its loops are watched no more.
    fn take_late(&mut self, cells: &ExitCells, often: u64) -> Option<Late> {
        self.families.values_mut().find_map(|family| {
            let switches = self.switches - family.installed;
            let is_late = |exit: &Exit| cells.is_often_late(*exit, often, switches);
            family.watched.iter().any(is_late).then(|| Late {
                func: family.code[0].func,
                entered: family.entered,
                body: family.body.clone(),
                exits: std::mem::take(&mut family.watched).into_iter().filter(is_late).collect(),
            })
        })
    }

    /// Some family has the exit, and there is no code for it yet.
    fn is_open(&self, exit: Exit) -> bool {
        self.families.values().any(|family| family.open.contains(&exit))
    }

    /// This code goes on for the exit from now on; without any none ever does. Says whether the family is there.
    fn close(&mut self, exit: Exit, code: &[VersionInfo]) -> bool {
        let Some((&name, family)) = self.families.iter_mut().find(|(_, family)| family.open.contains(&exit)) else { return false };
        family.open.retain(|&open| open != exit);
        family.code.extend_from_slice(code);
        code.iter().for_each(|version| _ = self.names.insert(version.entry, name));
        true
    }
}

/// An exit at which a thread would have gone over.
pub struct WantedExit {
    pub exit: Exit,
    pub func: FuncId,
    /// What it is an exit of.
    pub body: Arc<Function>,
}

/// Code that was installed anew, with more exits.
pub struct Renewed {
    /// For a function, or one of its loops.
    pub entered: Option<Block>,
    pub version: VersionInfo,
}

impl Engine {
    /// The same body, with exits where it has a use for some, and the options say so.
    pub(super) fn leavable(&self, func: FuncId, body: &Function) -> WithExits {
        let none = || WithExits { body: Arc::new(body.clone()), exits: Vec::new(), watched: Vec::new() };
        self.with_exits(func, body).unwrap_or_else(none)
    }

    fn with_exits(&self, func: FuncId, body: &Function) -> Option<WithExits> {
        // Threads that run are not to wait for this.
        let (long, is_brief) = {
            let families = &self.versions().families;
            (families.long.clone(), families.brief.contains(&func))
        };
        let are_all = self.options().exits == Exits::InAllLoops;
        let is_left = |at: LoopAt, is_outermost: bool| are_all || is_outermost && !is_brief || long.contains(&at);
        with_exits(func, body, &is_left, &mut |count| self.exits().reserve(count))
    }

    /// Functions whose calls are not known to be brief, in whose code loops are left.
    pub fn left_functions(&self) -> Vec<FuncId> {
        let Families { families, brief, .. } = &self.versions().families;
        let left =
            families.values().filter(|family| !family.exits.is_empty() && family.entered.is_none()).map(|family| family.code[0].func);
        left.filter(|func| !brief.contains(func)).collect()
    }

    /// Calls of the function are brief: from now on its loops are left where they are known to be long, and no others. Installs code anew that is so, if there is some to be replaced; what cannot be compiled stays as it is.
    pub fn expect_brief(&self, func: FuncId) -> Option<VersionInfo> {
        let body = {
            let mut versions = self.versions();
            versions.families.brief.insert(func);
            let entry = versions.twins(func)?.plain?.entry;
            let Families { families, names, .. } = &versions.families;
            families.get(names.get(&entry)?).filter(|family| !family.exits.is_empty())?.body.clone()
        };
        let made = self.leavable(func, &without_exits(&body));
        self.install_both(func, made).ok()
    }

    /// A thread that wants calls counted, or not, and is in code of the other kind, has a look taken at a watched poll, in the call with this frame.
    pub(super) fn watched(&self, counts: bool, pc: u64, frame: u64, watch: &mut Watch) {
        let Exits::InLongLoops { patience, .. } = self.options().exits else { return };
        if counts != self.exits().are_counted.load(Ordering::Relaxed) {
            // It has yet to notice a change: what it calls is of the other kind, and one call looks like the next.
            *watch = Watch::default();
            return;
        }
        // The time first: what was not used for long takes a microsecond to look up.
        if watch.is_late(frame, patience)
            && let Some(SiteKind::Watched(exit)) = self.tables().frame(pc).map(|frame| frame.site)
        {
            self.exits().word(exit, WANTED).into_iter().for_each(|late| _ = late.fetch_add(1, Ordering::Relaxed));
        }
    }

    /// Where threads are often late, installs code anew that can be left in one more of the loops around, to which running code goes over at the exits that it has. What cannot be compiled stays as it is. `None`: nobody is late.
    pub fn leave_long_loops(&self) -> Option<Renewed> {
        let Exits::InLongLoops { looks, .. } = self.options().exits else { return None };
        loop {
            let late = self.versions().families.take_late(self.exits(), looks)?;
            if let Ok(renewed) = self.renew(late) {
                return Some(renewed);
            }
        }
    }

    fn renew(&self, Late { func, entered, body, exits }: Late) -> Result<Renewed, NativeError> {
        let long: Vec<LoopAt> = exits.into_iter().flat_map(|exit| long_loop(func, &body, exit)).collect();
        self.versions().families.long.extend(long);
        let no_room = || NativeError::Compile { func, message: "there are no more exits".into() };
        let made = self.with_exits(func, &body).ok_or_else(no_room)?;
        let version = match entered {
            None => self.install_both(func, made)?,
            Some(block) => self.install_osr_with_exits(func, block, made)?,
        };
        Ok(Renewed { entered, version })
    }

    /// Code made of this body is installed, for this loop. If the body had exits before, what goes on for them is made anew, too; until it is, what there is does.
    pub(super) fn add_family(&self, versions: &mut Versions, made: WithExits, entered: Option<Block>, code: &[VersionInfo]) {
        let known = made.exits.iter().filter(|&&exit| self.has_exit_code(exit));
        known.filter_map(|&exit| self.exits().word(exit, WANTED)).for_each(|wanted| wanted.store(1, Ordering::Relaxed));
        versions.families.add(made, entered, code.to_vec());
    }

    /// Where threads have come to an exit since it was made, and there is no code for it yet ([`Engine::install_exit`]).
    pub fn wanted_exits(&self) -> Vec<WantedExit> {
        let versions = self.versions();
        let mut wanted = Vec::new();
        for Family { body, open, code, .. } in versions.families.families.values() {
            let exits = open.iter().copied().filter(|&exit| self.exits().is_wanted(exit));
            wanted.extend(exits.map(|exit| WantedExit { exit, func: code[0].func, body: body.clone() }));
        }
        wanted
    }

    /// Compiles what [`crate::opt::osr::enter_at`] has made for an exit, in both kinds, and lets running calls go over into it. `None`, or what cannot be compiled: none ever does. Says whether there is such code now.
    pub fn install_exit(&self, exit: Exit, func: FuncId, body: Option<&Function>) -> bool {
        let code = body.and_then(|body| self.compile_both(func, body, MAX_FRAME).ok());
        let code = code.as_ref().map_or(&[][..], |code| code);
        let mut versions = self.versions();
        if !versions.families.close(exit, code) {
            // Retired meanwhile.
            code.iter().for_each(|version| versions.retire(&[(version.entry, version.len)]));
            return false;
        }
        code.iter().zip([false, true]).for_each(|(version, counts)| self.exits().lead_to(exit, counts, version.entry));
        !code.is_empty()
    }

    /// Whether code can still be made for the exit: there is none, and nobody has said that there never will be.
    pub fn is_exit_open(&self, exit: Exit) -> bool {
        self.versions().families.is_open(exit)
    }

    /// Whether threads can go on for the exit.
    pub fn has_exit_code(&self, exit: Exit) -> bool {
        [0, 1].iter().all(|&kind| self.exits().word(exit, kind).is_some_and(|word| word.load(Ordering::Acquire) != 0))
    }

    /// Where the code begins that was installed and has led to this code, which begins there, by exits; mostly that itself.
    pub fn home(&self, entry: u64) -> u64 {
        let Families { families, names, .. } = &self.versions().families;
        names.get(&entry).map_or(entry, |name| families[name].code[0].entry)
    }
}

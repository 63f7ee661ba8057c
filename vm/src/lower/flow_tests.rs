//! Random control flow, run two ways: lowered and interpreted, and by walking the tree. Loops, `try`, `catch`, `finally`, `lock`, and every way out of them, nested at random.

use super::lower;
use crate::diag::Diagnostics;
use crate::runtime::{InterpreterEngine, Output, Runtime, RuntimeOptions};
use crate::sema::{Scope, check, load_text};
use crate::source::SourceMap;
use jit::layout::Layout;
use std::path::Path;
use std::sync::Arc;

/// Everything a program does is written to a log; `v` is a local variable of the function.
#[derive(Debug)]
enum Stmt {
    /// Writes the number and `v`.
    Note(i64),
    /// `v = v * 3 + n`
    Set(i64),
    /// The same through a closure that captures `v`.
    SetInClosure(i64),
    /// Takes an arm by the next random bit.
    If(Vec<Stmt>, Vec<Stmt>),
    /// Counts a variable of that number up to the limit.
    While(i64, u32, Vec<Stmt>),
    For(i64, Vec<Stmt>),
    Try(Vec<Stmt>, Vec<(Kind, Vec<Stmt>)>, Option<Vec<Stmt>>),
    /// `v = try { n / bit } catch (e: DivisionError) { m } finally { note }`
    TryValue(i64, i64),
    Lock(Vec<Stmt>),
    Throw(Kind),
    Break,
    Continue,
    Return(i64),
}

impl Stmt {
    fn leaves(&self) -> bool {
        matches!(self, Stmt::Throw(_) | Stmt::Break | Stmt::Continue | Stmt::Return(_))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Low,
    /// Below `Low`.
    Lower,
    Other,
    Any,
}

impl Kind {
    fn catches(self, thrown: Kind) -> bool {
        self == Kind::Any || self == thrown || (self == Kind::Low && thrown == Kind::Lower)
    }

    fn class(self) -> &'static str {
        match self {
            Kind::Low => "Low",
            Kind::Lower => "Lower",
            Kind::Other => "Other",
            Kind::Any => "Error",
        }
    }
}

/// The language's own arithmetic, so that programs draw the same bits.
struct Bits(i64);

impl Bits {
    fn next(&mut self) -> bool {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 < 0
    }
}

// Making programs.

struct Maker {
    bits: Bits,
    notes: i64,
    /// Statements the function may still get.
    budget: u32,
}

/// What surrounds the statement being made.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    /// A loop that `break` may leave: none in a `finally` but its own.
    in_loop: bool,
    may_return: bool,
}

impl Maker {
    fn below(&mut self, n: u32) -> u32 {
        (0..8).fold(0, |sum, _| sum * 2 + u32::from(self.bits.next())) % n
    }

    fn block(&mut self, place: Place) -> Vec<Stmt> {
        let length = 1 + self.below(4);
        let place = Place { depth: place.depth + 1, ..place };
        let mut stmts = Vec::new();
        for _ in 0..length {
            let stmt = self.stmt(place);
            stmts.push(stmt);
            if stmts.last().is_some_and(Stmt::leaves) {
                break;
            }
        }
        stmts
    }

    fn stmt(&mut self, place: Place) -> Stmt {
        self.notes += 1;
        let note = self.notes;
        self.budget = self.budget.saturating_sub(1);
        let choice = if place.depth > 6 || self.budget == 0 { self.below(6) } else { self.below(16) };
        let stmt = match choice {
            0 => Stmt::Set(note),
            1 => Stmt::SetInClosure(note),
            2 if place.in_loop => [Stmt::Break, Stmt::Continue].into_iter().nth(self.below(2) as usize).unwrap(),
            2 | 3 if place.may_return => Stmt::Return(note),
            4 => Stmt::Throw([Kind::Low, Kind::Lower, Kind::Other][self.below(3) as usize]),
            6..8 => Stmt::If(self.block(place), if self.bits.next() { self.block(place) } else { Vec::new() }),
            8 => Stmt::While(note, 1 + self.below(3), self.block(Place { in_loop: true, ..place })),
            9 => Stmt::For(self.below(4).into(), self.block(Place { in_loop: true, ..place })),
            10 => Stmt::Lock(self.block(place)),
            11 => Stmt::TryValue(note, note + 1),
            12..16 => self.try_stmt(place),
            _ => Stmt::Note(note),
        };
        // Most ways out are taken sometimes only.
        if stmt.leaves() && self.below(4) > 0 { Stmt::If(vec![stmt], Vec::new()) } else { stmt }
    }

    fn try_stmt(&mut self, place: Place) -> Stmt {
        let body = self.block(place);
        // No clause behind one that catches all it would.
        let orders: [&[Kind]; 6] =
            [&[], &[Kind::Low], &[Kind::Any], &[Kind::Lower, Kind::Low], &[Kind::Other, Kind::Any], &[Kind::Lower, Kind::Other, Kind::Low]];
        let kinds = orders[self.below(6) as usize];
        let catches: Vec<_> = kinds.iter().map(|&k| (k, self.block(place))).collect();
        let inside = Place { in_loop: false, may_return: false, ..place };
        let finally = (catches.is_empty() || self.bits.next()).then(|| self.block(inside));
        Stmt::Try(body, catches, finally)
    }
}

// As text.

fn write_block(out: &mut String, stmts: &[Stmt]) {
    out.push_str("{\n");
    stmts.iter().for_each(|s| write_stmt(out, s));
    out.push_str("}\n");
}

fn write_stmt(out: &mut String, stmt: &Stmt) {
    match stmt {
        Stmt::Note(n) => *out += &format!("note({n}, v)\n"),
        Stmt::Set(n) => *out += &format!("v = v * 3 + {n}\n"),
        Stmt::SetInClosure(n) => *out += &format!("run(() => {{ v = v * 3 + {n} }})\n"),
        Stmt::If(then, els) => {
            out.push_str("if bit() ");
            write_block(out, then);
            if !els.is_empty() {
                out.pop();
                out.push_str(" else ");
                write_block(out, els);
            }
        }
        Stmt::While(c, limit, body) => {
            *out += &format!("var c{c} = 0\nwhile c{c} < {limit} {{\nc{c} += 1\n");
            body.iter().for_each(|s| write_stmt(out, s));
            out.push_str("}\n");
        }
        Stmt::For(limit, body) => {
            *out += &format!("for i in 0..<{limit} ");
            write_block(out, body);
        }
        Stmt::Lock(body) => {
            out.push_str("lock mutex ");
            write_block(out, body);
        }
        Stmt::TryValue(n, m) => {
            *out += &format!(
                "v = try {{ {n} / (if bit() {{ 1 }} else {{ 0 }}) }} catch (e: DivisionError) {{ {m} }} finally {{ note({n}, v) }}\n"
            );
        }
        Stmt::Try(body, catches, finally) => {
            out.push_str("try ");
            write_block(out, body);
            for (kind, body) in catches {
                *out += &format!("catch (e: {}) {{\nlog(e.message)\n", kind.class());
                body.iter().for_each(|s| write_stmt(out, s));
                out.push_str("}\n");
            }
            if let Some(finally) = finally {
                out.push_str("finally ");
                write_block(out, finally);
            }
        }
        Stmt::Throw(kind) => *out += &format!("throw {}(\"{}\")\n", kind.class(), kind.class()),
        Stmt::Break => out.push_str("break\n"),
        Stmt::Continue => out.push_str("continue\n"),
        Stmt::Return(n) => *out += &format!("return v + {n}\n"),
    }
}

const PRELUDE: &str = "
class Low(message: Str) : Error(message)
class Lower(message: Str) : Low(message)
class Other(message: Str) : Error(message)
let mutex = Mutex()
var state = 0
var text = StringBuilder()
fun bit(): Bool {
    state = state * 6364136223846793005 + 1442695040888963407
    return state < 0
}
fun log(s: Str) {
    text.append(s)
    text.append(\" \")
}
fun note(n: Int, v: Int) { log(\"${n}:${v}\") }
fun run(f: () -> Unit) { f() }
";

// By walking the tree.

enum Way {
    Break,
    Continue,
    Return(i64),
    Throw(Kind),
}

struct Walker {
    bits: Bits,
    v: i64,
    log: String,
}

impl Walker {
    fn note(&mut self, n: i64) {
        self.log += &format!("{n}:{} ", self.v);
    }

    fn set(&mut self, n: i64) {
        self.v = self.v.wrapping_mul(3).wrapping_add(n);
    }

    fn block(&mut self, stmts: &[Stmt]) -> Result<(), Way> {
        stmts.iter().try_for_each(|s| self.stmt(s))
    }

    /// Whether the loop goes on.
    fn round(&mut self, body: &[Stmt]) -> Result<bool, Way> {
        match self.block(body) {
            Ok(()) | Err(Way::Continue) => Ok(true),
            Err(Way::Break) => Ok(false),
            Err(way) => Err(way),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Way> {
        match stmt {
            Stmt::Note(n) => self.note(*n),
            Stmt::Set(n) | Stmt::SetInClosure(n) => self.set(*n),
            Stmt::If(then, els) => return if self.bits.next() { self.block(then) } else { self.block(els) },
            Stmt::While(_, limit, body) => {
                for _ in 0..*limit {
                    if !self.round(body)? {
                        break;
                    }
                }
            }
            Stmt::For(limit, body) => {
                for _ in 0..*limit {
                    if !self.round(body)? {
                        break;
                    }
                }
            }
            Stmt::Lock(body) => return self.block(body),
            Stmt::TryValue(n, m) => {
                let value = if self.bits.next() { *n } else { *m };
                self.note(*n);
                self.v = value;
            }
            Stmt::Try(body, catches, finally) => {
                let mut result = self.block(body);
                if let Err(Way::Throw(kind)) = result
                    && let Some((_, body)) = catches.iter().find(|(k, _)| k.catches(kind))
                {
                    self.log += &format!("{} ", kind.class());
                    result = self.block(body);
                }
                finally.as_ref().map_or(Ok(()), |f| self.block(f))?;
                return result;
            }
            Stmt::Throw(kind) => return Err(Way::Throw(*kind)),
            Stmt::Break => return Err(Way::Break),
            Stmt::Continue => return Err(Way::Continue),
            Stmt::Return(n) => return Err(Way::Return(self.v.wrapping_add(*n))),
        }
        Ok(())
    }
}

const RUNS: i64 = 4;

fn expected(functions: &[Vec<Stmt>]) -> String {
    let mut out = String::new();
    for (i, body) in functions.iter().enumerate() {
        for run in 0..RUNS {
            let mut walker = Walker { bits: Bits(run * 7919 + i as i64), v: 0, log: String::new() };
            let result = match walker.block(body) {
                Err(Way::Return(value)) => format!("{value}"),
                Err(Way::Throw(kind)) => kind.class().to_string(),
                Err(Way::Break | Way::Continue) => unreachable!("only made in loops"),
                Ok(()) => format!("{}", walker.v),
            };
            out += &format!("f{i} {run}: {}= {result}\n", walker.log);
        }
    }
    out
}

fn source(functions: &[Vec<Stmt>]) -> String {
    let mut out = PRELUDE.to_string();
    let mut main = String::new();
    for (i, body) in functions.iter().enumerate() {
        out += &format!("fun f{i}(): Int {{\nvar v = 0\n");
        body.iter().for_each(|s| write_stmt(&mut out, s));
        let ends = matches!(body.last(), Some(Stmt::Return(_) | Stmt::Throw(_)));
        out += if ends { "}\n" } else { "return v\n}\n" };
        main += &format!(
            "for run in 0..<{RUNS} {{
                state = run * 7919 + {i}
                text.clear()
                let result = try {{ \"${{f{i}()}}\" }} catch (e: Error) {{ e.message }}
                println(\"f{i} ${{run}}: ${{text}}= ${{result}}\")
            }}\n"
        );
    }
    format!("{out}fun main() {{\n{main}}}\n")
}

fn run(source: &str) -> String {
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let units = load_text(&mut map, Path::new("main.lang"), source.to_string(), &mut sink);
    let (program, problems) = check(&units, Scope::Reachable);
    sink.append(problems);
    let program = program.filter(|_| sink.is_empty());
    let mut program = program.unwrap_or_else(|| panic!("{}\n{source}", sink.render(&map, false)));
    let module = lower(&mut program, &map, &mut sink).expect("lowers");
    assert!(jit::ir::verifier::verify(&module).is_empty());
    let layout = Layout::new(&module);
    let engine = InterpreterEngine::new(&module, &layout, 1 << 20);
    let (output, text) = Output::buffer();
    let options = RuntimeOptions { heap: Some(64 << 20), output, ..RuntimeOptions::default() };
    let runtime = Runtime::new(Arc::new(module), Arc::new(layout), Box::new(map), options).expect("starts");
    let status = runtime.run_main(Arc::new(engine)).expect("runs");
    assert_eq!(status.code, 0);
    let text = text.lock().unwrap().clone();
    String::from_utf8(text).unwrap()
}

#[test]
fn control_flow_does_what_the_tree_says() {
    for seed in 0..12 {
        let mut maker = Maker { bits: Bits(seed * 1_000_003 + 17), notes: 0, budget: 0 };
        let functions: Vec<Vec<Stmt>> = (0..60)
            .map(|_| {
                (maker.notes, maker.budget) = (0, 60);
                maker.block(Place { depth: 0, in_loop: false, may_return: true })
            })
            .collect();
        let source = source(&functions);
        let (found, wanted) = (run(&source), expected(&functions));
        for (found, wanted) in found.lines().zip(wanted.lines()) {
            let function = wanted.split(' ').next().unwrap_or_default();
            let start = source.find(&format!("fun {function}()")).unwrap_or(0);
            assert_eq!(found, wanted, "in {}", &source[start..(start + 3000).min(source.len())]);
        }
        assert_eq!(found.lines().count(), wanted.lines().count());
    }
}

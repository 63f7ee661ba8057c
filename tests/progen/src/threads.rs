//! Two threads that hand things over in loops: by a mutex and waiting, by an atomic integer whose turn it is, by starting and joining, and by sums that do not depend on the order.
//!
//! Out: functions that both threads run, many rounds each, so that loops of both are compiled anew while the other one runs. What stands between the places where they meet is random.
//! Invariants: whoever waits is woken, however the other one leaves: what a round throws is caught in it or ends the thread through a `finally` that hands over. What a thread may read that the other one writes is ordered by where they meet, so results are the same in every run; how often a thread looks before it is its turn is not, and is not printed.

use crate::choices::Choices;
use crate::part::Part;

const CLASSES: &str = "
class Parcel(var n: Int, var next: Parcel?) {
    var weight = 0.5

    fun sum(): Int = n * 31 + weight.toInt() + (next?.n ?: 5)
}

/// What threads share.
class Desk(let turn: AtomicInt, let count: AtomicInt) {
    let key = Mutex()
    var n = 1
    var f = 0.5
    var on = false
    var last: Parcel? = null
    let cells = [1, 2, 3, 4, 5]
    let parcels = Array<Parcel?>(4, null)
    var added = 0

    fun check(): Int {
        var sum = n * 31 + f.toInt() + on.toInt() + (last?.sum() ?: 7) + added + count.get()
        for c in cells { sum = sum * 31 + c }
        for p in parcels { sum = sum * 31 + (p?.sum() ?: 3) }
        return sum
    }

    fun bump(by: Int): Int {
        n = n + by & 65535
        return n
    }
}

fun heavy(n: Int, most: Int): Int {
    if n % 17 == most { throw AppError(\"heavy\", n) }
    return n * 3
}
";

/// What waits, and where it is used.
const WAITING: &[(&str, &str)] = &[("awaitTurn", AWAIT), ("takeTurn", TAKE), ("spinUntil", SPIN), ("Slot", SLOT), ("Ring", RING)];

const AWAIT: &str = "
/// Until it is this thread's turn: the other one may have to run first, perhaps on the same processor.
fun awaitTurn(turn: AtomicInt, me: Int) {
    var looks = 0
    while turn.get() != me {
        looks += 1
        if looks % 500 == 0 { sleep(1) }
    }
}
";

const TAKE: &str = "
/// The same by exchange: 2 is nobody's turn.
fun takeTurn(turn: AtomicInt, me: Int) {
    var looks = 0
    while !turn.compareAndSet(me, 2) {
        looks += 1
        if looks % 500 == 0 { sleep(1) }
    }
}
";

const SPIN: &str = "
/// Looks at nothing else, and lets nobody else run.
fun spinUntil(turn: AtomicInt, me: Int) {
    while turn.get() != me { }
}
";

const SLOT: &str = "
/// A place for one parcel.
class Slot {
    let key = Mutex()
    var parcel: Parcel? = null
    var closed = false

    fun put(p: Parcel) {
        lock key {
            while parcel != null { key.wait() }
            parcel = p
            key.notifyAll()
        }
    }

    fun take(): Parcel? {
        lock key {
            while parcel == null && !closed { key.wait() }
            let p = parcel
            parcel = null
            key.notifyAll()
            return p
        }
    }

    fun close() {
        lock key {
            closed = true
            key.notifyAll()
        }
    }
}
";

const RING: &str = "
/// Places for several, from which they come in order.
class Ring(size: Int) {
    let key = Mutex()
    let places = Array<Parcel?>(size, null)
    var first = 0
    var held = 0
    var closed = false

    fun put(p: Parcel) {
        lock key {
            while held == places.length { key.wait() }
            places[(first + held) % places.length] = p
            held += 1
            key.notify()
        }
    }

    fun take(): Parcel? {
        lock key {
            while held == 0 {
                if closed { return null }
                key.wait()
            }
            let p = places[first]
            places[first] = null
            first = (first + 1) % places.length
            held -= 1
            key.notify()
            return p
        }
    }

    fun close() {
        lock key {
            closed = true
            key.notifyAll()
        }
    }
}
";

/// The text of such functions; the last one has this name.
pub fn threads(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    let kinds: Vec<usize> = (0..1 + part.choices.below(3)).map(|_| part.choices.below(4)).collect();
    for (number, &kind) in kinds.iter().enumerate() {
        let name = format!("{name}{number}");
        match kind {
            0 => turns(&mut part, &name),
            1 => handed_over(&mut part, &name),
            2 => joined(&mut part, &name),
            _ => summed(&mut part, &name),
        }
    }
    for (what, text) in WAITING {
        if part.has(&format!("{what}(")) {
            part.text(text);
        }
    }
    part.driver(name, |p| {
        for number in 0..kinds.len() {
            p.line(format!("let d{number} = Desk(AtomicInt(0), AtomicInt(start & 7))"));
            p.guarded(&format!("{name}{number}(d{number}, start & 15)"));
            p.line(format!("println(\"desk ${{d{number}.check()}}\")"));
        }
    });
    part.finish()
}

fn rounds(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&["20", "30", "12", "x + 9"])
}

/// A thread beside this one, both with a function; what they give is added up.
fn both(p: &mut Part<'_, '_>, name: &str, other: &str, own: &str) {
    p.function(format!("fun {name}(d: Desk, x: Int): Int {{"), |p| {
        p.line(format!("let t = spawn(() => {other})"));
        p.line("var s = 0");
        p.two_blocks("try {", |p| p.line(format!("s = {own}")), "catch (e: AppError) {", |p| p.line("s = e.code"));
        p.two_blocks("try {", |p| p.line("s = s * 31 + t.join()"), "catch (e: AppError) {", |p| p.line("s = s * 37 + e.code"));
        p.line("return s * 31 + d.check()");
    });
}

/// One after the other: what stands between a thread's turn and the next is as if there were one thread.
fn turns(p: &mut Part<'_, '_>, name: &str) {
    let (take, most) = match p.choices.below(5) {
        0 | 1 => ("takeTurn(d.turn, me)", rounds(p)),
        2 => ("spinUntil(d.turn, me)", "4"),
        _ => ("awaitTurn(d.turn, me)", rounds(p)),
    };
    p.function(format!("fun {name}Work(d: Desk, me: Int, x: Int): Int {{"), |p| {
        p.line("var s = me");
        turn(p, take, |p| p.some(3, known));
        p.block(format!("for i in 0..<{most} {{"), |p| {
            turn(p, take, |p| {
                p.two_blocks("try {", |p| p.some(5, |p| work(p, 0)), "catch (e: AppError) {", |p| p.line("s = s * 31 + e.code"));
                p.some(2, after);
            });
            // Again at once: what this turn has read or written is something else in the next one.
            if p.choices.chance(50) {
                turn(p, take, |p| p.some(3, known));
            }
        });
        p.line("return s");
    });
    both(p, name, &format!("{name}Work(d, 1, x)"), &format!("{name}Work(d, 0, x)"));
}

fn turn(p: &mut Part<'_, '_>, take: &str, body: impl FnOnce(&mut Part<'_, '_>)) {
    p.line(take);
    body(p);
    p.line("d.turn.set(1 - me)");
}

/// Reads a place that turns write.
fn known(p: &mut Part<'_, '_>) {
    let value = p.pick(&["d.n", "d.n", "d.f.toInt()", "d.cells[0]", "d.added", "d.on.toInt()", "(d.last?.n ?: 8)", "d.count.get()"]);
    p.line(format!("s = s * 31 + {value}"));
}

/// The last that a thread does in its turn.
fn after(p: &mut Part<'_, '_>) {
    let line = p.pick(&[
        "d.n += i",
        "d.n = d.n + s & 4095",
        "s = s * 31 + d.n",
        "d.last = Parcel(i, d.last?.next)",
        "d.cells[i % 5] += s & 7",
        "d.f += 0.25",
    ]);
    p.line(line);
}

/// Statements of a turn.
fn work(p: &mut Part<'_, '_>, depth: usize) {
    match p.choices.below(if depth < 2 { 16 } else { 10 }) {
        0..4 => {
            let line = p.pick(&[
                "d.n += i",
                "d.n = d.n * 3 + me & 65535",
                "d.f = d.f * 0.5 + i.toFloat()",
                "d.on = !d.on",
                "d.cells[i % 5] = s & 255",
                "d.cells[(s & 255) % 5] += 1",
                "d.added += d.bump(i)",
                "d.count.add(i)",
                "d.count.set(d.n)",
            ]);
            p.line(line);
        }
        4..7 => {
            let value = p.pick(&[
                "d.n",
                "d.f.toInt()",
                "d.on.toInt()",
                "d.cells[i % 5]",
                "(d.last?.sum() ?: 3)",
                "(d.parcels[i & 3]?.n ?: 4)",
                "d.count.get()",
                "d.count.getAndAdd(2)",
                "d.bump(1)",
                "d.added",
            ]);
            p.line(format!("s = s * 31 + {value}"));
        }
        7 | 8 => {
            let line = p.pick(&[
                "d.last = Parcel(i, d.parcels[s & 3])",
                "d.parcels[i & 3] = Parcel(d.n, null)",
                "d.last = null",
                "if d.last != null { d.parcels[(s + 1) & 3] = Parcel(me, null) }",
                "let p# = d.last; if p# != null { p#.n += i; p#.weight += 0.75 }",
                "let p# = Parcel(i, null); d.last = p#; p#.n = d.n & 255",
            ]);
            let name = p.fresh("");
            p.line(line.replace('#', &name));
        }
        9 => {
            let most = p.choices.below(17);
            p.line(format!("s ^= heavy(s & 63, {most})"));
        }
        10 | 11 => {
            let cond = p.pick(&["d.on", "i % 3 == me", "d.n > s", "d.last == null", "(s & 1) == 0"]);
            p.two_blocks(format!("if {cond} {{"), |p| work(p, depth + 1), "else {", |p| work(p, depth + 1));
        }
        12 => p.block("lock d.key {", |p| p.some(3, |p| work(p, depth + 1))),
        13 => p.two_blocks("try {", |p| p.some(2, |p| work(p, depth + 1)), "finally {", |p| p.line("d.n += 1")),
        _ => {
            let j = p.fresh("j");
            p.block(format!("for {j} in 0..<4 {{"), |p| {
                p.line(format!("d.cells[{j}] += d.n & 3"));
                p.some(2, |p| work(p, depth + 1));
            });
        }
    }
}

/// One makes parcels, the other takes them until there are no more.
fn handed_over(p: &mut Part<'_, '_>, name: &str) {
    let (queue, most, size) = (p.pick(&["Slot", "Ring"]), rounds(p), p.pick(&["1", "3", "5"]));
    p.function(format!("fun {name}Make(q: {queue}, x: Int): Int {{"), |p| {
        p.line("var s = 1");
        p.two_blocks(
            "try {",
            |p| {
                p.line("var last: Parcel? = null");
                p.block(format!("for i in 0..<{most} {{"), |p| {
                    let next = p.pick(&["null", "last", "Parcel(s & 7, null)"]);
                    p.line(format!("let p = Parcel(s & 255, {next})"));
                    p.some(3, |p| local(p));
                    p.line("q.put(p)");
                    // The taker writes to what it has: only what is made now may be kept.
                    p.line("last = Parcel(i, null)");
                    p.line("s = s * 31 + i");
                });
            },
            "finally {",
            |p| p.line("q.close()"),
        );
        p.line("return s");
    });
    p.function(format!("fun {name}Take(q: {queue}, x: Int): Int {{"), |p| {
        p.line("var s = 2");
        p.line("var i = 0");
        p.block("while true {", |p| {
            p.line("let p = q.take()");
            p.line("if p == null { break }");
            p.line("i += 1");
            p.two_blocks("try {", |p| p.some(4, |p| local(p)), "catch (e: AppError) {", |p| p.line("s = s * 31 + e.code"));
            p.line("s = s * 31 + p.sum()");
        });
        p.line("return s + i");
    });
    let made = if queue == "Ring" { format!("Ring({size})") } else { "Slot()".into() };
    let swapped = p.choices.chance(50);
    p.function(format!("fun {name}(d: Desk, x: Int): Int {{"), |p| {
        p.line(format!("let q = {made}"));
        let (other, own) = if swapped { ("Take", "Make") } else { ("Make", "Take") };
        p.line(format!("let t = spawn(() => {name}{other}(q, x))"));
        p.line("var s = 0");
        p.two_blocks("try {", |p| p.line(format!("s = {name}{own}(q, x)")), "catch (e: AppError) {", |p| p.line("s = e.code"));
        p.two_blocks("try {", |p| p.line("s = s * 31 + t.join()"), "catch (e: AppError) {", |p| p.line("s = s * 37 + e.code"));
        p.line("return s");
    });
}

/// With a parcel that no other thread has.
fn local(p: &mut Part<'_, '_>) {
    let most = p.choices.below(60);
    let line = p.pick(&[
        "p.n += i",
        "p.weight = p.weight * 0.5 + x.toFloat()",
        "s = s * 31 + p.n",
        "s ^= p.sum()",
        "if p.n % 3 == 1 { p.next = Parcel(i, p.next) }",
        "for j in 0..<(i & 7) { s = s * 3 + j; p.n += j }",
        "s += [p.n, i, x][s & 1]",
        "s ^= heavy(i, #)",
    ]);
    p.line(line.replace('#', &most.to_string()));
}

/// Threads that are started with what was written before, and joined before what they wrote is read.
fn joined(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}Work(d: Desk, me: Int, x: Int): Int {{"), |p| {
        p.line("var s = me");
        p.block("for i in 0..<25 {", |p| p.some(4, |p| work(p, 1)));
        p.line("return s");
    });
    p.function(format!("fun {name}(d: Desk, x: Int): Int {{"), |p| {
        p.line("var s = 1");
        p.block("for i in 0..<3 {", |p| {
            p.line("let me = i");
            p.line("let own = Desk(AtomicInt(0), AtomicInt(i))");
            p.line("own.n = s & 255");
            p.line(format!("let t = spawn(() => {name}Work(d, i, x))"));
            p.two_blocks(
                "try {",
                |p| p.line(format!("s = s * 31 + {name}Work(own, 7, x)")),
                "catch (e: AppError) {",
                |p| p.line("s = s * 31 + e.code"),
            );
            p.two_blocks("try {", |p| p.line("s = s * 31 + t.join()"), "catch (e: AppError) {", |p| p.line("s = s * 37 + e.code"));
            p.two_blocks("try {", |p| p.some(3, |p| work(p, 1)), "catch (e: AppError) {", |p| p.line("s += e.code"));
            p.line("s = s * 31 + d.check() + own.check()");
        });
        p.line("return s");
    });
}

/// Both at once, with what gives the same in every order.
fn summed(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}Work(d: Desk, me: Int, x: Int): Int {{"), |p| {
        p.line("var s = me");
        p.line("var p = Parcel(me, null)");
        p.block("for i in 0..<50 {", |p| {
            p.some(5, |p| match p.choices.below(5) {
                0 => p.line("d.count.add(i * 3 + me)"),
                1 => p.block("lock d.key {", |p| {
                    p.line("d.added += i ^ me");
                    p.some(2, |p| {
                        let line =
                            p.pick(&["d.n ^= i * 5 + me", "d.cells[i % 5] += me + 1", "if i % 7 == 3 { continue }", "s = s * 31 + i"]);
                        p.line(line);
                    });
                }),
                2 => p.line("lock d.key { d.cells[(i + me) % 5] += i }"),
                3 => p.line("p = Parcel(i, Parcel(p.n, null))"),
                _ => local(p),
            });
        });
        p.line("return s * 31 + p.sum()");
    });
    both(p, name, &format!("{name}Work(d, 1, x)"), &format!("{name}Work(d, 0, x)"));
}

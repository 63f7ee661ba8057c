//! Parts that are the same in all programs that have them: the accounting that makes programs end, and generic classes and functions whose use is random.

/// What every program needs, besides a constant `TRACES`: whether reports of errors show where they come from.
pub const PRELUDE: &str = "\
var fuel = 0
var trail = 17
let mutex = Mutex()

class OutOfFuel() : Error(\"out of fuel\")

class AppError(message: Str, let code: Int) : Error(message)

class FatalError(code: Int) : AppError(\"fatal ${code}\", code)

// Takes from the fuel; throws when there is none.
fun burn() {
    fuel -= 1
    if fuel < 0 { throw OutOfFuel() }
}

// Notes that it was evaluated, and when.
fun tick(tag: Int, value: Int): Int {
    trail = (trail * 31 + tag) ^ value
    return value
}

fun flag(tag: Int, value: Bool): Bool {
    trail = trail * 31 + tag
    return value
}

// Keeps texts short.
fun clip(text: Str): Str = if text.length > 120 { \"long ${text.length}\" } else { text }

fun fail(code: Int): Int {
    if code % 3 == 0 { throw FatalError(code) }
    throw AppError(\"app ${code}\", code)
}

fun report(error: Error) {
    if error is OutOfFuel { return }
    if error is AppError {
        println(\"caught ${className(error)} ${error.message} code ${error.code}\")
    } else {
        println(\"caught ${className(error)} ${error.message}\")
    }
    // How deep the stack is, is a tier's own matter.
    if TRACES && !(error is StackOverflowError) { print(error.stackTrace()) }
}

class Cell<T>(var value: T) {
    var changes: Int = 0

    fun get(): T = value

    fun put(next: T): T {
        let old = value
        value = next
        changes += 1
        return old
    }

    fun change(by: (T) -> T): Cell<T> {
        value = by(value)
        changes += 1
        return this
    }

    fun map<R>(by: (T) -> R): Cell<R> = Cell<R>(by(value))

    override fun equals(other: Object?): Bool = other is Cell<T> && value == other.value

    override fun hash(): Int = value.hash() * 7

    override fun toString(): Str = \"Cell(${value})/${changes}\"
}

fun pick<T>(first: Bool, a: T, b: T): T = if first { a } else { b }

fun twice<T>(by: (T) -> T, start: T): T = by(by(start))

// Hide from flow analysis whether there is a value, and of which class.
fun maybe<T>(value: T?): T? = value

fun same<T>(value: T): T = value

fun orElse<T>(value: T?, other: T): T = value ?: other

fun largest<T: Comparable<T>>(list: List<T>, start: T): T {
    var best = start
    for item in list {
        if item.compareTo(best) > 0 { best = item }
    }
    return best
}
";

/// Parts that a program may have: a name for the tests that use it, and text with a function `Int -> Int` of that name.
pub const EXTRAS: &[(&str, &str)] = &[
    (
        "deep",
        "\
fun down(n: Int): Int = 1 + down(n + 1)

fun deep(n: Int): Int {
    try {
        return down(n)
    } catch (e: StackOverflowError) {
        return 77 + n
    }
}
",
    ),
    (
        "versions",
        "\
class Version(let major: Int, let minor: Int) : Comparable<Version> {
    override fun compareTo(other: Version): Int {
        if major != other.major { return major.compareTo(other.major) }
        return minor.compareTo(other.minor)
    }
    override fun equals(other: Object?): Bool = other is Version && compareTo(other) == 0
    override fun hash(): Int = major * 1000 + minor
    override fun toString(): Str = \"v${major}.${minor}\"
}

fun versions(n: Int): Int {
    let all = List<Version>()
    for i in 0..<8 { all.add(Version((n * i) % 3, (n + i * 5) % 7)) }
    let ordered = sorted(all)
    let seen = Map<Version, Int>()
    for v in ordered { seen.set(v, seen.getOr(v, 0) + 1) }
    println(\"${ordered} ${seen} ${largest<Version>(all, Version(0, 0))} ${max(all[0], all[7])}\")
    return seen.size()
}
",
    ),
    (
        "countdown",
        "\
class Countdown(let from: Int, let step: Int) : Iterable<Int> {
    override fun iterator(): Iterator<Int> = CountdownIterator(from, step)
}

class CountdownIterator(var at: Int, let step: Int) : Iterator<Int> {
    override fun hasNext(): Bool = at > 0
    override fun next(): Int {
        let now = at
        at -= step
        return now
    }
}

fun countdown(n: Int): Int {
    var sum = 0
    for x in Countdown(n & 31, 1 + (n & 3)) {
        if x % 5 == 0 { continue }
        if sum > 200 { break }
        sum += x
        for y in Countdown(x & 3, 1) { sum = sum * 3 + y }
    }
    return sum
}
",
    ),
    (
        "makers",
        "\
fun makers(n: Int): Int {
    let all = List<() -> Int>()
    var shared = n
    for i in 0..<4 {
        var own = i * 10
        all.add(() => {
            own += 1
            shared += own
            return own * 100 + shared % 100
        })
    }
    var sum = 0
    for round in 1..3 {
        for f in all { sum = sum * 7 + f() }
    }
    return sum ^ shared
}
",
    ),
    (
        "workers",
        "\
fun workers(n: Int): Int {
    let atomic = AtomicInt(n)
    let lockIt = Mutex()
    var counted = 0
    let threads = List<Thread<Int>>()
    for id in 1..3 {
        threads.add(spawn(() => {
            var own = 0
            for i in 0..<(20 * id) {
                atomic.add(i)
                lock lockIt {
                    counted += id
                    if i % 7 == 0 { continue }
                    own += i ^ id
                }
            }
            if own % 5 == 4 { throw AppError(\"worker ${id}\", own) }
            return own
        }))
    }
    var sum = 0
    for thread in threads {
        try {
            sum = sum * 31 + thread.join()
        } catch (e: AppError) {
            sum += e.code
        }
    }
    println(\"workers ${atomic.get()} ${counted}\")
    return sum
}
",
    ),
    (
        "chain",
        "\
class Link(let value: Int, var next: Link?) {
    fun last(): Link {
        var at = this
        while true {
            let next = at.next
            if next == null { return at }
            at = next
        }
    }
}

fun chain(n: Int): Int {
    var head: Link? = null
    for i in 0..<300 {
        let kept = Link(i * n, head)
        if i % 3 != 0 { head = kept }
        let garbage = Link(i, Link(i + 1, kept))
        if garbage.value < 0 { println(\"never\") }
    }
    var sum = 0
    var at = head
    while at != null {
        sum = sum * 3 + at.value
        at = at.next
    }
    if head != null { sum ^= head.last().value }
    return sum
}
",
    ),
    (
        "leaving",
        "\
fun leave(way: Int): Int {
    var log = 1
    for i in 0..<3 {
        try {
            log = log * 10 + i
            try {
                if way == 0 { continue }
                if way == 1 { break }
                if way == 2 { return log }
                if way == 3 { throw AppError(\"way\", log) }
                if way == 4 { log = log / (way - 4) }
                log = log * 10 + 7
            } finally {
                log = log * 10 + 8
                println(\"inner ${way} ${log}\")
            }
        } catch (e: AppError) {
            log = log * 10 + 5
            if i == 1 { return log }
        } finally {
            log += 3
            println(\"outer ${way} ${log}\")
        }
    }
    return log
}

fun leaving(n: Int): Int {
    var sum = 0
    for way in 0..5 {
        try {
            sum = sum * 31 + leave(way) + n
        } catch (e: Error) {
            report(e)
        }
    }
    return sum
}
",
    ),
    (
        "bytes",
        "\
fun bytes(n: Int): Int {
    let all = Bytes(16)
    for i in 0..<all.length { all[i] = n * i + 250 }
    var sum = 0
    for b in all { sum = sum * 31 + b }
    let text = \"Grüße ${n}\"
    for b in text.toBytes() { sum = (sum << 5) - sum + b }
    for i in 0..<text.length { sum ^= text[i] << (i & 7) }
    try {
        sum += text.substring(3, 4).length
    } catch (e: Error) {
        report(e)
    }
    return sum
}
",
    ),
    (
        "limits",
        "\
fun limits(n: Int): Int {
    var rounds = 0
    for i in (Int.MAX - 2)..Int.MAX { rounds += 1 }
    for i in (Int.MIN + 2)..Int.MIN step -1 { rounds += 10 }
    for i in 0..Int.MAX step 4611686018427387904 { rounds += 100 }
    for i in 5..<5 { rounds += 1000 }
    let least = Int.MIN + (n - n)
    let minus = -1 + (n - n)
    println(\"${least / minus} ${least % minus} ${-least} ${least * minus} ${Int.MAX + 1}\")
    println(\"${n << 65} ${minus >>> 60} ${least >> 63} ${1.0e19.toInt()} ${(0.0 / 0.0).toInt()} ${-1.0 / 0.0}\")
    return rounds
}
",
    ),
];

//! Texts that are put together, taken apart and compared in loops, byte by byte and as a whole; builders; what collections of texts do with them.
//!
//! Out: functions over two texts and a number. Texts stay short: what grows is clipped.

use crate::choices::Choices;
use crate::part::Part;

const TEXTS: &[&str] =
    &["\"\"", "\"a\"", "\"abcabc\"", "\"héé\"", "\"x,y,,z\"", "\" 12 \"", "\"-7\"", "\"b${start}\"", "\"\\u{1F600}!\"", "\"ab\\ncd\""];

/// The text of such functions; the last one has this name.
pub fn texts(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    let count = 1 + part.choices.below(2);
    for number in 0..count {
        function(&mut part, &format!("{name}{number}"));
    }
    part.driver(name, |p| {
        p.some(6, |p| {
            let (number, a, b) = (p.choices.below(count), p.pick(TEXTS), p.pick(TEXTS));
            let n = p.pick(&["start", "start & 7", "0", "2", "-1"]);
            p.guarded(&format!("{name}{number}({a}, {b}, {n})"));
        });
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(a: Str, b: Str, n: Int): Int {{"), |p| {
        p.line("var s = 0");
        p.line("var u = a");
        p.line("let all = List<Str>()");
        p.line("let seen = Map<Str, Int>()");
        p.line("let w = StringBuilder()");
        p.line("var o: Object = b");
        p.line("var m: Str? = null");
        p.some(6, |p| statement(p, 0));
        p.line("println(\"${u} ${all} ${seen} ${w} ${o} ${m}\")");
        p.line("return s");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize) {
    match p.choices.below(if depth < 2 { 17 } else { 11 }) {
        0 | 1 => {
            let value = text(p);
            p.line(format!("u = clip({value})"));
        }
        2 | 3 => {
            let value = int(p);
            p.line(format!("s = s * 31 + {value}"));
        }
        4 => {
            let value = text(p);
            p.line(format!("if all.size() < 12 {{ all.add(clip({value})) }}"));
        }
        5 => {
            let (key, value) = (text(p), int(p));
            p.line(format!("if seen.size() < 12 {{ seen[clip({key})] = {value} }}"));
        }
        6 | 7 => {
            let line = p.pick(&[
                "w.append(u).appendInt(s & 255)",
                "w.appendChar('a' + (s & 15))",
                "w.append(\"${n};\")",
                "w.appendFloat(n.toFloat())",
                "w.clear()",
                "u = clip(w.toString())",
            ]);
            p.line(format!("if w.length() < 60 {{ {line} }}"));
        }
        8 => {
            let line = p.pick(&[
                "o = u",
                "o = n.toFloat().toString()",
                "o = all",
                "m = maybe<Str>(u)",
                "m = null",
                "m = maybe<Str>(b)",
                "o = [n]",
            ]);
            p.line(line);
        }
        9 => p.line("if o is Str { s += o.length }"),
        10 => p.line("s += (maybe<Str>(m)?.length ?: 3) + (m == u).toInt()"),
        11..14 => looped(p, depth),
        14 => {
            let cond = cond(p);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, depth + 1), "else {", |p| statement(p, depth + 1));
        }
        _ => {
            let part = p.pick(&[
                "u.substring(n, s & 7)",
                "u.substring(0, 1)",
                "a.substring(1, a.length)",
                "charToStr(s & 0x1fffff)",
                "parseInt(u).toString()",
                "b.repeat(n)",
            ]);
            p.two_blocks("try {", |p| p.line(format!("u = clip({part})")), "catch (e: Error) {", |p| p.line("s += e.message.length"));
        }
    }
}

fn looped(p: &mut Part<'_, '_>, depth: usize) {
    let i = p.fresh("i");
    match p.choices.below(4) {
        0 => p.block(format!("for {i} in 0..<u.length {{"), |p| {
            let line = p.pick(&[
                "s = s * 31 + u[@]",
                "if u[@] == 'a' { s += 1 }",
                "if @ < b.length && u[@] != b[@] { break }",
                "s ^= u[u.length - 1 - @]",
                "s += b[@]",
            ]);
            p.line(line.replace('@', &i));
            p.some(2, |p| statement(p, depth + 1));
        }),
        1 => p.block(format!("for {i} in 0..<4 {{"), |p| {
            let line =
                p.pick(&["u = clip(u + a)", "u = clip(\"${@}\" + u)", "u = clip(\"${u}${@}${n}\")", "s += (a == b).toInt() + a.length"]);
            p.line(line.replace('@', &i));
            p.some(2, |p| statement(p, depth + 1));
        }),
        2 => {
            let of = p.pick(&["u.split(\",\")", "[a, b, u]", "listOf<Str>([b, u])", "a.lines()", "all.toArray()"]);
            p.block(format!("for {i} in {of} {{"), |p| {
                p.line(format!("s = s * 3 + {i}.length + ({i} < u).toInt()"));
                p.some(2, |p| statement(p, depth + 1));
            });
        }
        _ => p.block(format!("for {i} in u.toBytes() {{"), |p| {
            p.line(format!("s = (s << 3) ^ {i}"));
            p.some(2, |p| statement(p, depth + 1));
        }),
    }
}

fn text(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(8) {
        0 => format!("({} + {} + {})", p.pick(&["a", "u", "\"<\""]), p.pick(&["b", "\"${n}\"", "a"]), p.pick(&["a", "b", "\"-\"", "u"])),
        1 => format!("{}.{}()", p.pick(&["a", "b", "u"]), p.pick(&["trim", "toUpper", "toLower"])),
        2 => p.pick(&["\"${n}\"", "\"<${a}|${u}>\"", "\"${n > 2} ${n.toFloat()}\"", "n.toRadix(16)", "s.toString()", "\"${m}\""]).into(),
        3 => format!("{}.replace({}, {})", p.pick(&["a", "u"]), p.pick(&["\"a\"", "\"b\"", "\",\""]), p.pick(&["\"\"", "b", "\"cd\""])),
        4 => p
            .pick(&[
                "(m ?: a)",
                "all.join(\"+\")",
                "(if s > 3 { a } else { b })",
                "charToStr('a' + (n & 7))",
                "min<Str>(a, u)",
                "w.toString()",
            ])
            .into(),
        _ => p.pick(&["a", "b", "u", "\"abc\""]).into(),
    }
}

fn int(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(5) {
        0 => format!("{}.length", text(p)),
        1 => format!("{}.hash()", text(p)),
        2 => format!("{}.compareTo({})", p.pick(&["a", "b", "u"]), text(p)),
        3 => format!("{}.indexOf({})", p.pick(&["a", "b", "u"]), p.pick(&["\"b\"", "a", "\"\""])),
        _ => p
            .pick(&[
                "n",
                "(tryParseInt(u) ?: 4)",
                "seen.getOr(u, 6)",
                "all.indexOf(a)",
                "u.codePoints().length",
                "(u.length & 3)",
                "all.size()",
            ])
            .into(),
    }
}

fn cond(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(4) {
        0 => format!("{} {} {}", p.pick(&["a", "b", "u"]), p.pick(&["==", "<", ">=", "!="]), text(p)),
        1 => p
            .pick(&[
                "u.isEmpty()",
                "m == null",
                "m != null && m.length > 1",
                "o is Str",
                "u.contains(a)",
                "seen.contains(b)",
                "u.startsWith(b)",
            ])
            .into(),
        _ => format!("{} {} {}", int(p), p.pick(&["<", ">", "=="]), int(p)),
    }
}

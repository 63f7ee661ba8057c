//! Fields and globals that are read before their initializer ran: of types without null, and null all the same.
//!
//! Out: a base class whose construction calls what a derived class overrides, where fields of all kinds are used, tested and passed on, in loops too; later the same code runs once they have their values.

use crate::choices::Choices;
use crate::part::Part;

/// Fields of the derived class and what initializes them; each has its own uses.
const FIELDS: &[(&str, &str)] = &[
    ("text: Str", "\"text${n}\""),
    ("items: Array<Int>", "[n, 2, 3]"),
    ("list: List<Int>", "listOf<Int>([n, 1])"),
    ("cell: Cell<Int>", "Cell<Int>(n)"),
    ("by: (Int) -> Int", "((q: Int) => q * 3 + n)"),
    ("next: Promise", "if depth > 0 { Later(n + 1, depth - 1) } else { same<Promise>(this) }"),
    ("count: Int", "n + 4"),
    ("ratio: Float", "n.toFloat() + 0.5"),
    ("names: Array<Str>", "[\"a\", \"b${n}\"]"),
    ("box: Int?", "maybe<Int>(n)"),
    ("comparable: Version0", "Version0(n)"),
];

const USES: &[&[&str]] = &[
    &[
        "text.length",
        "text[0]",
        "text.indexOf(\"x\")",
        "text.compareTo(\"u\")",
        "(text + \"!\").length",
        "(text == \"text5\").toInt()",
        "text.hash()",
        "(text?.length ?: 40)",
        "(text ?: \"none\").length",
        "\"${text}\".length",
    ],
    &[
        "items[0]",
        "items.length",
        "items[i]",
        "items[n & 3]",
        "items.copy()[1]",
        "items.indexOf(2)",
        "(items === other.items).toInt()",
        "(items?.length ?: 41)",
    ],
    &[
        "list.size()",
        "list[0]",
        "list.fold<Int>(0, (a, b) => a + b)",
        "(list ?: listOf<Int>([7])).size()",
        "list.indexOf(1)",
        "(list == other.list).toInt()",
    ],
    &[
        "cell.value",
        "cell.get()",
        "cell.put(i)",
        "cell.hash()",
        "(cell?.value ?: 42)",
        "(cell == Cell<Int>(n)).toInt()",
        "cell.map<Int>(q => q + i).value",
    ],
    &["by(i)", "twice<Int>(by, n)", "(by ?: (q => q))(i)", "same<(Int) -> Int>(by)(3)"],
    &[
        "(if i == 3 { next.look(2) } else { 4 })",
        "next.n",
        "(next === this).toInt()",
        "(next is Later).toInt()",
        "(next as Later).n",
        "(next?.n ?: 43)",
        "(next ?: this).n",
        "useOf(next)",
    ],
    &["count", "count * 2"],
    &["ratio.toInt()", "(ratio == 0.0).toInt()"],
    &["names[0].length", "names[1].length", "names.length", "(names[i & 1] ?: \"none\").length"],
    &["(box ?: 44)", "box!!", "(box == null).toInt()"],
    &[
        "comparable.compareTo(Version0(i))",
        "(comparable == Version0(n)).toInt()",
        "comparable.rank",
        "max<Version0>(comparable, Version0(2)).rank",
    ],
];

const GLOBAL_USES: &[&str] = &[
    "first.n",
    "first.text.length",
    "first.look(n)",
    "(first?.n ?: 3)",
    "(first ?: Later(n, 0)).n",
    "useOf(first)",
    "first.seen",
    "firstText.length",
    "(firstText ?: \"none\").length",
    "(firstText == \"text1\").toInt()",
];

const CLASSES: &str = "
class Version0(let rank: Int) : Comparable<Version0> {
    override fun compareTo(other: Version0): Int = rank - other.rank
    override fun equals(other: Object?): Bool = other is Version0 && other.rank == rank
    override fun hash(): Int = rank
}

abstract class Promise(let n: Int) {
    var seen = 0
    init {
        for i in 0..<3 {
            try {
                seen = seen * 31 + look(i)
            } catch (e: NullError) {
                seen = seen * 31 + 7
                report(e)
            }
        }
    }
    abstract fun look(i: Int): Int
}

fun useOf(promise: Promise): Int = promise.n + 1
";

/// The text of such functions; the last one has this name.
pub fn promises(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    part.function("class Later(n: Int, let depth: Int) : Promise(n) {", |p| {
        for (field, value) in FIELDS {
            let keyword = p.pick(&["let", "var"]);
            p.line(format!("{keyword} {field} = {value}"));
        }
        p.block("override fun look(i: Int): Int {", |p| {
            p.line("let other = this");
            p.line("var s = i");
            p.some(5, |p| statement(p, 0));
            p.line("return s");
        });
    });
    part.function(format!("fun {name}Early(n: Int): Int {{"), |p| {
        p.line("var s = n");
        p.two_blocks(
            "try {",
            |p| {
                p.some(3, |p| {
                    let value = p.pick(GLOBAL_USES);
                    p.line(format!("s = s * 31 + {value}"));
                })
            },
            "catch (e: NullError) {",
            |p| p.line("report(e)"),
        );
        p.line("return s");
    });
    part.text(&format!("\nlet {name}Seen = {name}Early(1)\nlet first = Later(1, 0)\nlet firstText = first.text\n"));
    part.driver(name, |p| {
        p.line(format!("sum = {name}Seen * 31 + {name}Early(start & 3)"));
        let (n, depth) = (p.pick(&["start", "start & 3", "0", "5"]), p.choices.below(3));
        p.line(format!("let made = Later({n}, {depth})"));
        p.block("for i in 0..<4 {", |p| {
            p.guarded("made.look(i)");
            p.guarded("first.look(i)");
        });
        p.line("sum = sum * 31 + made.seen");
    });
    part.finish()
}

/// One use of a field.
fn field_use(p: &mut Part<'_, '_>) -> &'static str {
    let uses = *p.choices.pick(USES);
    p.pick(uses)
}

fn statement(p: &mut Part<'_, '_>, depth: usize) {
    let value = field_use(p);
    match p.choices.below(if depth < 2 { 9 } else { 4 }) {
        0..3 => p.line(format!("s = s * 31 + {value}")),
        3 => p.line(format!("if s % 3 == 1 {{ s += {value} }}")),
        4 => p.two_blocks(
            "try {",
            |p| {
                p.line(format!("s += {value}"));
                statement(p, depth + 1);
            },
            "catch (e: NullError) {",
            |p| p.line("s = s * 31 + 5"),
        ),
        5 | 6 => {
            let k = p.fresh("k");
            p.block(format!("for {k} in 0..<4 {{"), |p| {
                p.line(format!("s += {value} + {k}"));
                p.some(2, |p| statement(p, depth + 1));
            });
        }
        7 => {
            let cond = p.pick(&["text == null", "next === this", "items.length > 2", "list != null", "i == 1", "n > 3"]);
            p.two_blocks(format!("if {cond} {{"), |p| p.line(format!("s ^= {value}")), "else {", |p| statement(p, depth + 1));
        }
        _ => {
            let local = p.fresh("c");
            let (field, of) =
                *p.choices.pick(&[("text", "length"), ("items", "length"), ("next", "n"), ("cell", "value"), ("list", "size()")]);
            p.line(format!("let {local} = {field}"));
            statement(p, depth + 1);
            p.line(format!("s += {local}.{of}"));
        }
    }
}

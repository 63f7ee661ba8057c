//! What functions about one subject are written with (`floats.rs`, `objects.rs`, …): lines, blocks, names and choices.
//!
//! In: choices. Out: text. Such a part of a program is one function `Int -> Int` and what that needs; it prints what it finds on the way, errors included.

use crate::choices::Choices;

/// Numbers at which arithmetic changes its mind, and small ones.
pub const EDGES: &[&str] = &["0", "1", "-1", "2", "7", "63", "64", "255", "256", "Int.MAX", "Int.MIN", "4294967296", "-2147483649"];

pub struct Part<'a, 'b> {
    pub choices: &'a mut Choices<'b>,
    out: String,
    indent: usize,
    names: usize,
}

impl<'a, 'b> Part<'a, 'b> {
    pub fn new(choices: &'a mut Choices<'b>) -> Self {
        Part { choices, out: String::new(), indent: 0, names: 0 }
    }

    pub fn finish(self) -> String {
        self.out
    }

    /// Text as it stands.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Whether this stands in what was written.
    pub fn has(&self, text: &str) -> bool {
        self.out.contains(text)
    }

    pub fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(&"    ".repeat(self.indent));
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    /// A line that opens a block, what stands in the block, and its end.
    pub fn block(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) {
        self.line(head);
        self.indent += 1;
        body(self);
        self.indent -= 1;
        self.line("}");
    }

    /// A block, and another that goes on after its end: `else`, `catch`, `finally`.
    pub fn two_blocks(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self), next: impl AsRef<str>, rest: impl FnOnce(&mut Self)) {
        self.line(head);
        self.indent += 1;
        body(self);
        self.indent -= 1;
        self.block(format!("}} {}", next.as_ref()), rest);
    }

    pub fn function(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) {
        self.out.push('\n');
        self.block(head, body);
    }

    /// Up to three functions of this name with their number; gives how many.
    pub fn functions(&mut self, name: &str, function: impl Fn(&mut Self, &str)) -> usize {
        let count = 1 + self.choices.below(3);
        (0..count).for_each(|number| function(self, &format!("{name}{number}")));
        count
    }

    pub fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn pick(&mut self, items: &[&'static str]) -> &'static str {
        let item: &'static str = self.choices.pick::<&'static str>(items);
        item
    }

    /// Statements, at least one.
    pub fn some(&mut self, most: usize, mut statement: impl FnMut(&mut Self)) {
        for _ in 0..1 + self.choices.below(most) {
            statement(self);
        }
    }

    /// Calls that add up to `sum`; an error is printed, and the next call made.
    pub fn guarded(&mut self, call: &str) {
        self.two_blocks("try {", |p| p.line(format!("sum = sum * 31 + {call}")), "catch (e: Error) {", |p| p.line("report(e)"));
    }

    /// The function that the program calls.
    pub fn driver(&mut self, name: &str, calls: impl FnOnce(&mut Self)) {
        self.function(format!("fun {name}(start: Int): Int {{"), |p| {
            p.line("var sum = 0");
            calls(p);
            p.line("return sum");
        });
    }
}

//! A document whose lines are not broken yet, and the printer that breaks them.
//!
//! In: a tree of texts with possible line breaks. Out: lines of at most [`WIDTH`] columns where the possible breaks allow it.
//!
//! The model is Wadler's ("A prettier printer", 2003) with two additions that today's formatters share: a group may be broken for another reason than its width, and a fill
//! breaks only where it must. Line breaks collapse: two in a row are one, so whoever needs a fresh line asks for it without asking what came before. The printer runs on
//! a stack of its own; measuring whether a group fits stops at the first line break or the end of the line, so printing is linear.

/// Columns of a line.
pub const WIDTH: usize = 100;

pub struct Doc {
    pub kind: Kind,
    /// Contains a line break that must be, because of a comment or because the author wants it: groups around it are broken.
    pub forces: bool,
    /// Contains a block or list of several lines: groups around it need not be broken.
    pub blocky: bool,
    /// Such a block or list itself.
    is_open: bool,
}

pub enum Kind {
    Text(String),
    /// A comment at the end of a line: does not count for the line's width.
    Suffix(String),
    Space,
    /// A space, or a line break where the group around it is broken.
    Line,
    /// Nothing, or a line break.
    Soft,
    /// A line break.
    Hard,
    /// A line break and an empty line.
    Blank,
    Concat(Vec<Doc>),
    /// Deeper by so many columns, where the group around it is broken.
    Indent(usize, Vec<Doc>),
    Group {
        items: Vec<Doc>,
        broken: bool,
    },
    /// A head and what follows it dot by dot: all in one line as far as the first block of several lines, or each link in a line of its own, deeper by `indent`.
    Chain {
        head: Vec<Doc>,
        links: Vec<Doc>,
        indent: usize,
        broken: bool,
    },
    /// A space and the contents, or where they do not fit behind it but in a line of their own, a line break (deeper by `indent`) and the contents.
    Hang {
        items: Vec<Doc>,
        indent: usize,
        with_blocks: bool,
    },
    /// Contents and separators in turn. After the first separator that is a line break everything is deeper by `indent`.
    Fill {
        items: Vec<Doc>,
        indent: usize,
    },
}

impl Doc {
    fn leaf(kind: Kind) -> Doc {
        Doc { kind, forces: false, blocky: false, is_open: false }
    }

    pub fn text(text: impl Into<String>) -> Doc {
        Doc::leaf(Kind::Text(text.into()))
    }

    /// A comment inside of a line. One of several lines breaks the groups around it, which it would do wherever it stood at the start of a line.
    pub fn comment(text: &str) -> Doc {
        Doc { forces: text.contains('\n'), ..Doc::text(text) }
    }

    pub fn suffix(text: &str) -> Doc {
        Doc::leaf(Kind::Suffix(text.to_string()))
    }

    pub fn space() -> Doc {
        Doc::leaf(Kind::Space)
    }

    pub fn line() -> Doc {
        Doc::leaf(Kind::Line)
    }

    pub fn soft() -> Doc {
        Doc::leaf(Kind::Soft)
    }

    pub fn hard() -> Doc {
        Doc { forces: true, ..Doc::leaf(Kind::Hard) }
    }

    /// A line break that says nothing about the groups around it.
    pub fn newline() -> Doc {
        Doc::leaf(Kind::Hard)
    }

    pub fn blank() -> Doc {
        Doc { forces: true, ..Doc::leaf(Kind::Blank) }
    }

    fn of(items: Vec<Doc>, kind: impl FnOnce(Vec<Doc>) -> Kind) -> Doc {
        let (forces, blocky) = (items.iter().any(|d| d.forces), items.iter().any(|d| d.blocky));
        Doc { forces, blocky, ..Doc::leaf(kind(items)) }
    }

    pub fn concat(items: Vec<Doc>) -> Doc {
        Doc::of(items, Kind::Concat)
    }

    pub fn indent(columns: usize, items: Vec<Doc>) -> Doc {
        Doc::of(items, |items| Kind::Indent(columns, items))
    }

    /// Broken if anything in it must be.
    pub fn group(items: Vec<Doc>) -> Doc {
        let mut doc = Doc::of(items, |items| Kind::Group { items, broken: false });
        if doc.forces {
            doc.set_broken();
        }
        doc
    }

    /// Everything stands in one line but for one block or list of several lines, behind which there are only closing brackets.
    pub fn ends_open(&self) -> bool {
        let items = match &self.kind {
            _ if self.is_open => return true,
            Kind::Group { items, .. }
            | Kind::Concat(items)
            | Kind::Indent(_, items)
            | Kind::Hang { items, .. }
            | Kind::Fill { items, .. } => items,
            _ => return false,
        };
        let closes = |d: &&Doc| matches!(d.kind, Kind::Soft | Kind::Text(_));
        let mut rest = items.iter().rev().skip_while(closes);
        rest.next().is_some_and(Doc::ends_open) && rest.all(|d| !d.blocky)
    }

    fn set_broken(&mut self) {
        if let Kind::Group { broken, .. } = &mut self.kind {
            *broken = true;
        }
    }

    /// What stands in a line: with a block of several lines in it, all groups in it are looked at on their own.
    pub fn sequence(items: Vec<Doc>) -> Doc {
        let mut doc = Doc::group(items);
        if doc.blocky {
            doc.set_broken();
        }
        doc
    }

    /// A block of several lines: broken itself, but those around it need not be.
    pub fn block(items: Vec<Doc>) -> Doc {
        Doc { forces: false, ..Doc::open_list(items) }
    }

    /// A list of several lines, as [`Self::block`], but for what forces line breaks in it.
    pub fn open_list(items: Vec<Doc>) -> Doc {
        let mut doc = Doc::group(items);
        doc.set_broken();
        Doc { blocky: true, is_open: true, ..doc }
    }

    pub fn chain(head: Vec<Doc>, links: Vec<Doc>, indent: usize, broken: bool) -> Doc {
        let all = || head.iter().chain(&links);
        let (forces, blocky) = (all().any(|d| d.forces), broken || all().any(|d| d.blocky));
        Doc { forces, blocky, ..Doc::leaf(Kind::Chain { head, links, indent, broken }) }
    }

    /// Contents with a block of several lines are moved to a line of their own only where `with_blocks`.
    pub fn hang(items: Vec<Doc>, indent: usize, with_blocks: bool) -> Doc {
        Doc::of(items, |items| Kind::Hang { items, indent, with_blocks })
    }

    pub fn fill(items: Vec<Doc>, indent: usize) -> Doc {
        Doc::of(items, |items| Kind::Fill { items, indent })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Break,
}

#[derive(Clone, Copy)]
enum Work<'a> {
    Doc(&'a Doc),
    Docs(&'a [Doc]),
    Fill(&'a [Doc], usize),
    /// At a separator.
    FillRest(&'a [Doc], usize),
    /// Each in a line of its own.
    Links(&'a [Doc]),
}

#[derive(Clone, Copy)]
struct Command<'a> {
    indent: usize,
    mode: Mode,
    work: Work<'a>,
}

struct Printer<'a> {
    out: String,
    /// Columns used of the current line.
    column: usize,
    /// Nothing was written in the current line; the indentation is written with its first text.
    fresh: bool,
    indent: usize,
    blank: bool,
    space: bool,
    stack: Vec<Command<'a>>,
}

/// The document's text; ends with a line break unless it is empty.
pub fn print(doc: &Doc) -> String {
    let start = Command { indent: 0, mode: Mode::Break, work: Work::Doc(doc) };
    let mut p = Printer { out: String::new(), column: 0, fresh: true, indent: 0, blank: false, space: false, stack: vec![start] };
    while let Some(command) = p.stack.pop() {
        p.run(command);
    }
    if !p.fresh {
        p.out.push('\n');
    }
    p.out
}

impl<'a> Printer<'a> {
    fn run(&mut self, c: Command<'a>) {
        match c.work {
            Work::Doc(doc) => self.doc(doc, c),
            Work::Docs([]) => {}
            Work::Docs([first, rest @ ..]) => {
                self.push(c.indent, c.mode, Work::Docs(rest));
                self.push(c.indent, c.mode, Work::Doc(first));
            }
            Work::Fill(items, indent) => self.fill(items, indent, c),
            Work::FillRest(items, indent) => self.fill_rest(items, indent, c),
            Work::Links([]) => {}
            Work::Links([first, rest @ ..]) => {
                self.newline(c.indent);
                self.push(c.indent, c.mode, Work::Links(rest));
                self.push(c.indent, Mode::Break, Work::Doc(first));
            }
        }
    }

    fn push(&mut self, indent: usize, mode: Mode, work: Work<'a>) {
        self.stack.push(Command { indent, mode, work });
    }

    fn doc(&mut self, doc: &'a Doc, c: Command<'a>) {
        match &doc.kind {
            Kind::Text(text) => self.text(text),
            Kind::Suffix(text) => {
                let column = self.column;
                self.text(text);
                self.column = column;
            }
            Kind::Space => self.space = true,
            Kind::Line if c.mode == Mode::Flat => self.space = true,
            Kind::Soft if c.mode == Mode::Flat => {}
            Kind::Line | Kind::Soft | Kind::Hard => self.newline(c.indent),
            Kind::Blank => {
                self.newline(c.indent);
                self.blank = true;
            }
            Kind::Concat(items) => self.push(c.indent, c.mode, Work::Docs(items)),
            Kind::Indent(columns, items) => {
                let indent = if c.mode == Mode::Break { c.indent + columns } else { c.indent };
                self.push(indent, c.mode, Work::Docs(items));
            }
            Kind::Group { items, broken } => {
                let flat = Command { indent: c.indent, mode: Mode::Flat, work: Work::Docs(items) };
                let stays = !broken && (c.mode == Mode::Flat || self.fits(&[flat], true));
                self.push(c.indent, if stays { Mode::Flat } else { Mode::Break }, Work::Docs(items));
            }
            Kind::Fill { items, indent } => self.fill(items, *indent, c),
            Kind::Chain { .. } => self.chain(doc, c),
            Kind::Hang { items, indent, with_blocks } => self.hang(doc, items, *indent, *with_blocks, c),
        }
    }

    fn hang(&mut self, doc: &Doc, items: &'a [Doc], indent: usize, with_blocks: bool, c: Command<'a>) {
        self.space = true;
        let flat = Command { indent: c.indent, mode: Mode::Flat, work: Work::Docs(items) };
        if doc.forces || c.mode == Mode::Flat && !doc.blocky || self.fits(&[flat], true) {
            let mode = if doc.forces || doc.blocky { Mode::Break } else { Mode::Flat };
            return self.push(c.indent, mode, Work::Docs(items));
        }
        let there = c.indent + indent;
        let whole = self.fits_from(there, &[flat], true);
        // As a list of several lines would, what becomes one moves if it cannot even begin here.
        let open = Command { mode: Mode::Break, ..flat };
        let begins = || with_blocks && !self.fits_open(&[open]) && self.measure(there, &[open], false, true);
        let moves = (with_blocks || !doc.blocky) && (whole || begins());
        if moves {
            self.newline(there);
        }
        self.push(c.indent, if whole && !doc.blocky { Mode::Flat } else { Mode::Break }, Work::Docs(items));
    }

    fn chain(&mut self, doc: &'a Doc, c: Command<'a>) {
        let Kind::Chain { head, links, indent, broken } = &doc.kind else { return };
        let flat = |work| Command { indent: c.indent, mode: Mode::Flat, work };
        let in_one_line =
            !broken && !doc.forces && (c.mode == Mode::Flat || self.fits(&[flat(Work::Docs(links)), flat(Work::Docs(head))], true));
        let mode = if in_one_line && !doc.blocky { Mode::Flat } else { Mode::Break };
        if in_one_line {
            self.push(c.indent, mode, Work::Docs(links));
        } else {
            self.push(c.indent + indent, mode, Work::Links(links));
        }
        self.push(c.indent, mode, Work::Docs(head));
    }

    /// At a content.
    fn fill(&mut self, items: &'a [Doc], indent: usize, c: Command<'a>) {
        let [content, rest @ ..] = items else { return };
        let flat = Command { indent: c.indent, mode: Mode::Flat, work: Work::Doc(content) };
        let is_flat = !content.forces && !content.blocky && (c.mode == Mode::Flat || self.fits(&[flat], rest.is_empty()));
        self.push(c.indent, c.mode, Work::FillRest(rest, indent));
        self.push(c.indent, if is_flat { Mode::Flat } else { Mode::Break }, Work::Doc(content));
    }

    /// At a separator: a line break where the next content does not fit behind it, but in a line of its own, or fits nowhere and could not even begin here.
    fn fill_rest(&mut self, items: &'a [Doc], indent: usize, c: Command<'a>) {
        let [separator, rest @ ..] = items else { return };
        let flat = |doc| Command { indent: c.indent, mode: Mode::Flat, work: Work::Doc(doc) };
        let breaks = match (&separator.kind, rest) {
            (Kind::Hard, _) => true,
            (Kind::Line, [next, after @ ..]) if c.mode == Mode::Break => {
                let last = after.is_empty();
                let open = Command { mode: Mode::Break, ..flat(next) };
                !self.fits(&[flat(next), flat(separator)], last)
                    && (self.fits_from(c.indent + indent, &[flat(next)], last) || !self.fits_open(&[open, flat(separator)]))
            }
            _ => false,
        };
        let deeper = if breaks { c.indent + indent } else { c.indent };
        self.push(deeper, c.mode, Work::Fill(rest, if breaks { 0 } else { indent }));
        self.push(deeper, if breaks { Mode::Break } else { Mode::Flat }, Work::Doc(separator));
    }

    /// The commands (last first) reach the next line break before the line is full. With `rest`, what follows them is looked at, too.
    fn fits(&self, commands: &[Command<'a>], rest: bool) -> bool {
        let used = if self.fresh { self.indent } else { self.column + usize::from(self.space) };
        self.fits_from(used, commands, rest)
    }

    /// As [`Self::fits`], where groups may break.
    fn fits_open(&self, commands: &[Command<'a>]) -> bool {
        let used = self.column + usize::from(self.space);
        self.measure(used, commands, false, true)
    }

    /// As [`Self::fits`], in a line of which `used` columns are taken.
    fn fits_from(&self, used: usize, commands: &[Command<'a>], rest: bool) -> bool {
        self.measure(used, commands, rest, false)
    }

    fn measure(&self, used: usize, commands: &[Command<'a>], rest: bool, open: bool) -> bool {
        let Some(mut left) = WIDTH.checked_sub(used) else { return false };
        let mut stack: Vec<(Mode, Work)> = commands.iter().map(|c| (c.mode, c.work)).collect();
        let mut following = if rest { self.stack.len() } else { 0 };
        loop {
            let (mode, work) = match stack.pop() {
                Some(next) => next,
                None if following == 0 => return true,
                None => {
                    following -= 1;
                    (self.stack[following].mode, self.stack[following].work)
                }
            };
            let is_rest = open || (rest && following < self.stack.len());
            let doc = match work {
                Work::Doc(doc) => doc,
                Work::Docs([]) | Work::Fill([], _) | Work::FillRest([], _) => continue,
                Work::Links([]) => continue,
                Work::Links(_) => return true,
                Work::Docs([first, rest @ ..]) => {
                    stack.push((mode, Work::Docs(rest)));
                    first
                }
                Work::Fill([first, rest @ ..], indent) | Work::FillRest([first, rest @ ..], indent) => {
                    stack.push((mode, Work::Fill(rest, indent)));
                    first
                }
            };
            let width = match &doc.kind {
                Kind::Text(text) => text.chars().count(),
                Kind::Suffix(_) => 0,
                Kind::Hard | Kind::Blank => return true,
                Kind::Line | Kind::Soft if mode == Mode::Break => return true,
                Kind::Hang { .. } if mode == Mode::Break && is_rest => return true,
                Kind::Hang { items, .. } => {
                    stack.push((Mode::Flat, Work::Docs(items)));
                    1
                }
                Kind::Soft => 0,
                Kind::Space | Kind::Line => 1,
                Kind::Concat(items) | Kind::Indent(_, items) => {
                    stack.push((mode, Work::Docs(items)));
                    0
                }
                Kind::Fill { items, .. } => {
                    stack.push((if is_rest { mode } else { Mode::Flat }, Work::Docs(items)));
                    0
                }
                Kind::Chain { head, links, broken, .. } => {
                    let breaks = *broken || (mode == Mode::Break && is_rest);
                    stack.push((Mode::Flat, if breaks { Work::Links(links) } else { Work::Docs(links) }));
                    stack.push((Mode::Flat, Work::Docs(head)));
                    0
                }
                Kind::Group { items, broken } => {
                    // What is asked about stays flat where it can; what follows it may break.
                    let open = *broken || (mode == Mode::Break && is_rest);
                    stack.push((if open { Mode::Break } else { Mode::Flat }, Work::Docs(items)));
                    0
                }
            };
            match left.checked_sub(width) {
                Some(now) => left = now,
                None => return false,
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.fresh {
            if self.blank && !self.out.is_empty() {
                self.out.push('\n');
            }
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.column = self.indent;
        } else if self.space {
            self.out.push(' ');
            self.column += 1;
        }
        (self.fresh, self.space, self.blank) = (false, false, false);
        self.out.push_str(text);
        // A comment may be of several lines.
        match text.rfind('\n') {
            Some(i) => self.column = text[i + 1..].chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn newline(&mut self, indent: usize) {
        if !self.fresh {
            self.out.push('\n');
        }
        self.indent = indent;
        self.fresh = true;
        self.space = false;
        self.column = 0;
    }
}

//! Lists in brackets: arguments, parameters, array elements, parentheses.
//!
//! A list stays in one line where it fits; else each item stands in a line of its own. Where the author began a line behind the opening bracket it stays open, with the
//! author's line breaks between the items. The last item may be open itself, as a closure with a block is, without opening the list.

use super::build::{Builder, INDENT, Place};
use super::doc::Doc;
use crate::syntax::parser::Role;
use crate::syntax::token::TokenKind;

impl Builder<'_> {
    /// `( … )` or `[ … ]` from token `open` on.
    pub(super) fn list(&self, open: usize) -> Doc {
        let close = self.partners[open];
        let (open_doc, close_doc) = (Doc::text(self.token_text(open)), Doc::text(self.token_text(close)));
        if close == open + 1 && !self.has_comments(close) {
            return Doc::concat(vec![open_doc, close_doc]);
        }
        let starts = self.item_starts(open, close);
        let by_author = self.tokens[open + 1].newline && close > open + 1;
        let mut items = Vec::new();
        // Comments behind the opening bracket or a comma stay on that line.
        let mut pending = Vec::new();
        for (n, &start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(close);
            let gap = self.gap(start);
            let mut item = gap.own;
            if n == 0 {
                pending = gap.trailing;
            } else if let Some(last) = items.last_mut() {
                append(last, gap.trailing);
            }
            item.push(self.sequence(start, end, Place::List));
            items.push(Doc::concat(item));
        }
        let end_gap = self.gap(close);
        match items.last_mut() {
            Some(last) => append(last, end_gap.trailing.into_iter().chain(end_gap.own).collect()),
            None => items.push(Doc::concat(end_gap.trailing.into_iter().chain(end_gap.own).collect())),
        }
        let mut head = vec![open_doc];
        head.append(&mut pending);
        self.list_layout(head, items, close_doc, by_author, &starts)
    }

    fn list_layout(&self, mut head: Vec<Doc>, items: Vec<Doc>, close: Doc, by_author: bool, starts: &[usize]) -> Doc {
        if by_author {
            let mut filled = Vec::new();
            for (n, item) in items.into_iter().enumerate() {
                if n > 0 {
                    filled.push(if self.tokens[starts[n]].newline { Doc::newline() } else { Doc::line() });
                }
                filled.push(item);
            }
            head.push(Doc::indent(INDENT, vec![Doc::newline(), Doc::fill(filled, 0)]));
            head.extend([Doc::newline(), close]);
            return Doc::open_list(head);
        }
        let last = items.len() - 1;
        let block_inside = items[..last].iter().any(|d| d.blocky);
        // A block or list of several lines may stand at the end of the arguments without breaking them.
        let hugs = items[last].blocky && items[last].ends_open();
        let broken = block_inside || (items[last].blocky && !hugs);
        let mut inner = vec![Doc::soft()];
        for (n, item) in items.into_iter().enumerate() {
            if n > 0 {
                inner.push(Doc::line());
            }
            inner.push(item);
        }
        head.push(Doc::indent(INDENT, inner));
        head.extend([Doc::soft(), close]);
        if broken { Doc::open_list(head) } else { Doc::group(head) }
    }

    /// First tokens of the items between two brackets. A comma belongs to the item before it.
    fn item_starts(&self, open: usize, close: usize) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut angles = 0usize;
        let mut fresh = true;
        let mut i = open + 1;
        while i < close {
            if fresh {
                starts.push(i);
            }
            fresh = self.kind(i) == TokenKind::Comma && angles == 0;
            match self.marks[i].role {
                Role::TypeOpen => angles += 1,
                Role::TypeClose => angles = angles.saturating_sub(self.slice(self.tokens[i].span).bytes().filter(|b| *b == b'>').count()),
                _ => {}
            }
            i = self.skip(i) + 1;
        }
        starts
    }
}

/// Adds to the end of a concatenation.
fn append(doc: &mut Doc, more: Vec<Doc>) {
    if more.is_empty() {
        return;
    }
    let old = std::mem::replace(doc, Doc::space());
    let mut items = vec![old];
    items.extend(more);
    *doc = Doc::concat(items);
}

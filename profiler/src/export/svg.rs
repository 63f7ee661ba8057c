//! Flame graphs, drawn by `inferno`.
//!
//! In: a profile. Out: SVG. Widths are calls: a frame is as wide as the calls made in its context and below. Reversed contexts (k-CCF) are drawn as they are, hanging: a function on top, its callers below.
//! What is too narrow to be seen counts for its parent, what is deeper than [`DEPTH`] for a frame that says so; the total is that of the profile.
//! Names are shown as they are but for control characters, for which SVG has no place: they get visible signs.

use super::links::Visit;
use super::stacks::{Order, Size, StackId, Stacks};
use super::text::{self, Rounder, without_controls};
use super::{ExportError, Format};
use crate::names::DistinctNames;
use crate::profile::{Contexts, Profile};
use inferno::flamegraph::{self, Direction};
use std::collections::BTreeSet;
use std::io::Write;

/// Frames above each other: an image of 8,000 pixels.
const DEPTH: usize = 500;
/// Of the total, below which frames are not drawn: a tenth of a pixel.
const VISIBLE: f64 = 1e-4;
const DEEPER: &str = "(deeper frames)";

pub(super) fn check(profile: &Profile) -> Result<(), ExportError> {
    let stacks = visible(profile);
    if stacks.total().round() < 1.0 {
        return Err(ExportError::NoCalls(Format::Svg));
    }
    size(profile, &stacks).check(profile, Format::Svg)
}

/// Of the lines that are drawn from.
fn size(profile: &Profile, stacks: &Stacks) -> Size {
    let names = &profile.program().functions;
    let mut size = Size::default();
    let mut open = Vec::new();
    for visit in stacks.walk() {
        match visit {
            Visit::Enter(id) => {
                let above = open.last().copied().unwrap_or_default();
                let stack = Size::of_frame(&names[stacks.get(id).function]).plus(above);
                size = if open.len() < DEPTH { size.plus(stack) } else { size };
                open.push(stack);
            }
            Visit::Leave(_) => drop(open.pop()),
        }
    }
    size
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let stacks = visible(profile);
    let names = DistinctNames::new(profile.program());
    let calls = text::counted(stacks.total().round() as u64, "call");
    let title = format!("{}: {}, {calls} in total", profile.meta().program, text::what(profile));
    let mut options = flamegraph::Options::default();
    options.title = without_controls(&title);
    options.subtitle = Some(without_controls(&profile.meta().to_string()));
    options.count_name = "calls".into();
    options.deterministic = true;
    options.hash = true;
    // Else lines would be sorted as texts: those of `f10` would stand between those of `f1`, which would be two boxes then.
    options.flame_chart = true;
    options.direction = if profile.contexts().is_some_and(|contexts| contexts.structure().is_reversed()) {
        Direction::Inverted
    } else {
        Direction::Straight
    };

    let subtitle = options.subtitle.as_deref().unwrap_or_default();
    let stand_ins = StandIns::new(names.all().chain([title.as_str(), subtitle]));
    let mut lines = lines(&stacks, |id| stand_ins.hide(names.get(stacks.get(id).function)));
    lines.sort_by(|(a, _), (b, _)| a.split(';').cmp(b.split(';')));
    let lines: Vec<String> = lines.iter().map(|(stack, calls)| format!("{stack} {calls}")).collect();
    let mut image = Vec::new();
    // In that mode the last line is drawn first.
    flamegraph::from_lines(&mut options, lines.iter().rev().map(String::as_str), &mut image)?;
    let image = String::from_utf8_lossy(&image);
    out.write_all(stand_ins.show(&image).as_bytes())?;
    Ok(())
}

fn visible(profile: &Profile) -> Stacks {
    let mut stacks = Stacks::new(profile, Order::Stored);
    let total = profile.contexts().map_or_else(|| profile.dcg_total(), Contexts::total);
    stacks.prune(total * VISIBLE);
    stacks
}

fn lines(stacks: &Stacks, name: impl Fn(StackId) -> String) -> Vec<(String, u64)> {
    let mut lines = Vec::new();
    let mut rounder = Rounder::default();
    let mut path = String::new();
    let mut lengths = Vec::new();
    let mut depth = 0;
    let mut deeper = 0.0;
    let mut line = |stack: String, weight: f64| match rounder.next(weight) {
        0 => {}
        calls => lines.push((stack, calls)),
    };
    for visit in stacks.walk() {
        match visit {
            Visit::Enter(id) if depth < DEPTH => {
                depth += 1;
                lengths.push(path.len());
                if !path.is_empty() {
                    path.push(';');
                }
                path.push_str(&name(id));
                line(path.clone(), stacks.get(id).weight);
            }
            Visit::Enter(id) => {
                depth += 1;
                deeper += stacks.get(id).weight;
            }
            Visit::Leave(_) => {
                if depth == DEPTH {
                    line(format!("{path};{DEEPER}"), std::mem::take(&mut deeper));
                }
                if depth <= DEPTH {
                    path.truncate(lengths.pop().unwrap_or(0));
                }
                depth -= 1;
            }
        }
    }
    lines
}

/// Characters that mean something in the lines that are drawn from, and what stands for them until the image is there: private characters that no text of this image has.
struct StandIns([(char, char); 4]);

impl StandIns {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let private = |c: &char| ('\u{e000}'..='\u{f8ff}').contains(c) || ('\u{f0000}'..='\u{ffffd}').contains(c);
        let used: BTreeSet<char> = texts.flat_map(str::chars).filter(private).collect();
        let mut free = ('\u{e000}'..='\u{f8ff}').chain('\u{f0000}'..='\u{ffffd}').filter(|c| !used.contains(c));
        // Spaces are trimmed and set numbers apart, `;` sets frames apart, `#` begins a comment, and `_[` at the end an annotation.
        StandIns([' ', ';', '#', '['].map(|c| (c, free.next().unwrap_or(char::REPLACEMENT_CHARACTER))))
    }

    fn hide(&self, name: &str) -> String {
        let hidden = |c: char| {
            let c = if c != ' ' && c.is_whitespace() && !c.is_control() { ' ' } else { text::control_picture(c) };
            self.0.iter().find(|&&(meant, _)| meant == c).map_or(c, |&(_, stand_in)| stand_in)
        };
        name.chars().map(hidden).collect()
    }

    fn show(&self, image: &str) -> String {
        let shown = |c: char| self.0.iter().find(|&&(_, stand_in)| stand_in == c).map_or(c, |&(meant, _)| meant);
        image.chars().map(shown).collect()
    }
}

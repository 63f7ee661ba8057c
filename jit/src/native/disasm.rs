//! Listings of installed code.
//!
//! In: code in the region and its tables. Out: text, one instruction a line with its address, and comments: source position where it changes, trap sites, what calls go to, where references are.

use super::engine::Engine;
use super::tables::SiteKind;
use crate::ir::{Loc, frames_at};
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, OpKind, SymbolResolver, SymbolResult};
use std::collections::HashMap;
use std::fmt::Write;

/// Names of thunks by address.
struct Names(HashMap<u64, String>);

impl SymbolResolver for Names {
    fn symbol(&mut self, _: &Instruction, _: u32, _: Option<u32>, address: u64, _: u32) -> Option<SymbolResult<'_>> {
        self.0.get(&address).map(|name| SymbolResult::with_str(address, name))
    }
}

/// # Safety
/// The code that was placed at `entry` is not freed meanwhile.
pub unsafe fn listing(engine: &Engine, entry: u64) -> String {
    let version = engine.tables().version(entry).expect("installed code");
    // SAFETY: by contract.
    let bytes = unsafe { engine.region().bytes(entry, version.len as usize) };
    let mut formatter = IntelFormatter::with_options(Some(Box::new(Names(engine.thunk_names()))), None);
    formatter.options_mut().set_rip_relative_addresses(true);
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    formatter.options_mut().set_uppercase_hex(false);
    let mut out = format!(
        "; {} at {entry:#x}, {} bytes, frame of {} bytes\n",
        engine.module().funcs[version.func].name,
        version.len,
        version.frame_size
    );
    let mut last = Loc::default();
    let mut text = String::new();
    for instruction in Decoder::with_ip(64, bytes, entry, DecoderOptions::NONE).iter() {
        text.clear();
        formatter.format(&instruction, &mut text);
        let trap = version.trap_at(instruction.ip());
        let frame = engine.tables().frame(instruction.next_ip());
        let mut note = String::new();
        let loc = frame.map(|f| f.loc).or(trap.map(|t| t.loc));
        if let Some(loc) = loc.filter(|&l| l != last && l != Loc::default()) {
            let places = frames_at(&version.inlined, version.func, loc).map(|(func, loc)| match func == version.func {
                true => loc.0.to_string(),
                false => format!("{} in {}", loc.0, engine.module().funcs[func].name),
            });
            _ = write!(note, " loc {}", places.collect::<Vec<_>>().join(" < "));
            last = loc;
        }
        if let Some(trap) = trap {
            _ = write!(note, " trap {:?}", trap.kind);
        }
        if let Some(frame) = frame {
            match frame.site {
                SiteKind::Call(site) => _ = write!(note, " {site}"),
                SiteKind::Loop(block) => _ = write!(note, " {block}"),
                SiteKind::Watched(exit) => _ = write!(note, " {exit}"),
                SiteKind::Probe => note += " probe",
                SiteKind::Poll | SiteKind::Entry | SiteKind::Runtime => {}
            }
            if !frame.roots.is_empty() {
                let roots: Vec<String> = frame.roots.iter().map(|r| format!("rbp-{r:#x}")).collect();
                _ = write!(note, " roots [{}]", roots.join(", "));
            }
            if let Some(handler) = frame.handler {
                _ = write!(note, " handler {handler:#x}");
            }
        }
        // Constants that are addresses of cells are loaded with a plain move.
        let is_constant = instruction.op_count() == 2 && matches!(instruction.op1_kind(), OpKind::Immediate32 | OpKind::Immediate64);
        if let Some(name) = is_constant.then(|| engine.cell_name(instruction.immediate(1))).flatten() {
            _ = write!(note, " {name}");
        }
        let note = if note.is_empty() { note } else { format!("  ;{note}") };
        _ = writeln!(out, "{:#x}  {text:<40}{note}", instruction.ip());
    }
    out
}

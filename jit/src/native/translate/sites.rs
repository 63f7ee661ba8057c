//! Where machine code comes from: what Cranelift carries through to its output is one number, the index of a [`Site`].
//!
//! In: sites as code is emitted. Out: the site of an instruction by its source location; of an access that faults by its trap code.
//!
//! A source location does not say where a faulting access stands: Cranelift folds loads into the operations that use them, and those may come from elsewhere or from nowhere. Its trap code stays with it. So codes of null checks are
//! numbers, dealt out in turns, and the nearest site that has the number is it.

use crate::ir::Loc;
use crate::native::tables::SiteKind;
use crate::native::trap::TrapKind;
use cranelift_codegen::ir::TrapCode;

/// Where code of one operation comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    pub loc: Loc,
    pub kind: SiteKind,
}

#[derive(Default)]
pub struct Sites {
    all: Vec<Site>,
    /// Those at which an access may fault, in order.
    faulting: Vec<u32>,
}

impl Sites {
    /// The index of a site, which becomes the last.
    pub fn push(&mut self, site: Site) -> u32 {
        if self.all.last() != Some(&site) {
            self.all.push(site);
        }
        self.all.len() as u32 - 1
    }

    /// The trap code of an access at the last site.
    pub fn fault_code(&mut self) -> TrapCode {
        let last = self.all.len() as u32 - 1;
        if self.faulting.last() != Some(&last) {
            self.faulting.push(last);
        }
        TrapKind::null_code(self.faulting.len() as u32 - 1)
    }

    pub fn get(&self, index: u32) -> Site {
        self.all[index as usize]
    }

    /// Where an instruction with this trap code comes from; `near` is the index of a site close by.
    pub fn of_trap(&self, code: TrapCode, near: u32) -> Site {
        let Some(number) = TrapKind::null_number(code) else { return self.get(near) };
        let same = self.faulting.iter().skip(number as usize).step_by(TrapKind::NULL_NUMBERS as usize);
        self.get(same.copied().min_by_key(|site| site.abs_diff(near)).unwrap_or(near))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back_to_their_sites() {
        let mut sites = Sites::default();
        let codes: Vec<(u32, TrapCode)> = (0..1000)
            .map(|i| {
                let index = sites.push(Site { loc: Loc(i), kind: SiteKind::Runtime });
                let faults = i % 3 != 0;
                (index, if faults { sites.fault_code() } else { TrapKind::Bounds.code() })
            })
            .collect();
        for (index, code) in codes {
            let near = [index.saturating_sub(50), index, (index + 50).min(999)];
            let expected = |near| if index % 3 == 0 { near } else { index };
            near.into_iter().for_each(|near| assert_eq!(sites.of_trap(code, near).loc, Loc(expected(near))));
        }
    }
}

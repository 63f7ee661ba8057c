//! Sets of passes, and how users write them.
//!
//! In: `--passes`' text, names with commas between. `gvn,dce` means only these, `-gvn,-licm` all but these. Out: a [`PassSet`], or which name is none.

use super::Pass;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassSet(u32);

impl PassSet {
    pub const ALL: PassSet = PassSet(u32::MAX);
    pub const NONE: PassSet = PassSet(0);

    pub fn contains(self, pass: Pass) -> bool {
        self.0 >> pass as u8 & 1 != 0
    }

    pub fn with(self, pass: Pass) -> PassSet {
        PassSet(self.0 | 1 << pass as u8)
    }

    pub fn without(self, pass: Pass) -> PassSet {
        PassSet(self.0 & !(1 << pass as u8))
    }
}

/// A name in a list that is no pass's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPass(Box<str>);

impl fmt::Display for UnknownPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Pass::ALL.iter().map(|p| p.name()).collect();
        write!(
            f,
            "there is no pass `{}`; a list such as gvn,dce runs only these, one such as -gvn,-licm all but these, of: {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownPass {}

impl FromStr for PassSet {
    type Err = UnknownPass;

    /// From left to right a name adds a pass, one behind `-` removes it, `all` and `none` start anew. A list that begins with a removal starts from all.
    fn from_str(text: &str) -> Result<PassSet, UnknownPass> {
        let start = if text.trim_start().starts_with('-') { PassSet::ALL } else { PassSet::NONE };
        text.split(',').map(str::trim).try_fold(start, |set, word| {
            let named = |name: &str| Pass::ALL.iter().copied().find(|p| p.name() == name).ok_or_else(|| UnknownPass(name.into()));
            Ok(match (word, word.strip_prefix('-')) {
                ("all", _) => PassSet::ALL,
                ("none", _) => PassSet::NONE,
                (_, Some(name)) => set.without(named(name)?),
                (name, None) => set.with(named(name)?),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_add_and_remove() {
        let read = |text: &str| text.parse::<PassSet>().unwrap();
        assert_eq!(read("gvn,dce"), PassSet::NONE.with(Pass::Gvn).with(Pass::Dce));
        assert_eq!(read("-gvn, -licm"), PassSet::ALL.without(Pass::Gvn).without(Pass::Licm));
        assert_eq!(read("gvn,dce,-gvn"), PassSet::NONE.with(Pass::Dce));
        assert_eq!((read("all"), read("none")), (PassSet::ALL, PassSet::NONE));
        assert_eq!(read("all,-null-checks"), PassSet::ALL.without(Pass::NullChecks));
    }

    #[test]
    fn unknown_names_are_told_with_the_known() {
        for text in ["gvm", "-gvm", "gvn,gvm", "", "gvn,", "--gvn"] {
            let message = text.parse::<PassSet>().unwrap_err().to_string();
            assert!(message.contains("no pass `") && message.contains("null-checks, simplify"), "{message}");
        }
    }
}

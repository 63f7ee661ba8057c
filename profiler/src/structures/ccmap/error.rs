//! What can be wrong with what a CC-Map is given.

use crate::ids::{CallSiteId, EdgeId, FuncId};
use std::fmt;

/// Why a map refuses what it is given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CcMapError {
    /// An edge starts at a call site that is not defined.
    NoSuchSite {
        /// The edge.
        edge: EdgeId,
        /// The missing site.
        site: CallSiteId,
    },
    /// An edge refers to a function that is not defined.
    NoSuchFunction {
        /// The edge.
        edge: EdgeId,
        /// The missing function.
        function: FuncId,
    },
    /// Two maps do not speak of the same program.
    OtherCaller {
        /// A call site that is in both.
        site: CallSiteId,
        /// Its caller in this map.
        here: Option<FuncId>,
        /// Its caller in the other.
        there: Option<FuncId>,
    },
    /// A factor of decay that is none.
    BadFactor {
        /// What was given.
        factor: f64,
    },
}

impl fmt::Display for CcMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |function: &Option<FuncId>| function.map_or("nothing".into(), |f| f.to_string());
        match self {
            CcMapError::NoSuchSite { edge, site } => {
                write!(f, "{edge} starts at {site}, which the program does not have; define call sites before edges")
            }
            CcMapError::NoSuchFunction { edge, function } => {
                write!(f, "{edge} refers to {function}, which the program does not have; define functions before edges")
            }
            CcMapError::OtherCaller { site, here, there } => {
                let (here, there) = (name(here), name(there));
                write!(f, "{site} is in {here} for one map and in {there} for the other; only maps of the same program go together")
            }
            CcMapError::BadFactor { factor } => write!(f, "counts cannot be multiplied by {factor}; give a number from 0 to 1"),
        }
    }
}

impl std::error::Error for CcMapError {}

//! How good a profile is: compared with another, in the course of a run, and by its own samples.
//!
//! In: weights by key, from any structure. A DCG gives its edges, a CCT its nodes, told apart by their paths; or a walk over two trees at once gives
//! pairs of weights without making paths. Out: [`Comparison`] (degree of overlap, hot-edge coverage, correlation), [`OverTime`], and [`Strata`]
//! (weights with standard errors); for CC-Maps [`ccmap`], for profiles' [`contexts`]; [`expected`]: what any sampler can hope for.
//!
//! Sources: PLDI'06 section 3 and Figure 11, TACO'15 section 5.2, CC-Map section 5.

pub mod ccmap;
pub mod comparison;
pub mod contexts;
pub mod expected;
pub mod over_time;
pub mod strata;

pub use crate::estimate::{Estimate, Heat};
pub use comparison::Comparison;
pub use over_time::OverTime;
pub use strata::Strata;

//! Sets of classes that a reference's object can be of.
//!
//! In: classes that the program instantiates. Out: [`Classes`], a lattice of small height: larger sets become [`Classes::Any`].

use crate::ir::ClassId;
use smallvec::SmallVec;

/// Classes told apart; a test for more would be no gain.
pub const LIMIT: usize = 16;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Classes {
    /// One of these, in order; none: there is only null.
    Of(SmallVec<[ClassId; 2]>),
    Any,
}

impl Default for Classes {
    fn default() -> Self {
        Classes::Of(SmallVec::new())
    }
}

impl Classes {
    pub fn one(class: ClassId) -> Classes {
        Classes::Of(SmallVec::from_slice(&[class]))
    }

    /// `classes` in order.
    pub fn of(classes: &[ClassId]) -> Classes {
        if classes.len() > LIMIT { Classes::Any } else { Classes::Of(SmallVec::from_slice(classes)) }
    }

    /// Whether it grew.
    pub fn join(&mut self, other: &Classes) -> bool {
        let (Classes::Of(own), Classes::Of(more)) = (&mut *self, other) else {
            let grows = *self != Classes::Any && *other == Classes::Any;
            if grows {
                *self = Classes::Any;
            }
            return grows;
        };
        let before = own.len();
        for class in more {
            if let Err(place) = own.binary_search(class) {
                own.insert(place, *class);
            }
        }
        let grew = own.len() > before;
        if own.len() > LIMIT {
            *self = Classes::Any;
        }
        grew
    }

    /// Those of `within` that it can be.
    pub fn among(&self, within: &[ClassId]) -> SmallVec<[ClassId; 4]> {
        within.iter().copied().filter(|c| self.contains(*c)).collect()
    }

    pub fn contains(&self, class: ClassId) -> bool {
        match self {
            Classes::Of(classes) => classes.binary_search(&class).is_ok(),
            Classes::Any => true,
        }
    }
}

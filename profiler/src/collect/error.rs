//! Why samples make no profile.

use crate::profile::ProfileError;
use crate::structures::ccmap::CcMapError;
use crate::structures::kccf::KccfError;
use crate::structures::ksf::ZeroK;
use std::fmt;

/// Whichever part has refused.
#[derive(Clone, PartialEq, Debug)]
pub enum CollectError {
    /// The parts make no profile.
    Profile(ProfileError),
    /// An edge refers to what the program does not have.
    CcMap(CcMapError),
    /// A k-SF of no depth.
    Ksf(ZeroK),
    /// The k-SF cannot be inverted.
    Kccf(KccfError),
}

impl fmt::Display for CollectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CollectError::Profile(error) => error.fmt(f),
            CollectError::CcMap(error) => error.fmt(f),
            CollectError::Ksf(error) => error.fmt(f),
            CollectError::Kccf(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CollectError {}

impl From<ProfileError> for CollectError {
    fn from(error: ProfileError) -> Self {
        CollectError::Profile(error)
    }
}

impl From<CcMapError> for CollectError {
    fn from(error: CcMapError) -> Self {
        CollectError::CcMap(error)
    }
}

impl From<ZeroK> for CollectError {
    fn from(error: ZeroK) -> Self {
        CollectError::Ksf(error)
    }
}

impl From<KccfError> for CollectError {
    fn from(error: KccfError) -> Self {
        CollectError::Kccf(error)
    }
}

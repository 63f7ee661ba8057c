pub mod tuning;
pub mod metrics;
pub mod classes;
pub mod heap;

use super::Context;
use crate::ir::*;

pub fn run(_func: &mut Function, _cx: &Context<'_>) -> bool {
    false
}

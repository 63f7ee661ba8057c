//! The Firefox profiler's format ("processed profile").
//!
//! In: a profile. Out: JSON with one thread, in which each context is a sample weighted with its calls. The format holds 32-bit weights, so large ones are in thousands of calls or more; the thread's name says which.
//! The time axis means nothing: samples stand a millisecond apart.

use super::ExportError;
use super::links::Visit;
use super::stacks::{Order, StackId, Stacks};
use super::text::{self, Rounder};
use crate::names::DistinctNames;
use crate::profile::Profile;
use cranelift_entity::SecondaryMap;
use fxprof_processed_profile as fxprof;
use std::io::Write;
use std::time::Duration;

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let start = fxprof::ReferenceTimestamp::from_duration_since_unix_epoch(Duration::ZERO);
    let interval = fxprof::SamplingInterval::from_millis(1);
    let mut file = fxprof::Profile::new(&profile.meta().to_string(), start, interval);
    // There are no addresses for which names are to be found.
    file.set_symbolicated(true);
    let zero = fxprof::Timestamp::from_nanos_since_reference(0);
    let process = file.add_process(&profile.meta().program, 1, zero);
    // A main thread would be shown by the name of the process.
    let thread = file.add_thread(process, 1, zero, false);

    let names = DistinctNames::new(profile.program());
    let stacks = Stacks::new(profile, Order::Calls);
    let scale = scale(&stacks);
    let unit = if scale == 1.0 { String::new() } else { format!(", in units of {} calls", text::calls(scale)) };
    file.set_thread_name(thread, &format!("{}{unit}", text::what(profile)));

    let mut handles: SecondaryMap<StackId, Option<fxprof::StackHandle>> = SecondaryMap::new();
    let mut rounder = Rounder::default();
    let mut milliseconds = 0.0;
    for visit in stacks.walk() {
        let Visit::Enter(id) = visit else { continue };
        let stack = stacks.get(id);
        let frame = fxprof::FrameInfo {
            frame: fxprof::Frame::Label(file.intern_string(names.get(stack.function))),
            category_pair: fxprof::CategoryHandle::OTHER.into(),
            flags: fxprof::FrameFlags::empty(),
        };
        let frame = file.intern_frame(thread, frame);
        let parent = stacks.parent(id).and_then(|parent| handles[parent]);
        let handle = file.intern_stack(thread, parent, frame);
        handles[id] = Some(handle);
        let weight = rounder.next(stack.weight / scale);
        if weight > 0 {
            let time = fxprof::Timestamp::from_millis_since_reference(milliseconds);
            let weight = i32::try_from(weight).unwrap_or(i32::MAX);
            file.add_sample(thread, time, Some(handle), fxprof::CpuDelta::ZERO, weight);
            milliseconds += 1.0;
        }
    }
    serde_json::to_writer(out, &file)?;
    Ok(())
}

/// Calls in one unit of weight: the smallest power of 1000 that lets every weight fit.
fn scale(stacks: &Stacks) -> f64 {
    let largest = stacks.walk().filter_map(|visit| match visit {
        Visit::Enter(id) => Some(stacks.get(id).weight),
        Visit::Leave(_) => None,
    });
    let largest = largest.fold(0.0, f64::max);
    let mut scale = 1.0;
    while largest / scale >= f64::from(i32::MAX) {
        scale *= 1000.0;
    }
    scale
}

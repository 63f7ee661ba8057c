//! How many calls a thread has made, by the processor's own count where it has one (TACO'15 section 3.1).
//!
//! The weights that correct a sample's density bias need the number of calls since the last tick. Compiled code counts its calls exactly; a processor with performance counters also counts those into the runtime, as the paper's did.
//! Virtual machines often have none; then the software counter is taken, and the report says so.

/// Where a density comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallSource {
    /// The processor's performance counters.
    Retired,
    /// Compiled code's own count.
    Prologues,
}

impl std::fmt::Display for CallSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CallSource::Retired => "the processor's count of retired calls (on AMD, of returns)",
            CallSource::Prologues => "the exact count of compiled code's prologues",
        })
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use retired::RetiredCalls;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod retired {
    use perf_event_open::config::{Cpu, Opts, Priv, Proc};
    use perf_event_open::count::Counter;
    use perf_event_open::event::raw::Raw;

    /// Counts near calls that the current thread retires.
    pub struct RetiredCalls(Counter);

    impl RetiredCalls {
        /// `None` where the processor has no such counter, or the system does not let programs use it.
        pub fn open() -> Option<RetiredCalls> {
            let event = Raw { config: event()?, config1: 0, config2: 0, config3: 0 };
            let opts = Opts { exclude: Priv { kernel: true, hv: true, ..Priv::default() }, ..Opts::default() };
            let counter = Counter::new(event, (Proc::CURRENT, Cpu::ALL), opts).ok()?;
            counter.enable().ok()?;
            Some(RetiredCalls(counter))
        }

        pub fn read(&self) -> Option<u64> {
            self.0.stat().ok().map(|stat| stat.count)
        }
    }

    /// Event and mask, by the vendors' manuals.
    fn event() -> Option<u64> {
        let id = std::arch::x86_64::__cpuid(0);
        let vendor: Vec<u8> = [id.ebx, id.edx, id.ecx].iter().flat_map(|part| part.to_le_bytes()).collect();
        match vendor.as_slice() {
            // BR_INST_RETIRED.NEAR_CALL
            b"GenuineIntel" => Some(0x02c4),
            // Retired near returns: there is no count of calls.
            b"AuthenticAMD" | b"HygonGenuine" => Some(0x00c8),
            _ => None,
        }
    }
}

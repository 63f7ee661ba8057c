//! Which receivers of a virtual call are worth a test of the class.
//!
//! In: where a site's calls go, in the context that counts. Out: the functions to test for, the most frequent first; and, when the call behind such a test is asked about, whether its part is large enough.

use super::policy::{Judgement, growth};
use super::view::{Calls, Receiver};
use super::{CallSiteFacts, Certainty, Comparison, Quantity, Refused, Seen, Verdict};
use crate::estimate::share;
use crate::ids::FuncId;
use crate::tuning;

/// All shares are from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GuardRules {
    /// A receiver with this share of its site's calls is tested for.
    pub dominant: f64,
    /// Receivers are that together have this share, if they are few enough.
    pub together: f64,
    /// No receiver with a smaller share of its site's calls is.
    pub each: f64,
    /// How many are tested for.
    pub most: u32,
    /// Of the site: with fewer independent samples its receivers are unknown.
    pub samples: u64,
    /// A site with a smaller share of all calls gets no test.
    pub site: f64,
}

impl Default for GuardRules {
    fn default() -> Self {
        GuardRules {
            dominant: tuning::INLINE_GUARD_SHARE,
            together: tuning::INLINE_GUARD_TOGETHER,
            each: tuning::INLINE_GUARD_EACH,
            most: tuning::INLINE_GUARD_MOST,
            samples: tuning::INLINE_GUARD_SAMPLES,
            site: tuning::INLINE_GUARD_SITE,
        }
    }
}

impl GuardRules {
    /// Of a site with this share of all calls. The fewest receivers that together have enough of them, or else those that have enough alone; only candidates. `None` if too few calls were seen to tell. `receivers`: the heaviest first.
    pub fn likely(&self, site: f64, receivers: &[Receiver], candidates: &[FuncId]) -> Option<Vec<FuncId>> {
        let calls = Calls::sum(receivers);
        if !calls.is_sure(self.samples) {
            return None;
        }
        let all = calls.weight;
        if site < self.site {
            return Some(Vec::new());
        }
        let is_likely = |receiver: &&Receiver| share(receiver.calls.weight, all) >= self.each && candidates.contains(&receiver.callee);
        let likely: Vec<&Receiver> = receivers.iter().filter(is_likely).take(self.most as usize).collect();
        let mut sum = 0.0;
        let enough = likely.iter().position(|receiver| {
            sum += receiver.calls.weight;
            share(sum, all) >= self.together
        });
        let is_dominant = |receiver: &Receiver| share(receiver.calls.weight, all) >= self.dominant;
        let tested = likely.iter().enumerate().filter(|&(i, receiver)| enough.map_or(is_dominant(receiver), |last| i <= last));
        Some(tested.map(|(_, receiver)| receiver.callee).collect())
    }

    /// Why the callee behind a class test does not come in: the site's calls go elsewhere too often.
    pub fn broken(&self, facts: &CallSiteFacts<'_>, seen: &Seen) -> Option<Judgement> {
        let value = seen.site_share();
        let comparison = Comparison { quantity: Quantity::SiteShare, value, threshold: self.each };
        let is_broken = matches!(facts.certainty, Certainty::Guarded { .. }) && seen.site_weight > 0.0 && value < self.each;
        is_broken.then(|| Judgement { verdict: Verdict::Call(Refused::GuardShare), cost: growth(facts), comparison })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(shares: &[f64], candidates: &[u32]) -> Option<Vec<u32>> {
        let receivers = shares.iter().enumerate().map(|(i, weight)| {
            let calls = Calls { weight: *weight, error: None, samples: Some(*weight as u64) };
            Receiver { callee: FuncId::from_u32(i as u32), calls }
        });
        let candidates: Vec<FuncId> = candidates.iter().copied().map(FuncId::from_u32).collect();
        let found = GuardRules::default().likely(0.5, &receivers.collect::<Vec<_>>(), &candidates)?;
        Some(found.into_iter().map(FuncId::as_u32).collect())
    }

    fn likely(shares: &[f64], candidates: &[u32]) -> Vec<u32> {
        seen(shares, candidates).expect("enough samples")
    }

    #[test]
    fn few_that_are_nearly_all_or_those_that_dominate() {
        let all = [0, 1, 2, 3, 4, 5];
        assert_eq!(likely(&[95.0, 5.0], &all), [0]);
        assert_eq!(likely(&[60.0, 35.0, 5.0], &all), [0, 1]);
        assert_eq!(likely(&[30.0, 30.0, 30.0, 10.0], &all), [0, 1, 2]);
        assert_eq!(likely(&[50.0, 20.0, 15.0, 15.0], &all), [0], "three are 85 %");
        assert_eq!(likely(&[45.0, 41.0, 5.0, 5.0, 4.0], &all), [0, 1]);
        assert_eq!(likely(&[30.0, 30.0, 20.0, 20.0], &all), [0; 0]);
        assert_eq!(likely(&[85.0, 4.0, 4.0, 7.0], &all), [0], "a few percent are worth no test");
    }

    #[test]
    fn neither_strangers_nor_rare_sites_nor_few_samples() {
        assert_eq!(likely(&[60.0, 40.0], &[1, 2]), [1], "the share is of all calls");
        assert_eq!((seen(&[9.0], &[0]), seen(&[], &[0])), (None, None));
        assert_eq!(likely(&[10.0], &[0]), [0]);
        let of_error = |error| {
            let calls = Calls { weight: 1000.0, error: Some(error), samples: Some(100) };
            GuardRules::default().likely(0.5, &[Receiver { callee: FuncId::from_u32(0), calls }], &[FuncId::from_u32(0)])
        };
        assert!(of_error(300.0).is_some() && of_error(400.0).is_none(), "a hundred of six moments are few");
        let exact = [Receiver { callee: FuncId::from_u32(0), calls: Calls { weight: 1.0, error: Some(0.0), samples: Some(1) } }];
        let rules = GuardRules::default();
        let of_share = |site| rules.likely(site, &exact, &[FuncId::from_u32(0)]).map(|found| found.len());
        assert_eq!((of_share(0.5), of_share(0.5 * rules.site)), (Some(1), Some(0)));
    }
}

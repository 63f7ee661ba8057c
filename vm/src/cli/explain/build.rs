//! From decisions to an explanation.
//!
//! In: a program as it was optimized, the profiles. Out: [`Built`]: the [`Explanation`], and for each of its calls what its opposite would be.

use super::Subject;
use super::model::{Call, Evidence, Explanation, Flip, Function, Regret, VERSION, Verdict};
use super::profiles::Profiles;
use super::site::Site;
use super::suggestions::Suggestions;
use crate::runtime::{Position, Symbols};
use crate::source::SourceMap;
use jit::ir::CallSiteId;
use jit::opt::Optimized;
use profiler::oracle::account::{Account, Accountant};
use profiler::oracle::tree::{InlineTree, Node, NodeId, Origin, trees};
use profiler::oracle::{self, Certainty, InlineDecision};
#[cfg(feature = "native")]
use profiler::plan::{Reach, Toggle};

pub struct Builder<'a> {
    pub subject: &'a Subject<'a>,
    pub profiles: &'a Profiles,
    pub suggestions: &'a Suggestions<'a>,
    pub map: &'a SourceMap,
    /// All sites without one.
    pub site: Option<&'a Site>,
}

pub struct Built {
    pub explanation: Explanation,
    /// By call.
    #[cfg(feature = "native")]
    pub toggles: Vec<Toggle>,
}

/// A tree with what is shown of it.
struct Shown<'a> {
    tree: InlineTree<'a>,
    /// By node.
    accounts: Vec<Option<Account>>,
    weight: Option<f64>,
}

impl Builder<'_> {
    pub fn build(&self, optimized: &Optimized) -> Built {
        let Subject { args, program, .. } = *self.subject;
        let kind = args.policy().kind();
        let trees = trees(&optimized.decisions, optimized.early, &optimized.called, program);
        let mut shown: Vec<Shown<'_>> =
            trees.into_iter().map(|tree| self.shown(tree)).filter(|shown| !shown.tree.nodes.is_empty()).collect();
        // Of equal ones, in the order of the program.
        shown.sort_by(|a, b| b.weight.unwrap_or(0.0).total_cmp(&a.weight.unwrap_or(0.0)));
        let explanation = Explanation {
            format: "inlining explanation",
            version: VERSION,
            program: args.file.file_stem().unwrap_or_default().to_string_lossy().into(),
            file: args.file.display().to_string(),
            policy: kind.name(),
            profile: self.profiles.line.clone(),
            checked: self.profiles.exhaustive.is_some(),
            resamples: args.resamples(),
            site: args.site.clone(),
            notes: self.profiles.notes.clone(),
            functions: Vec::new(),
            calls: Vec::new(),
        };
        let mut built = Built {
            explanation,
            #[cfg(feature = "native")]
            toggles: Vec::new(),
        };
        shown.iter().for_each(|shown| self.add(shown, &mut built));
        built
    }

    fn shown<'a>(&self, tree: InlineTree<'a>) -> Shown<'a> {
        let policy = self.subject.args.policy().kind().policy();
        let accountant = policy.as_deref().map(|policy| Accountant {
            policy,
            profile: &self.profiles.view,
            exhaustive: self.profiles.exhaustive.as_ref(),
            resamples: self.subject.args.resamples(),
            seed: self.subject.args.live.sampling.seed(),
        });
        let account = |node: &Node<'_>| {
            let facts = node.decision.facts()?;
            Some(accountant.as_ref()?.account(&facts, tree.root, &node.chain))
        };
        let accounts: Vec<Option<Account>> = tree.nodes.values().map(account).collect();
        let weight = accountant.is_some().then(|| accounts.iter().flatten().map(|account| account.seen.weight).sum());
        Shown { tree, accounts, weight }
    }

    /// The calls at the site that is asked for, with those on the way to them.
    fn add(&self, Shown { tree, accounts, weight }: &Shown<'_>, built: &mut Built) {
        let is_selected = |site: CallSiteId| self.site.is_none_or(|wanted| wanted.contains(site));
        let mut is_kept = vec![false; tree.nodes.len()];
        for (id, node) in tree.nodes.iter().rev() {
            let at = id.as_u32() as usize;
            is_kept[at] |= is_selected(node.decision.site);
            if let (true, Some(parent)) = (is_kept[at], node.parent.expand()) {
                is_kept[parent.as_u32() as usize] = true;
            }
        }
        if !is_kept.contains(&true) {
            return;
        }
        let function = built.explanation.functions.len();
        let root = &self.subject.program.functions[tree.root];
        let (name, file) = (root.name.to_string(), root.file.to_string());
        built.explanation.functions.push(Function { name, file, line: root.line, weight: *weight });
        let mut ids: Vec<usize> = Vec::new();
        for ((id, node), account) in tree.nodes.iter().zip(accounts) {
            let next = built.explanation.calls.len();
            ids.push(next);
            if !is_kept[id.as_u32() as usize] {
                continue;
            }
            let parent = node.parent.expand().map(|parent: NodeId| ids[parent.as_u32() as usize]);
            let call = Call { id: next, function, parent, selected: is_selected(node.decision.site), ..self.call(node, account.as_ref()) };
            built.explanation.calls.push(call);
            #[cfg(feature = "native")]
            built.toggles.push(toggle(node));
        }
    }

    fn call(&self, node: &Node<'_>, account: Option<&Account>) -> Call {
        let decision = node.decision;
        let functions = &self.subject.program.functions;
        let site = self.subject.module.call_sites[decision.site];
        let unknown = || Position { path: String::new(), line: 0, col: 0, text: String::new(), in_library: false };
        let at = self.map.position(site.loc).unwrap_or_else(unknown);
        let callee = &functions[decision.callee];
        let (reason, clause) = decision.verdict.reason();
        Call {
            id: 0,
            function: 0,
            parent: None,
            caller: functions[site.caller].name.to_string(),
            file: at.path,
            line: at.line,
            column: at.col,
            callee: callee.name.to_string(),
            callee_file: callee.file.to_string(),
            callee_line: callee.line,
            inlined: decision.verdict.is_inlined(),
            reason,
            clause,
            decided_in: (node.origin == Origin::EarlyForm).then(|| functions[decision.root].name.to_string()),
            asked: node.asked,
            callee_size: decision.callee_size,
            root_size: decision.root_size,
            targets: match decision.certainty {
                Certainty::Only => None,
                Certainty::Guarded { targets } => Some(targets),
            },
            selected: true,
            evidence: account.map(|account| self.evidence(decision, account)),
            benefit: None,
        }
    }

    fn evidence(&self, decision: &InlineDecision, account: &Account) -> Evidence {
        let Account { seen, edge, cost, comparison, flip, stability, regret, by_size, .. } = account;
        let with_scale = |weight: f64, error: Option<f64>| error.map(|error| error.hypot(self.profiles.scale_error * weight));
        Evidence {
            weight: seen.weight,
            error: with_scale(seen.weight, seen.error),
            samples: seen.samples,
            share: 100.0 * seen.share(),
            share_error: seen.share_error().map(|error| 100.0 * error),
            context: seen.context,
            edge_weight: edge.weight,
            edge_error: with_scale(edge.weight, edge.error),
            edge_raw_weight: seen.raw_weight,
            cost: *cost,
            quantity: comparison.quantity.name(),
            value: comparison.value,
            threshold: comparison.threshold,
            flip: flip.map(|flip| Flip { share: 100.0 * flip.share, errors: flip.errors.filter(|errors| errors.is_finite()) }),
            stability: *stability,
            by_size: if self.suggestions.are_enough_for(decision) { verdict(*by_size) } else { VIRTUAL },
            regret: regret.map(|regret| Regret {
                verdict: verdict(regret.verdict),
                weight: regret.seen.weight,
                share: 100.0 * regret.seen.share(),
                calls: regret.calls,
            }),
        }
    }
}

/// What becomes of a virtual call if nothing says where it goes.
const VIRTUAL: Verdict = Verdict { inlined: false, reason: "virtual" };

#[cfg(feature = "native")]
fn toggle(node: &Node<'_>) -> Toggle {
    let reach = match node.origin {
        Origin::Root => Reach::Here,
        Origin::EarlyForm => Reach::Everywhere,
    };
    Toggle::of(node.decision, reach)
}

fn verdict(verdict: oracle::Verdict) -> Verdict {
    Verdict { inlined: verdict.is_inlined(), reason: verdict.reason().0 }
}

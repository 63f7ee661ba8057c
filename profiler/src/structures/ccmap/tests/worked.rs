//! Samples in the manner of the paper's Figures 1 and 2, with the facts that its text tells about them; and the smallest cases of continued walks.

use super::{call, function, site, start};
use crate::event::Event;
use crate::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use crate::program::{Edge, Program};
use crate::sample::{Observed, Sample};
use crate::structures::CallStructure;
use crate::structures::ccmap::{CcMap, CcMapError, Count, Limits, Target};
use crate::structures::dropped::Dropped;

/// Methods A to F with one call site each, as in Figure 4, and all edges between them.
struct Letters {
    program: Program,
    map: CcMap,
}

impl Letters {
    fn new() -> Letters {
        let mut program = Program::default();
        for letter in 'A'..='F' {
            let method = function(&mut program, &letter.to_string());
            site(&mut program, method);
        }
        for (caller, callee) in ('A'..='F').flat_map(|a| ('A'..='F').map(move |b| (a, b))) {
            call(&mut program, at(caller), method(callee));
        }
        let map = CcMap::new(&program, Limits::default()).unwrap();
        Letters { program, map }
    }

    fn edge(&self, caller: char, callee: char) -> EdgeId {
        self.program.find(Edge { site: at(caller).into(), callee: method(callee) }).unwrap()
    }

    /// The edges between the methods of a stack, outermost first.
    fn stack(&self, methods: &str) -> Vec<EdgeId> {
        methods.chars().zip(methods.chars().skip(1)).map(|(caller, callee)| self.edge(caller, callee)).collect()
    }

    /// Samples of whole stacks, as the paper files them: each call on the stack counts.
    fn walk(mut self, samples: &[(&str, u32)]) -> Letters {
        for &(methods, times) in samples {
            let stack = self.stack(methods);
            for _ in 0..times {
                let mut at = self.map.start();
                self.map.walk(&mut at, 0, &stack, 1.0);
            }
        }
        self.map.check().unwrap();
        self
    }

    fn path_count(&self, methods: &str) -> f64 {
        self.map.path_count(&self.stack(methods))
    }

    fn context_count(&self, methods: &str) -> f64 {
        self.map.find(&self.stack(methods)).map_or(0.0, |node| self.map.count_in(node))
    }

    fn spell(&self, edges: &[EdgeId]) -> String {
        let name = |method: FuncId| self.program.functions[method].name.to_string();
        let first = edges.first().and_then(|&edge| self.program.caller(edge)).map_or(String::new(), name);
        edges.iter().fold(first, |text, &edge| text + &name(self.program.callee(edge)))
    }
}

fn method(letter: char) -> FuncId {
    FuncId::from_u32(letter as u32 - 'A' as u32)
}

fn at(letter: char) -> CallSiteId {
    CallSiteId::from_u32(letter as u32 - 'A' as u32)
}

fn known(total: f64) -> Count {
    Count { total, unexplained: 0.0 }
}

/// Figure 1: a DCG cannot say that A → C → D never happened, a PCCT not how often B calls C.
#[test]
fn both_directions_of_figure_1() {
    let letters = Letters::new().walk(&[("ABC", 2), ("BCD", 1), ("EBC", 1), ("AC", 1)]);
    let map = &letters.map;
    assert_eq!(letters.path_count("ABC"), 2.0);
    assert_eq!(letters.path_count("BCD"), 1.0);
    assert_eq!(letters.path_count("ACD"), 0.0);
    assert_eq!(map.edge(letters.edge('B', 'C')), known(4.0));
    let contexts: Vec<_> = map.contexts(letters.edge('B', 'C')).map(|node| (letters.spell(&map.path(node)), map.count_in(node))).collect();
    assert_eq!(contexts, [("EBC".into(), 1.0), ("BC".into(), 1.0), ("ABC".into(), 2.0)]);
    let totals: Vec<_> = map.methods().map(|(id, total)| (letters.program.functions[id].name.to_string(), total)).collect();
    assert_eq!(totals, [("A", 0.0), ("B", 3.0), ("C", 5.0), ("D", 1.0), ("E", 0.0)].map(|(name, total)| (name.to_string(), total)));
    assert_eq!(map.total(), 9.0);
    assert_eq!(map.callees(method('A')).map(|t| (t.callee, t.count)).collect::<Vec<_>>(), [(method('C'), 1.0), (method('B'), 2.0)]);
    assert_eq!(map.callers(method('C')).collect::<Vec<_>>(), [letters.edge('A', 'C'), letters.edge('B', 'C')]);
    assert_eq!(map.hottest_edges(2), [(letters.edge('B', 'C'), 4.0), (letters.edge('A', 'B'), 2.0)]);
    // Trees: A(B(C), C), B(C(D)), E(B(C)): 7 edges, with one call site in context each but for A's two targets.
    assert_eq!(map.nodes(), 7 + 6);
}

/// Figure 2a: B → C → D is the hottest path, with 8 calls, though it is hot in none of its three contexts alone.
#[test]
fn hottest_path_of_figure_2a() {
    let letters = Letters::new().walk(&[("ABCD", 3), ("ABCF", 2), ("EBCD", 3), ("EBCF", 2), ("BCD", 2)]);
    let map = &letters.map;
    assert_eq!(letters.path_count("BCD"), 8.0);
    assert_eq!((letters.context_count("ABCD"), letters.context_count("EBCD"), letters.context_count("BCD")), (3.0, 3.0, 2.0));
    let path = map.chain_through(letters.edge('B', 'C'), 0.6).unwrap();
    assert_eq!((letters.spell(&path.edges).as_str(), path.count), ("BCD", 8.0));
    let path = map.chain_through(letters.edge('C', 'F'), 0.5).unwrap();
    assert_eq!((letters.spell(&path.edges).as_str(), path.count), ("ABCF", 2.0));
    // In context, with 5 calls of A → B and B → C as the hottest: D is below a share of 0.7, and no tree of B alone is hot.
    let chains = map.hottest_chains(0.7, 10);
    let spelled: Vec<_> = chains.iter().map(|chain| (letters.spell(&map.chain_edges(chain)), chain.length, chain.count)).collect();
    assert_eq!(spelled, [("ABC".into(), 2, 5.0), ("EBC".into(), 2, 5.0)]);
    let spelled: Vec<_> = map.hottest_chains(0.6, 1).iter().map(|chain| (letters.spell(&map.chain_edges(chain)), chain.count)).collect();
    assert_eq!(spelled, [("ABCD".into(), 3.0)]);
}

/// Figure 2b: B → C → D still has 8 calls, but only from A; from E it is C → F that is hot.
#[test]
fn contexts_of_figure_2b() {
    let letters = Letters::new().walk(&[("ABCD", 6), ("EBCF", 6), ("BCD", 2)]);
    let map = &letters.map;
    assert_eq!(letters.path_count("BCD"), 8.0);
    assert_eq!((letters.context_count("ABCD"), letters.context_count("EBCD")), (6.0, 0.0));
    let target = |callee, count| Target { edge: letters.edge('C', callee), callee: method(callee), count };
    assert_eq!(map.targets(at('C')), [target('D', 8.0), target('F', 6.0)]);
    assert_eq!(map.targets_in(at('C'), &[]), map.targets(at('C')));
    assert_eq!(map.targets_in(at('C'), &[at('B')]), map.targets(at('C')));
    assert_eq!(map.targets_in(at('C'), &[at('A'), at('B')]), [target('D', 6.0)], "one target: no need for a test of the class");
    assert_eq!(map.targets_in(at('C'), &[at('E'), at('B')]), [target('F', 6.0)]);
    assert_eq!(map.targets_in(at('C'), &[at('F'), at('B')]), []);
}

/// Figure 4: from a general node to its contexts, from there to the call sites around them, and back.
#[test]
fn links_of_figure_4() {
    let letters = Letters::new().walk(&[("ABCD", 6), ("EBCF", 6), ("BCD", 2)]);
    let map = &letters.map;
    let node = map.contexts(letters.edge('C', 'D')).find(|&node| map.path(node).len() == 3).unwrap();
    assert_eq!(map.general(node), letters.edge('C', 'D'));
    assert_eq!(map.general_site(map.site_of(node)), Some(at('C')));
    assert!(map.site_contexts(at('C')).any(|site| site == map.site_of(node)));
    let caller = map.parent(node).unwrap();
    assert_eq!(map.general(caller), letters.edge('B', 'C'));
    assert_eq!(map.children(caller).collect::<Vec<_>>(), [node]);
    let root = map.ancestors(node).last().unwrap();
    assert_eq!(map.suffixes(method('A')).collect::<Vec<_>>(), [map.site_of(root)]);
    assert_eq!(map.parent(root), None);
}

/// Section 3.1.4: the second walk stops at B, which the first has seen.
#[test]
fn walks_continue_at_the_first_visited_frame() {
    let mut letters = Letters::new();
    let (first, second) = (letters.stack("ABC"), letters.stack("BDF"));
    let map = &mut letters.map;
    let mut at = map.start();
    map.walk(&mut at, 0, &first, 1.0);
    map.walk(&mut at, 1, &second, 1.0);
    assert_eq!(at.depth(), 3);
    // The walk in between was lost; the next one stops at a frame that the map has never seen: what is new makes a suffix.
    let mut behind = map.start();
    map.walk(&mut behind, 7, &second, 1.0);
    assert_eq!(behind.depth(), 9);
    map.check().unwrap();
    assert_eq!(letters.context_count("AB"), 1.0);
    assert_eq!(letters.context_count("ABC"), 1.0);
    assert_eq!(letters.context_count("ABDF"), 1.0);
    assert_eq!(letters.context_count("BDF"), 1.0);
    assert_eq!(letters.map.edge(letters.edge('D', 'F')), known(2.0));
}

#[test]
fn bursts_count_their_calls_only() {
    let mut letters = Letters::new();
    let stack = letters.stack("AB");
    let events =
        vec![Event::call(letters.edge('B', 'C')), Event::RETURN, Event::RETURN, Event::RETURN, Event::call(letters.edge('E', 'F'))];
    let sample = Sample { thread: ThreadId::from_u32(0), stack, observed: Observed::burst(events), weight: 2.5, tick: 0, stands_for: 1.0 };
    letters.map.add(&sample, |edge| edge);
    letters.map.check().unwrap();
    assert_eq!(letters.context_count("AB"), 0.0);
    assert_eq!(letters.context_count("ABC"), 2.5);
    assert_eq!(letters.context_count("EF"), 2.5, "below the sampled stack: a new suffix");
    assert_eq!(letters.map.total(), 5.0);
}

#[test]
fn bounded_stacks_are_suffixes() {
    let letters = Letters::new();
    let mut map = CcMap::new(&letters.program, Limits { frames: 2, ..Limits::default() }).unwrap();
    for stack in ["ABCD", "EBCD", "CD"] {
        let stack = letters.stack(stack);
        map.add(&Sample { thread: ThreadId::from_u32(0), stack, observed: Observed::Top, weight: 1.0, tick: 0, stands_for: 1.0 }, |edge| {
            edge
        });
    }
    map.check().unwrap();
    let letters = Letters { map, ..letters };
    assert_eq!((letters.context_count("BCD"), letters.context_count("CD"), letters.context_count("ABCD")), (2.0, 1.0, 0.0));
    assert_eq!(letters.map.edge(letters.edge('C', 'D')), known(3.0));
}

/// Of a continued walk that is too long too only the innermost frames are used, and they do not hang below what was seen before.
#[test]
fn bounded_walks_leave_their_context() {
    let letters = Letters::new();
    let mut map = CcMap::new(&letters.program, Limits { frames: 2, ..Limits::default() }).unwrap();
    let mut at = map.start();
    map.walk(&mut at, 0, &letters.stack("AB"), 1.0);
    map.walk(&mut at, 1, &letters.stack("BCDE"), 1.0);
    assert_eq!(at.depth(), 4);
    map.walk(&mut at, 3, &letters.stack("DF"), 1.0);
    assert_eq!(at.depth(), 4);
    map.check().unwrap();
    let letters = Letters { map, ..letters };
    assert_eq!((letters.context_count("AB"), letters.context_count("ABC"), letters.context_count("BC")), (1.0, 0.0, 0.0));
    assert_eq!((letters.context_count("CDE"), letters.context_count("CDF"), letters.context_count("ABDE")), (1.0, 1.0, 0.0));
}

#[test]
fn a_start_of_a_thread_is_not_a_suffix() {
    let mut letters = Letters::new();
    let main = start(&mut letters.program, method('A'));
    letters.map.register(&letters.program).unwrap();
    let map = &mut letters.map;
    let mut at = map.start();
    map.call(&mut at, main, 1.0);
    map.call(&mut at, EdgeId::from_u32(1), 1.0);
    let mut suffix = map.start();
    map.call(&mut suffix, EdgeId::from_u32(1), 1.0);
    map.check().unwrap();
    assert_eq!(map.contexts(EdgeId::from_u32(1)).map(|node| map.path(node).len()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(map.targets_of(map.starts().unwrap()).map(|node| map.general(node)).collect::<Vec<_>>(), [main]);
    assert_eq!(map.method(method('A')), known(1.0));
    map.ret(&mut at);
    map.ret(&mut at);
    map.ret(&mut at);
    assert_eq!((at.depth(), at.context()), (0, None));
}

#[test]
fn edges_appear_while_a_map_is_filled() {
    let mut letters = Letters::new();
    let site = site(&mut letters.program, method('A'));
    let new = call(&mut letters.program, site, method('B'));
    let mut at = letters.map.start();
    letters.map.call(&mut at, new, 1.0);
    letters.map.call(&mut at, letters.edge('B', 'C'), 1.0);
    letters.map.ret(&mut at);
    letters.map.ret(&mut at);
    letters.map.check().unwrap();
    assert_eq!((letters.map.dropped(), letters.map.unknown()), (Dropped { calls: 1, weight: 1.0 }, 1));
    letters.map.register(&letters.program).unwrap();
    letters.map.call(&mut at, new, 1.0);
    letters.map.check().unwrap();
    assert_eq!(letters.map.edge(new), known(1.0));
    assert_eq!(letters.map.edge(letters.edge('B', 'C')), Count { total: 1.0, unexplained: 1.0 });
}

#[test]
fn what_a_program_does_not_have_is_an_error() {
    let mut program = Program::default();
    let method = function(&mut program, "f");
    let lost = call(&mut program, CallSiteId::from_u32(3), method);
    let error = CcMap::new(&program, Limits::default()).err().unwrap();
    assert_eq!(error, CcMapError::NoSuchSite { edge: lost, site: CallSiteId::from_u32(3) });
    assert_eq!(error.to_string(), "edge0 starts at site3, which the program does not have; define call sites before edges");
    let mut program = Program::default();
    let lost = start(&mut program, FuncId::from_u32(u32::MAX - 1));
    let error = CcMap::new(&program, Limits::default()).err().unwrap();
    assert_eq!(error, CcMapError::NoSuchFunction { edge: lost, function: FuncId::from_u32(u32::MAX - 1) });
    let map = CcMap::new(&Program::default(), Limits::default()).unwrap();
    assert_eq!(map.clone().decay(f64::NAN).unwrap_err().to_string(), "counts cannot be multiplied by NaN; give a number from 0 to 1");
    assert_eq!(map.method(method), Count::default());
    assert_eq!(map.edge(lost), Count::default());
    assert_eq!(map.find(&[lost]), None);
    assert_eq!((map.targets(CallSiteId::from_u32(9)), map.hottest_chains(0.5, 3)), (vec![], vec![]));
    assert_eq!(map.chain_through(lost, 0.5), None);
}

//! Single traces, checked by hand: the example of OOPSLA'12 Fig. 2, calls that could be counted twice, deep stacks, bad parameters.

use crate::support::*;
use cranelift_entity::EntityRef;
use profiler::ids::FuncId;
use profiler::structures::CallStructure;
use profiler::structures::forest::Forest;
use profiler::structures::kccf::pruned::PrunedKccf;
use profiler::structures::kccf::{Kccf, KccfError, UNBOUNDED};
use profiler::structures::ksf::SiblingKsf;

/// Fig. 2 (b).
const FIG2_PATHS: [(&str, f64); 14] = [
    ("r", 1.0),
    ("a", 2.0),
    ("b", 3.0),
    ("c", 2.0),
    ("ra", 1.0),
    ("ab", 3.0),
    ("ac", 1.0),
    ("rc", 1.0),
    ("ca", 1.0),
    ("rab", 1.0),
    ("rac", 1.0),
    ("rca", 1.0),
    ("cab", 2.0),
    ("rcab", 2.0),
];

#[test]
fn the_papers_example() {
    let trace = fig2();
    for k in 1..6 {
        let expected: Paths<FuncId> =
            FIG2_PATHS.iter().filter(|(path, _)| path.len() <= k as usize + 1).map(|&(path, count)| (names(path), count)).collect();
        assert_eq!(paths(&invert(&trace.cct(), k)), expected, "CCT, k = {k}");
        assert_eq!(paths(&invert(&trace.ksf(k), k)), expected, "k-SF, k = {k}");
        assert_eq!(paths(&invert(&trace.indexed(k), k)), expected, "indexed k-SF, k = {k}");
    }
}

#[test]
fn queries_on_the_papers_example() {
    let kccf = invert(&fig2().cct(), 2);
    let find = |text: &str| kccf.find(&names(text));
    assert_eq!(kccf.roots().map(|root| kccf.label(root)).collect::<Vec<_>>(), names("rabc"));
    assert_eq!(kccf.root(f('b')), find("b"));
    assert_eq!((find("d"), find("bb"), find("rcab"), find("")), (None, None, None, None));
    let contexts: Vec<_> = kccf.contexts(f('b')).into_iter().map(|(node, weight)| (kccf.context(node), weight)).collect();
    assert_eq!(contexts, [(names("cab"), 2.0), (names("rab"), 1.0)]);
    let children: Vec<_> = kccf.children(find("ab").unwrap()).collect();
    assert_eq!(children, [find("rab").unwrap(), find("cab").unwrap()]);
    assert_eq!(kccf.parent(children[0]), find("ab"));
    assert_eq!(kccf.leaves().count(), 7, "r, ra, rca, rab, cab, rac, rc");
    assert_eq!(kccf.depth(), 2);
    assert!(kccf.bytes() >= 13 * 24);
}

/// The trees of a k-SF by hand: k = 2 cuts the CCT of Fig. 2 into r's tree, of depth 3, and those of b, c and a, which stand two calls below r.
#[test]
fn the_papers_example_as_slabs() {
    let ksf = fig2().ksf(2);
    let path = |node| {
        let mut path: Vec<FuncId> = std::iter::successors(Some(node), |&node| ksf.parent(node)).map(|node| ksf.label(node)).collect();
        path.reverse();
        path
    };
    let found: Paths<FuncId> = ksf.nodes().map(|node| (path(node), ksf.weight(node))).collect();
    let top = [("r", 1.0), ("ra", 1.0), ("rc", 1.0), ("b", 0.0), ("c", 0.0), ("a", 0.0), ("ab", 0.0)];
    let bottom = [("rab", 1.0), ("rac", 1.0), ("rca", 1.0), ("rcab", 2.0)];
    assert_eq!(found, top.into_iter().chain(bottom).map(|(path, count)| (names(path), count)).collect());
    assert_eq!(ksf.root(f('r')).map(|root| ksf.weight(root)), Some(1.0));
    assert_eq!(ksf.root(f('d')), None);
}

/// Where the root is called again k calls deep, the paper's clearing keeps calls of a later slab that are counted in the bottom region too.
#[test]
fn recursion_to_the_root_counts_once() {
    let trace = trace("rar...");
    let expected = trace.reference(2);
    assert_eq!(expected[&names("r")], 2.0);
    let cleared = trace.feed(Fig7 { k: 2, counts: Paths::new() }, true, trace.function()).inverse(f('r'));
    assert_eq!(cleared[&names("r")], 3.0);
    assert_eq!(paths(&invert(&trace.ksf(2), 2)), expected);
}

/// So it is where one thread's first function is called in another.
#[test]
fn first_functions_of_several_threads_count_once() {
    let thread = |text: &str| text.chars().map(|letter| (letter != '.').then(|| f(letter).as_u32() as u8)).collect();
    let trace = Trace::new(&[thread("rab..."), thread("ba..")]);
    let kccf = invert(&trace.ksf(2), 2);
    assert_eq!(paths(&kccf), trace.reference(2));
    let b = kccf.root(f('b')).unwrap();
    assert_eq!((kccf.weight(b), kccf.own_weight(b)), (2.0, 1.0));
    assert_eq!(
        kccf.contexts(f('b')).iter().map(|(node, weight)| (kccf.context(*node).len(), *weight)).collect::<Vec<_>>(),
        [(1, 1.0), (3, 1.0)]
    );
}

/// Ten functions in a row, a million times: the stack is deep, the forest is not.
#[test]
fn a_million_frames() {
    let depth = 1_000_000;
    let mut ksf = SiblingKsf::<FuncId>::new(3, NO_LIMIT).unwrap();
    let mut at = ksf.start();
    for call in 0..depth {
        ksf.call(&mut at, FuncId::new(call % 10), 1.0);
    }
    assert_eq!(at.depth(), depth);
    assert!(ksf.len() <= 10 * 6);
    let kccf = invert(&ksf, 3);
    assert_eq!(kccf.contexts(FuncId::new(9))[0].1, 1e5);
    for _ in 0..depth + 5 {
        ksf.ret(&mut at);
    }
    assert_eq!(at.depth(), 0);
    ksf.call(&mut at, FuncId::new(3), 1.0);
    assert_eq!(invert(&ksf, 3).own_weight(invert(&ksf, 3).root(FuncId::new(3)).unwrap()), 1.0);
}

/// A recursion of a million frames as one path of the CCT, which a k-SF with a large k is.
#[test]
fn a_path_of_a_million_nodes() {
    let depth = 1_000_000;
    let mut ksf = SiblingKsf::<FuncId>::new(UNBOUNDED, NO_LIMIT).unwrap();
    let mut at = ksf.start();
    (0..depth).for_each(|_| ksf.call(&mut at, FuncId::new(0), 1.0));
    assert_eq!(ksf.len(), depth);
    let kccf = invert(&ksf, 5);
    let weights: Vec<f64> = kccf.nodes().map(|node| kccf.weight(node)).collect();
    assert_eq!(weights, [1e6, 999_999.0, 999_998.0, 999_997.0, 999_996.0, 999_995.0]);
    let pruned = PrunedKccf::invert(&ksf, 5, NO_LIMIT).unwrap();
    assert_eq!(pruned.kept().len(), 6, "the weights fall along the chain");
}

/// Contexts of any length of a recursion, of which no node of the CCT's path has its own: neither the time nor the memory may grow with the square of its depth.
#[test]
fn similar_contexts_of_a_deep_recursion() {
    let depth = 200_000;
    let mut ksf = SiblingKsf::<FuncId>::new(UNBOUNDED, NO_LIMIT).unwrap();
    let mut at = ksf.start();
    (0..depth).for_each(|call| ksf.call(&mut at, FuncId::new(call % 2), 1.0));
    let similar = Kccf::similar(&ksf, 60.0, UNBOUNDED, NO_LIMIT).unwrap();
    let of_each = depth / 2;
    assert_eq!(similar.depth(), 2 * of_each * 4 / 10 + 1, "every second caller is the first call of one more context");
    assert_eq!(similar.leaves().map(|leaf| similar.weight(leaf)).collect::<Vec<_>>(), vec![0.6 * of_each as f64; 2]);
    assert_eq!(similar.len(), similar.depth() * 2 + 1);
}

#[test]
fn bad_parameters_are_errors() {
    assert!(SiblingKsf::<FuncId>::new(0, NO_LIMIT).unwrap_err().to_string().contains("k must be at least 1"));
    let ksf = fig2().ksf(2);
    let error = Kccf::invert(&ksf, 3, NO_LIMIT).unwrap_err();
    assert_eq!(error, KccfError::BeyondReach { k: 3, reach: 2 });
    assert!(error.to_string().contains("build it with k = 3"));
    assert!(PrunedKccf::invert(&ksf, 3, NO_LIMIT).is_err());
    assert!(Kccf::similar(&ksf, 50.0, UNBOUNDED, NO_LIMIT).unwrap_err().to_string().contains("start from a CCT"));
    for percent in [-1.0, 100.5, f64::NAN] {
        assert!(Kccf::similar(&fig2().cct(), percent, 2, NO_LIMIT).unwrap_err().to_string().contains("not a percentage"));
    }
}

#[test]
fn nothing_comes_of_nothing() {
    let trace = Trace::new(&[vec![None, None]]);
    let kccf = invert(&trace.ksf(4), 4);
    assert!(kccf.is_empty() && trace.ksf(4).is_empty());
    assert_eq!((kccf.depth(), kccf.roots().count(), kccf.contexts(f('a')).len()), (0, 0, 0));
    assert!(kccf.merged(&kccf, 5).is_empty() && kccf.truncated(2).is_empty());
    assert!(PrunedKccf::invert(&trace.cct(), 4, 5).unwrap().reconstruct(5).is_empty());
    assert!(Kccf::similar(&trace.cct(), 10.0, UNBOUNDED, 5).unwrap().is_empty());
}

//! Makes a program smaller that shows something of interest.
//!
//! In: a text laid out as the generator does (blocks indented, heads and `}` on their own lines) and a test. Out: a smaller text for which the test still holds. Whether it compiles is the test's
//! business: dropping a declaration breaks the uses, and such a step is simply not taken.

/// A line and what is indented below it; `}` and `} else {` are lines of their own after that.
#[derive(Clone, Debug)]
struct Node {
    line: String,
    body: Vec<Node>,
}

/// Tries to drop and to unwrap statements until no single step keeps `interesting` true.
pub fn shrink(text: &str, mut interesting: impl FnMut(&str) -> bool) -> String {
    let mut best: Vec<String> = text.lines().map(str::to_string).collect();
    loop {
        let before = best.len();
        let mut chunk = best.len().max(1);
        while chunk > 0 {
            let mut at = 0;
            while at < best.len() {
                let candidate = step(&best, at, chunk);
                match candidate.filter(|c| interesting(&(c.join("\n") + "\n"))) {
                    Some(smaller) => best = smaller,
                    None => at += 1,
                }
            }
            chunk /= 2;
        }
        if best.len() == before {
            return best.join("\n") + "\n";
        }
    }
}

/// With up to `count` statements left out that begin at line `at`; for a single one that has a block also with the block in its place.
fn step(lines: &[String], at: usize, count: usize) -> Option<Vec<String>> {
    let nodes = tree(lines);
    let mut seen = 0;
    let mut changed = false;
    let kept = without(&nodes, at, count, &mut seen, &mut changed);
    if !changed {
        return None;
    }
    let mut out = Vec::new();
    flatten(&kept, &mut out);
    (out.len() < lines.len()).then_some(out)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn tree(lines: &[String]) -> Vec<Node> {
    let mut stack: Vec<(usize, Vec<Node>)> = vec![(0, Vec::new())];
    for line in lines {
        let depth = if line.trim().is_empty() { stack.last().map_or(0, |s| s.0) } else { indent(line) };
        while stack.len() > 1 && stack.last().is_some_and(|s| s.0 > depth) {
            let (_, body) = stack.pop().expect("not empty");
            let siblings = &mut stack.last_mut().expect("the root").1;
            match siblings.last_mut() {
                Some(head) => head.body = body,
                None => siblings.extend(body),
            }
        }
        if stack.last().is_some_and(|s| s.0 < depth) {
            stack.push((depth, Vec::new()));
        }
        stack.last_mut().expect("the root").1.push(Node { line: line.clone(), body: Vec::new() });
    }
    while stack.len() > 1 {
        let (_, body) = stack.pop().expect("not empty");
        let siblings = &mut stack.last_mut().expect("the root").1;
        match siblings.last_mut() {
            Some(head) => head.body = body,
            None => siblings.extend(body),
        }
    }
    stack.pop().expect("the root").1
}

fn flatten(nodes: &[Node], out: &mut Vec<String>) {
    for node in nodes {
        out.push(node.line.clone());
        flatten(&node.body, out);
    }
}

fn size(node: &Node) -> usize {
    1 + node.body.iter().map(size).sum::<usize>()
}

/// Leaves out whole statements: the one whose head is line `at` and those after it in its block. A statement is its head, the lines that go on with `}`, and all their bodies.
fn without(nodes: &[Node], at: usize, count: usize, seen: &mut usize, changed: &mut bool) -> Vec<Node> {
    let mut kept = Vec::new();
    let mut i = 0;
    while i < nodes.len() {
        if *seen == at && !*changed && !nodes[i].line.trim_start().starts_with('}') {
            *changed = true;
            let mut left = count;
            let mut end = i;
            while end < nodes.len() && left > 0 {
                end += 1;
                while end < nodes.len() && nodes[end].line.trim_start().starts_with('}') {
                    end += 1;
                }
                left -= 1;
            }
            *seen += nodes[i..end].iter().map(size).sum::<usize>();
            i = end;
            continue;
        }
        let start = *seen;
        *seen += 1;
        let body = without(&nodes[i].body, at, count, seen, changed);
        *seen = start + size(&nodes[i]);
        kept.push(Node { line: nodes[i].line.clone(), body });
        i += 1;
    }
    kept
}

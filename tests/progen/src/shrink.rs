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
        // Chunks of 0: nothing is left out, but blocks are put in their statements' place.
        let mut chunk = best.len().max(1);
        loop {
            let mut at = 0;
            while at < best.len() {
                let candidate = step(&best, at, chunk);
                match candidate.filter(|c| interesting(&(c.join("\n") + "\n"))) {
                    Some(smaller) => best = smaller,
                    None => at += 1,
                }
            }
            if chunk == 0 {
                break;
            }
            chunk /= 2;
        }
        if best.len() == before {
            return best.join("\n") + "\n";
        }
    }
}

/// With up to `count` statements left out that begin at line `at`; for 0, with the first block of the statement there in its place.
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

fn dedented(node: &Node) -> Node {
    let line = node.line.strip_prefix("    ").unwrap_or(&node.line).to_string();
    Node { line, body: node.body.iter().map(dedented).collect() }
}

/// Leaves out whole statements: the one whose head is line `at` and those after it in its block. A statement is its head, the lines that go on with `}`, and all their bodies.
fn without(nodes: &[Node], at: usize, count: usize, seen: &mut usize, changed: &mut bool) -> Vec<Node> {
    let mut kept = Vec::new();
    let mut i = 0;
    while i < nodes.len() {
        if *seen == at && !*changed && !nodes[i].line.trim_start().starts_with('}') {
            *changed = true;
            if count == 0 {
                kept.extend(nodes[i].body.iter().map(dedented));
            }
            let mut left = count.max(1);
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
fun f() {
    let a = 1
    if a > 0 {
        let b = 2
        while b > 0 {
            needle(1)
        }
        let c = 3
    } else {
        let d = 4
    }
    let e = 5
}
fun g() {
    let h = 6
}
";

    /// As the compiler would: blocks are closed.
    fn balanced(text: &str) -> bool {
        text.matches('{').count() == text.matches('}').count()
    }

    #[test]
    fn leaves_what_the_test_wants() {
        assert_eq!(shrink(TEXT, |t| balanced(t) && t.contains("needle")), "needle(1)\n");
        assert_eq!(shrink(TEXT, |t| balanced(t) && t.contains("needle") && t.contains("fun f")), "fun f() {\n    needle(1)\n}\n");
        // Only first blocks are put in their statement's place.
        let second = shrink(TEXT, |t| balanced(t) && t.contains("let d"));
        assert_eq!(second, "if a > 0 {\n} else {\n    let d = 4\n}\n");
    }

    #[test]
    fn a_text_where_everything_counts_stays() {
        assert_eq!(shrink(TEXT, |t| t == TEXT), TEXT);
    }
}

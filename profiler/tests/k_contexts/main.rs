//! The k-context structures (OOPSLA'12) against their definitions: the worked example, the properties of section 4.1, Theorem 1 and Lemma 2, and on random traces a reference that keeps every path in a map.

mod derived;
mod examples;
mod properties;
mod support;

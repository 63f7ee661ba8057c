// Twin of lang-samples/binary_trees.lang.
"use strict";

const { argument, repeat } = require("./bench.js");

class Tree {
  constructor(left, right) {
    this.left = left;
    this.right = right;
  }

  count() {
    let nodes = 1;
    if (this.left !== null) nodes += this.left.count();
    if (this.right !== null) nodes += this.right.count();
    return nodes;
  }
}

function build(depth) {
  return depth === 0 ? new Tree(null, null) : new Tree(build(depth - 1), build(depth - 1));
}

function work() {
  const smallest = 4;
  const largest = Math.max(smallest + 2, argument(0, 8));
  console.log(`stretch tree of depth ${largest + 1}\t check: ${build(largest + 1).count()}`);

  const longLived = build(largest);
  for (let depth = smallest; depth <= largest; depth++) {
    if ((depth - smallest) % 2 === 0) {
      const trees = 1 << (largest - depth + smallest);
      let check = 0;
      for (let i = 0; i < trees; i++) check += build(depth).count();
      console.log(`${trees}\t trees of depth ${depth}\t check: ${check}`);
    }
  }
  console.log(`long lived tree of depth ${largest}\t check: ${longLived.count()}`);
}

repeat(work);

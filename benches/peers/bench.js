// What the JavaScript twins share, as lang-samples/bench.lang: sizes from the command line, and the clock.
"use strict";

const args = process.argv.slice(2);
const option = args.indexOf("--iterations");
const sizes = option < 0 ? args.length : option;

function argument(index, fallback) {
  return index < sizes ? parseInt(args[index], 10) : fallback;
}

function repeat(work) {
  if (option < 0) {
    work();
    return;
  }
  const iterations = parseInt(args[option + 1], 10);
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const start = process.hrtime.bigint();
    work();
    console.error(`iteration ${iteration}: ${process.hrtime.bigint() - start} ns`);
  }
}

module.exports = { argument, repeat };

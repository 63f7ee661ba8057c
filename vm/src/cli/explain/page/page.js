"use strict";
// Shows the page's data: a tree of calls for each function, the source beside it, the evidence for the call that is chosen.
// The address after # names what is chosen: #call-7, or #line-0-12 for line 12 of file 0. So the browser's way back works, and links can be kept.

const { explanation, sources } = JSON.parse(document.getElementById("data").textContent);
const { functions, calls } = explanation;
const byId = (id) => document.getElementById(id);
const fileOf = new Map(sources.map((source, at) => [source.path, at]));
const childrenOf = calls.map(() => []);
const ownOf = functions.map(() => []);
for (const call of calls) (call.parent === null ? ownOf[call.function] : childrenOf[call.parent]).push(call);
const asked = calls.filter((call) => call.selected);

// Children may be in arrays, since there can be more of them than a call takes arguments.
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  for (const child of children.flat()) if (child !== null) made.append(child);
  return made;
}

// What is replaced takes the focus with it; the pane keeps it, so that the keyboard goes on where it was.
function fill(pane, children) {
  const isFocused = pane.contains(document.activeElement);
  const fragment = document.createDocumentFragment();
  for (const child of children) fragment.append(child);
  pane.replaceChildren(fragment);
  if (isFocused) pane.focus({ preventScroll: true });
}

// Three digits, all before the point.
function short(number) {
  if (number === null) return "?";
  if (number === 0) return "0";
  if (Math.abs(number) >= 1e15) return number.toExponential(2);
  const digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number)))));
  return number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const withError = (number, error) => `${short(number)} ± ${short(error)}`;
const verdictOf = (verdict) => `${verdict.inlined ? "inline" : "call"} (${verdict.reason})`;
const placeOf = (file, line) => (line === 0 ? "" : `${file.split("/").pop()}:${line}`);

// ---- which calls are shown

const tests = {
  "": () => true,
  inlined: (call) => call.inlined,
  called: (call) => !call.inlined,
  unsure: (call) => call.evidence !== null && (call.evidence.stability ?? 0) < 0.95,
  regret: (call) => call.evidence !== null && call.evidence.regret !== null && call.evidence.regret.inlined !== call.inlined,
  size: (call) => call.evidence !== null && call.evidence.by_size.inlined !== call.inlined,
  measured: (call) => call.benefit !== null,
};

function wordsOf(call) {
  const place = call.line === 0 ? call.file : `${call.file}:${call.line}`;
  return `${call.callee} ${call.caller} ${functions[call.function].name} ${call.reason} ${place} ${call.inlined ? "inlined" : "called"}`.toLowerCase();
}

const words = calls.map(wordsOf);
const isSeen = (call) => call.evidence === null || call.evidence.weight > 0;

function matching() {
  const sought = byId("search").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const test = tests[byId("which").value];
  const unseen = byId("unseen").checked;
  return calls.map((call) => call.selected && (unseen || isSeen(call)) && test(call) && sought.every((word) => words[call.id].includes(word)));
}

// ---- trees

const buttons = new Map();

function callItem(call, matches, shown) {
  const share = call.evidence === null ? null : element("span", { className: "share", title: "of all calls" }, `${short(call.evidence.share)} %`);
  const tag = element("span", { className: `tag ${call.inlined ? "inlined" : "called"}` }, call.inlined ? "inline" : "call");
  const place = element("span", { className: "place" }, ` ${placeOf(call.file, call.line)} · ${call.reason}`);
  const button = element("button", { type: "button", className: `call${matches[call.id] ? "" : " way"}`, title: call.clause }, share, tag, call.callee, place);
  button.dataset.call = call.id;
  button.addEventListener("click", () => go(`call-${call.id}`));
  buttons.set(call.id, button);
  const below = childrenOf[call.id].filter((child) => shown[child.id]);
  return element("li", {}, button, below.length === 0 ? null : element("ul", {}, below.map((child) => callItem(child, matches, shown))));
}

function showTrees() {
  const matches = matching();
  const shown = [...matches];
  // What a link or an address leads to has a row, whatever is searched for.
  if (chosen !== null && chosen.call !== null) shown[chosen.call] = true;
  // Parents have smaller numbers than their children.
  for (const call of [...calls].reverse()) if (shown[call.id] && call.parent !== null) shown[call.parent] = true;
  const parts = [];
  const focused = document.activeElement?.dataset.call;
  buttons.clear();
  functions.forEach((root, at) => {
    const own = ownOf[at].filter((call) => shown[call.id]);
    if (own.length === 0) return;
    parts.push(element("h2", {}, root.name, element("span", { className: "place" }, ` ${placeOf(root.file, root.line)}`)));
    parts.push(element("ul", {}, own.map((call) => callItem(call, matches, shown))));
  });
  if (parts.length === 0) parts.push(element("p", { className: "place" }, "No call fits."));
  fill(byId("trees"), parts);
  if (focused !== undefined) buttons.get(Number(focused))?.focus({ preventScroll: true });
  const count = matches.filter(Boolean).length;
  byId("count").textContent = `${count} of ${asked.length} ${asked.length === 1 ? "call" : "calls"}`;
  mark();
}

// ---- source

const sitesOf = sources.map(() => new Map());
for (const call of asked) {
  const at = fileOf.get(call.file);
  if (at === undefined) continue;
  if (!sitesOf[at].has(call.line)) sitesOf[at].set(call.line, []);
  sitesOf[at].get(call.line).push(call);
}

let fileShown = -1;

function showFile(at) {
  if (at === fileShown) return;
  fileShown = at;
  byId("file").value = String(at);
  const rows = sources[at].text.split("\n").map((text, index) => {
    const line = index + 1;
    const here = sitesOf[at].get(line);
    const row = element("div", { className: "row" }, element("span", { className: "number" }, String(line)), element("span", { className: "text" }, text));
    row.dataset.line = line;
    if (here === undefined) return row;
    const inlined = here.filter((call) => call.inlined).length;
    row.classList.add("site", inlined === here.length ? "inlined" : inlined === 0 ? "called" : "mixed");
    row.title = `${here.length} ${here.length === 1 ? "decision" : "decisions"}, ${inlined} inlined`;
    row.tabIndex = 0;
    row.setAttribute("role", "link");
    row.addEventListener("click", () => go(`line-${at}-${line}`));
    row.addEventListener("keydown", (event) => event.key === "Enter" && go(`line-${at}-${line}`));
    return row;
  });
  fill(byId("code"), rows);
  byId("code").scrollTo(0, 0);
}

// ---- evidence

function rowsOf(call) {
  const rows = [];
  const row = (name, value) => rows.push(element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value)));
  const { evidence, benefit } = call;
  if (evidence !== null) {
    const behind = evidence.context === 0 ? "" : `, behind ${evidence.context} call${evidence.context === 1 ? "" : "s"}`;
    row("Weight here", `${withError(evidence.weight, evidence.error)} calls${behind}`);
    row("Share of all calls", `${withError(evidence.share, evidence.share_error)} %`);
    row("Edge, any context", `corrected ${withError(evidence.edge_weight, evidence.edge_error)} · raw ${evidence.edge_raw_weight === null ? "unknown" : short(evidence.edge_raw_weight)}`);
    row("Samples", evidence.samples === null ? "unknown" : evidence.samples.toLocaleString("en"));
    row("Cost", `${short(evidence.cost)} instructions`);
    row("Decided by", `${evidence.quantity}: ${short(evidence.value)}, threshold ${short(evidence.threshold)}`);
    row("Flip margin", flip(call));
    row("Stability", evidence.stability === null ? "unknown" : `${(100 * evidence.stability).toFixed(1)} % of ${explanation.resamples} resampled profiles decide the same`);
    row("Regret", regret(call));
    row("Without a profile", verdictOf(evidence.by_size));
  }
  row("Callee", `${call.callee_size} instructions, into a function of ${call.root_size}`);
  if (call.targets !== null) row("Virtual", `one of ${call.targets} targets, behind a test of the class`);
  if (call.asked > 1) row("Asked", `${call.asked} times; the last answer counts`);
  if (benefit !== null) {
    const interval = benefit.low === null ? "" : ` (${benefit.low.toFixed(3)}–${benefit.high.toFixed(3)})`;
    const sides = `${call.inlined ? "inlined" : "called"} against ${benefit.otherwise}`;
    const copies = benefit.reach === "everywhere" ? ", in all copies" : "";
    row("Measured", `${benefit.verdict}: ${benefit.speedup.toFixed(3)}${interval} ×, ${sides}${copies}; ${benefit.rounds} ${benefit.rounds === 1 ? "round" : "rounds"}, ${benefit.time} time of the ${benefit.phase}`);
    if (benefit.calls !== null) row("Calls in a run", `${benefit.calls.toLocaleString("en")} · otherwise ${benefit.calls_otherwise === null ? "unknown" : benefit.calls_otherwise.toLocaleString("en")}`);
    for (const other of benefit.also_changed) row("Changed with it", other);
  }
  return rows;
}

function flip(call) {
  const { flip } = call.evidence;
  if (flip === null) return "no share of the calls would flip it";
  if (flip.share < 1e-9) return call.inlined ? "would flip if it were never seen" : "would flip if it were seen at all";
  const away = flip.errors === null ? "" : `, ${short(flip.errors)} standard errors away`;
  return `would flip ${call.inlined ? "below" : "from"} ${short(flip.share)} %${away}`;
}

function regret(call) {
  const { regret } = call.evidence;
  if (regret === null) return "unknown: no exhaustive profile (--check makes one)";
  const exact = `${short(regret.weight)} calls, ${short(regret.share)} %`;
  if (regret.inlined === call.inlined) return `none: the exhaustive profile (${exact}) decides the same`;
  return `${short(regret.calls)} calls: the exhaustive profile (${exact}) decides ${verdictOf(regret)}`;
}

function chainOf(call) {
  const around = [];
  for (let at = call.parent; at !== null; at = calls[at].parent) around.push(calls[at]);
  return around;
}

function evidenceOf(call) {
  const line = fileOf.get(call.file);
  const place = line === undefined || call.line === 0 ? null : element("a", { href: `#line-${line}-${call.line}` }, `line ${call.line} of ${call.caller}`);
  const parts = [
    element("h2", {}, element("span", { className: `tag ${call.inlined ? "inlined" : "called"}` }, call.inlined ? "inline" : "call"), call.callee),
    element("p", {}, `${call.reason}: ${call.clause}. Called on `, place === null ? "an unknown line" : place, "."),
  ];
  const around = chainOf(call);
  if (around.length > 0) {
    const links = around.flatMap((outer) => [element("a", { href: `#call-${outer.id}` }, outer.callee), " < "]);
    parts.push(element("p", {}, "Came in with ", links, functions[call.function].name));
  }
  if (call.decided_in !== null) parts.push(element("p", {}, `Decided for all copies of ${call.decided_in}.`));
  parts.push(element("table", {}, rowsOf(call)));
  return parts;
}

function listOf(at, line) {
  const here = sitesOf[at].get(line) ?? [];
  const items = here.map((call) => {
    const chain = [...chainOf(call).map((outer) => outer.callee), functions[call.function].name];
    const tag = element("span", { className: `tag ${call.inlined ? "inlined" : "called"}` }, call.inlined ? "inline" : "call");
    return element("li", {}, tag, element("a", { href: `#call-${call.id}` }, call.callee), element("span", { className: "place" }, ` in ${chain.join(" < ")} · ${call.reason}`));
  });
  return [element("h2", {}, `${placeOf(sources[at].path, line)}: ${here.length} ${here.length === 1 ? "decision" : "decisions"}`), element("ul", {}, items)];
}

// ---- what is chosen

let chosen = null;

function go(to) {
  if (location.hash === `#${to}`) followChoice();
  else location.hash = to;
}

function follow() {
  const call = /^#call-(\d+)$/.exec(location.hash);
  const line = /^#line-(\d+)-(\d+)$/.exec(location.hash);
  if (call !== null && Number(call[1]) < calls.length) {
    const found = calls[Number(call[1])];
    chosen = { call: found.id, file: fileOf.get(found.file), line: found.line };
    if (!buttons.has(found.id)) showTrees();
    fill(byId("evidence"), evidenceOf(found));
  } else if (line !== null && Number(line[1]) < sources.length) {
    chosen = { call: null, file: Number(line[1]), line: Number(line[2]) };
    fill(byId("evidence"), listOf(chosen.file, chosen.line));
  } else {
    return;
  }
  if (chosen.file !== undefined) showFile(chosen.file);
  mark();
  reveal(byId("code"), byId("code").querySelector(".current"));
  reveal(byId("trees"), buttons.get(chosen.call));
  byId("evidence").scrollTop = 0;
}

// Scrolls the pane alone: the page stays where the reader is.
function reveal(pane, child) {
  if (child === undefined || child === null) return;
  const [outer, inner] = [pane.getBoundingClientRect(), child.getBoundingClientRect()];
  if (inner.top < outer.top) pane.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) pane.scrollTop += inner.bottom - outer.bottom;
}

// Where panes stand below each other, what the reader has asked for would be out of sight, and far away for the keyboard.
function followChoice() {
  follow();
  if (!matchMedia("(max-width: 900px)").matches) return;
  byId("evidence").focus({ preventScroll: true });
  byId("evidence").scrollIntoView({ block: "nearest" });
}

function mark() {
  for (const marked of document.querySelectorAll(".current")) {
    marked.classList.remove("current");
    marked.removeAttribute("aria-current");
  }
  if (chosen === null) return;
  markOne(buttons.get(chosen.call));
  if (chosen.file === fileShown) markOne(byId("code").children[chosen.line - 1]);
}

function markOne(row) {
  row?.classList.add("current");
  row?.setAttribute("aria-current", "true");
}

// ---- beginning

byId("title").textContent = `${explanation.program}: what is inlined by the policy ${explanation.policy}`;
const profile = explanation.profile;
const about = profile === null ? [] : [`Profile of ${profile.description}; ${short(profile.calls)} calls`];
byId("about").textContent = [...about, ...explanation.notes].join(". ");
sources.forEach((source, at) => byId("file").append(element("option", { value: String(at) }, source.path)));
byId("file").addEventListener("change", () => { showFile(Number(byId("file").value)); mark(); });
byId("filter").addEventListener("submit", (event) => event.preventDefault());
for (const id of ["search", "which", "unseen"]) byId(id).addEventListener("input", showTrees);
window.addEventListener("hashchange", followChoice);
// Who asks for a site wants to see it, above all if it was not seen.
byId("unseen").checked = explanation.site !== null;
if (sources.length > 0) showFile(0);
showTrees();
if (location.hash === "") {
  const hottest = [...asked].sort((a, b) => (b.evidence?.weight ?? 0) - (a.evidence?.weight ?? 0))[0];
  if (hottest !== undefined) history.replaceState(null, "", `#call-${hottest.id}`);
}
follow();

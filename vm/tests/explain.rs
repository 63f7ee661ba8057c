//! `vm explain`: what it shows is what the optimizer does; what it measures is one decision; its page works in a browser, where there is one.
#![cfg(feature = "native")]

mod running;

use running::{Folder, streams};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DOCUMENT: &str = include_str!("../../docs/explain.md");

/// What stands in the document's blocks of this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    DOCUMENT.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// With the document's program.
fn folder(name: &str) -> Folder {
    Folder::new(name).with("coins.lang", blocks("lang")[0])
}

/// What it prints, all being well.
fn good(folder: &Folder, args: &[&str]) -> String {
    let (code, out, errors) = streams(&folder.vm(args));
    assert_eq!(code, Some(0), "{args:?}: {errors}");
    out
}

fn json(folder: &Folder, args: &[&str]) -> Value {
    serde_json::from_str(&good(folder, &[&["explain", "coins.lang", "--format", "json"], args].concat())).unwrap()
}

fn refused(folder: &Folder, args: &[&str]) -> String {
    let (code, out, errors) = streams(&folder.vm(&[&["explain", "coins.lang"], args].concat()));
    assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {errors}");
    errors
}

#[test]
fn the_document_shows_what_the_commands_print() {
    let folder = folder("explain-document");
    let mut shown = 0;
    for block in blocks("text") {
        let (command, output) = block.split_once('\n').unwrap();
        let command = command.strip_prefix("$ vm ").unwrap_or_else(|| panic!("no command: {command}"));
        let args: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches('\'')).collect();
        assert_eq!(good(&folder, &args), output, "vm {command}");
        shown += 1;
    }
    assert!(shown >= 2);
}

/// Function, lines of the calls around, line, callee, whether it is inlined.
type Told = (String, Vec<u64>, u64, String, bool);

fn of_explanation(explanation: &Value) -> BTreeSet<Told> {
    let calls = explanation["calls"].as_array().unwrap();
    let number = |call: &Value, name: &str| call[name].as_u64().unwrap();
    let told = |call: &Value| {
        let parent = |call: &Value| call["parent"].as_u64().map(|parent| &calls[parent as usize]);
        let mut chain: Vec<u64> = std::iter::successors(parent(call), |call| parent(call)).map(|call| number(call, "line")).collect();
        chain.reverse();
        let function = explanation["functions"][number(call, "function") as usize]["name"].as_str().unwrap();
        (function.into(), chain, number(call, "line"), call["callee"].as_str().unwrap().into(), call["inlined"].as_bool().unwrap())
    };
    calls.iter().filter(|call| call["decided_in"].is_null()).map(told).collect()
}

fn of_plan(plan: &Value, explanation: &Value) -> BTreeSet<Told> {
    let of = |kind: &str, at: &Value, field: &str| plan[kind][at.as_u64().unwrap() as usize][field].clone();
    let line = |site: &Value| of("sites", site, "line").as_u64().unwrap();
    let name = |function: &Value| of("functions", function, "name").as_str().unwrap().to_owned();
    let roots: Vec<&str> = explanation["functions"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    let mut told = BTreeSet::new();
    for decision in plan["decisions"].as_array().unwrap() {
        let chain: Vec<u64> = decision["chain"].as_array().unwrap().iter().map(line).collect();
        let (root, at, callee) = (name(&decision["root"]), line(&decision["site"]), name(&decision["callee"]));
        if roots.contains(&root.as_str()) {
            // The last answer counts.
            told.remove(&(root.clone(), chain.clone(), at, callee.clone(), false));
            told.insert((root, chain, at, callee, decision["inline"].as_bool().unwrap()));
        }
    }
    told
}

#[test]
fn the_trees_agree_with_the_plan() {
    let folder = folder("explain-plan");
    good(&folder, &["run", "coins.lang", "--tier", "baseline", "--profile", "exhaustive", "--profile-out", "p.json"]);
    for policy in ["cost-benefit", "context", "dynamic"] {
        good(&folder, &["run", "--tier", "opt", "--inline", policy, "--profile-in", "p.json", "--plan-out", "plan.json", "coins.lang"]);
        let plan: Value = serde_json::from_str(&folder.text("plan.json")).unwrap();
        let explanation = json(&folder, &["--inline", policy, "--profile-in", "p.json"]);
        let (shown, planned) = (of_explanation(&explanation), of_plan(&plan, &explanation));
        assert!(shown.len() > 10 && shown.iter().any(|call| call.4) && shown.iter().any(|call| !call.4), "{policy}: {shown:?}");
        let amiss: Vec<&Told> = shown.difference(&planned).collect();
        assert_eq!(amiss, [] as [&Told; 0], "{policy}: shown otherwise than planned");
        // What was refused in a function's early form, and vanished later, is in the plan alone.
        let left_out: Vec<&Told> = planned.difference(&shown).filter(|call| call.4).collect();
        assert_eq!(left_out, [] as [&Told; 0], "{policy}: planned and not shown");
    }
}

#[test]
fn an_exact_profile_is_sure_and_without_regret() {
    let folder = folder("explain-exact");
    let explanation = json(&folder, &["--profile", "exhaustive", "--check", "--inline", "cost-benefit"]);
    let calls = explanation["calls"].as_array().unwrap();
    assert!(!calls.is_empty());
    for call in calls {
        let evidence = &call["evidence"];
        assert_eq!((&evidence["error"], &evidence["stability"]), (&0.0.into(), &1.0.into()), "{call}");
        assert_eq!((&evidence["regret"]["calls"], &evidence["regret"]["inlined"]), (&0.0.into(), &call["inlined"]), "{call}");
    }
    let unchecked = json(&folder, &[]);
    assert!(unchecked["calls"].as_array().unwrap().iter().all(|call| call["evidence"]["regret"].is_null()));
    let plain = json(&folder, &["--inline", "static"]);
    assert!(plain["profile"].is_null() && plain["calls"].as_array().unwrap().iter().all(|call| call["evidence"].is_null()));
}

/// Each was inlined into the next before that was compiled, by what it was then: not so many calls deep.
#[test]
fn calls_that_came_in_with_others_are_told_as_they_were_decided() {
    let mut program = String::from("fun f0(x: Int): Int = x + 1\n");
    (1..20).for_each(|i| program += &format!("fun f{i}(x: Int): Int = f{}(x)\n", i - 1));
    program += "fun main() {\n    var s = 0\n    for i in 0..<10000 { s += f19(i) }\n    println(s)\n}\n";
    let folder = Folder::new("explain-deep").with("deep.lang", &program);
    let out = good(&folder, &["explain", "deep.lang", "--profile", "exhaustive", "--check", "--format", "json"]);
    let explanation: Value = serde_json::from_str(&out).unwrap();
    let inlined: Vec<&Value> = explanation["calls"].as_array().unwrap().iter().filter(|call| call["inlined"] == true).collect();
    assert!(inlined.len() >= 19, "{}", inlined.len());
    for call in inlined {
        let evidence = &call["evidence"];
        assert_eq!((&evidence["regret"]["inlined"], &evidence["by_size"]["inlined"]), (&true.into(), &true.into()), "{call}");
    }
}

#[test]
fn one_site_is_shown_wherever_it_is_inlined() {
    let folder = folder("explain-site");
    let explanation = json(&folder, &["--site", "total:25", "--profile", "exhaustive"]);
    let calls = explanation["calls"].as_array().unwrap();
    let (asked, way): (Vec<&Value>, Vec<&Value>) = calls.iter().partition(|call| call["selected"].as_bool().unwrap());
    assert!(asked.iter().all(|call| call["caller"] == "total" && call["line"] == 25));
    assert!(asked.iter().any(|call| call["callee"] == "Euro.worth" && call["targets"] == 2));
    assert!(!way.is_empty() && way.iter().all(|call| calls.iter().any(|below| below["parent"] == call["id"])), "{way:?}");

    for (site, words) in [
        ("total", "a function and a line are needed"),
        (":3", "a function and a line are needed"),
        ("totl:25", "did you mean total?"),
        ("total:1", "total calls nothing on line 1\nhint: it calls on 25"),
    ] {
        assert!(refused(&folder, &["--site", site]).contains(words), "{site}");
    }
    for (args, words) in [
        (&["--rounds", "2"][..], "go with --measure"),
        (&["--inline", "static", "--measure"], "--measure needs a --site"),
        (&["--inline", "static", "--check"], "--check goes with policies that ask a profile"),
        (&["--profile-in", "p.json", "--profile", "cbs"], "--profile-in names one that is there"),
        (&["--profile-in", "p.json", "--out", "p.json"], "--out and --profile-in name one file, p.json"),
        (&["--profile-out", "p.json", "--out", "./p.json"], "--out and --profile-out name one file, p.json"),
        (&["--profile", "off"], "other than off"),
        (&["--inline", "static", "--profile-out", "zz.json"], "--profile-out goes with policies that ask a profile"),
        (&["--inline", "none", "--counting", "always"], "--counting goes with policies that ask a profile"),
        (&["--inline", "none", "--clock", "calls"], "--clock goes with policies that ask a profile"),
        (&["--inline", "none", "--rest", "20ms"], "--rest goes with policies that ask a profile"),
        (&["--inline", "none", "--resamples", "9"], "--resamples goes with policies that ask a profile"),
        (&["--inline", "none", "--seed", "9"], "--seed goes with policies that ask a profile"),
        (&["--profile-in", "p.json", "--counting", "always"], "--profile-in names one that is there"),
        (&["--profile-in", "p.json", "--clock", "calls"], "--profile-in names one that is there"),
        (&["--profile-in", "p.json", "--rest", "20ms"], "--profile-in names one that is there"),
        (&["--resamples", "0"], "0 is not in 1..=10000"),
        (&["--resamples", "4000000000"], "is not in 1..=10000"),
        (&["--out", "page.pdf"], "known are .txt, .json, .html and .htm"),
        (&["--out", "page"], "the extension says no format"),
        (&["--profile-out", "p.pdf"], "the extension says no format"),
        (&["--out", "nowhere/page.html"], "there is no folder nowhere"),
    ] {
        let error = refused(&folder, args);
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

#[test]
fn an_explanation_says_that_its_profile_is_stale() {
    let folder = folder("explain-stale");
    good(&folder, &["run", "coins.lang", "--tier", "baseline", "--profile", "exhaustive", "--profile-out", "p.json"]);
    let notes = |profile: &str| json(&folder, &["--profile-in", profile])["notes"].to_string();
    assert_eq!(notes("p.json"), "[]");
    good(&folder, &["convert", "p.json", "-o", "p.folded"]);
    assert!(notes("p.folded").contains("knows no lines"), "{}", notes("p.folded"));
    folder.write("coins.lang", &blocks("lang")[0].replace("digits", "figures"));
    assert!(notes("p.json").contains("p.json is stale") && notes("p.json").contains("gone: digits"), "{}", notes("p.json"));
}

#[test]
fn the_extension_says_the_format_in_any_case() {
    let folder = folder("explain-extension");
    for (name, begins) in [("z.HTML", "<!doctype html>"), ("z.Json", "{"), ("z.TXT", "coins: what is inlined")] {
        assert_eq!(good(&folder, &["explain", "coins.lang", "--inline", "static", "--out", name]), "");
        assert!(folder.text(name).to_lowercase().starts_with(begins), "{name}: {}", folder.text(name));
    }
    good(&folder, &["explain", "coins.lang", "--profile", "exhaustive", "--seed", "3", "--out", "seeded.json"]);
}

#[test]
fn a_program_that_fails_is_explained_by_what_it_did() {
    let folder = Folder::new("explain-fails").with("coins.lang", "fun twice(n: Int): Int = n + n\nfun main() { exit(twice(1) + 1) }\n");
    let explanation = json(&folder, &[]);
    let notes = explanation["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note == "the run that was profiled ended with exit code 3"), "{notes:?}");
}

#[test]
fn what_cannot_be_measured_is_explained_all_the_same() {
    let folder = Folder::new("explain-unmeasured").with(
        "ticking.lang",
        "fun square(x: Int): Int = x * x\nfun main() {\n    var sum = 0\n    for i in 0..100000 { sum += square(i) }\n    println(\"${sum} ${clockNanos()}\")\n}\n",
    );
    let args = ["explain", "ticking.lang", "--profile", "exhaustive", "--measure=1", "--rounds", "1"];
    let (code, out, errors) = streams(&folder.vm(&args));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("error: ") && errors.contains("print"), "{errors}");
    assert!(out.contains("square") && out.contains("an error came first"), "{out}");
}

#[test]
fn what_is_measured_is_one_decision() {
    let folder = folder("explain-measure");
    let explanation = json(&folder, &["--profile", "exhaustive", "--site", "total:25", "--measure=2", "--rounds", "2"]);
    let measured: Vec<&Value> = explanation["calls"].as_array().unwrap().iter().filter(|call| !call["benefit"].is_null()).collect();
    assert_eq!(measured.len(), 2);
    for call in measured {
        let benefit = &call["benefit"];
        let at = |name: &str| benefit[name].as_f64().unwrap();
        assert!(at("low") < at("speedup") && at("speedup") < at("high") && at("rounds") == 2.0, "{benefit}");
        let verdict = match (at("low") > 1.0, at("high") < 1.0) {
            (true, _) => "faster",
            (_, true) => "slower",
            _ => "no detectable difference",
        };
        assert_eq!((&benefit["verdict"], &benefit["also_changed"]), (&verdict.into(), &Value::Array(Vec::new())));
        // The calls that are inlined here are all that differ.
        let weight = call["evidence"]["weight"].as_f64().unwrap();
        assert!(call["inlined"].as_bool().unwrap() && weight > 0.0);
        assert_eq!(at("calls_otherwise") - at("calls"), weight, "{call}");
    }
}

/// Six classes are too many to be told apart unless a profile says which one comes.
#[test]
fn the_opposite_of_a_test_of_the_class_is_a_virtual_call() {
    let classes: String = (1..=6)
        .map(|n| format!("class Step{n}: Step {{\n    override fun take(from: Int): Int = from * {n} + from % {n} * (from - {n})\n}}\n"))
        .collect();
    let program = format!(
        "interface Step {{\n    fun take(from: Int): Int\n}}\n{classes}
fun walk(step: Step): Int {{
    var sum = 0
    for i in 0..<1000 {{ sum += step.take(i) }}
    return sum
}}
fun main() {{
    let steps = List<Step>()
    steps.add(Step1()); steps.add(Step1()); steps.add(Step2())
    if steps.size() > 3 {{ steps.add(Step3()); steps.add(Step4()); steps.add(Step5()); steps.add(Step6()) }}
    for step in steps {{ println(walk(step)) }}
}}
"
    );
    let line = program.lines().position(|line| line.contains("step.take")).unwrap() + 1;
    let folder = Folder::new("explain-virtual").with("coins.lang", &program);
    let site = format!("walk:{line}");
    let explanation =
        json(&folder, &["--profile", "exhaustive", "--inline", "cost-benefit", "--site", &site, "--measure", "--rounds", "1"]);
    let tested: Vec<&Value> =
        explanation["calls"].as_array().unwrap().iter().filter(|call| call["selected"] == true && call["inlined"] == true).collect();
    assert!(!tested.is_empty(), "{explanation}");
    for call in &tested {
        assert_eq!(call["targets"], 6, "{call}");
        let by_size = &call["evidence"]["by_size"];
        assert_eq!((&by_size["inlined"], &by_size["reason"]), (&false.into(), &"virtual".into()));
    }
    let weight = |call: &Value| call["evidence"]["weight"].as_f64().unwrap();
    let here = |call: &Value| tested.iter().filter(|other| other["function"] == call["function"]).map(|call| weight(call)).sum::<f64>();
    let measured: Vec<&Value> = tested.iter().filter(|call| !call["benefit"].is_null()).copied().collect();
    assert!(!measured.is_empty(), "{explanation}");
    for call in measured {
        let benefit = &call["benefit"];
        assert_eq!((&benefit["otherwise"], &benefit["also_changed"]), (&"virtual".into(), &Value::Array(Vec::new())));
        assert_eq!(benefit["calls_otherwise"].as_f64().unwrap() - benefit["calls"].as_f64().unwrap(), here(call), "{call}");
    }
}

#[test]
fn a_page_needs_nothing_but_itself() {
    let program = format!("{}// </script><b>&\n", blocks("lang")[0]);
    let folder = folder("explain-page").with("coins.lang", &program);
    assert_eq!(good(&folder, &["explain", "coins.lang", "--out", "page.html"]), "");
    let page = folder.text("page.html");
    for reference in ["http:", "https:", " src=", "@import", "url("] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert_eq!(page.matches("</script>").count(), 2, "that of the data and that of the script");
    let data = page.split("<script id=\"data\" type=\"application/json\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["sources"][0]["text"], program.as_str());
    assert!(data["sources"].as_array().unwrap().iter().any(|source| source["path"] == "<lib>/list.lang"));
    assert!(!data["explanation"]["calls"].as_array().unwrap().is_empty());
}

/// A browser that can be found, if there is one.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// The page as its script has made it; `None` where the browser does not come to an end.
fn seen(browser: &Path, folder: &Folder, hash: &str) -> Option<String> {
    let url = format!("file://{}{hash}", folder.path("page.html").display());
    let profile = format!("--user-data-dir={}", folder.path("browser").display());
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ];
    let out = std::fs::File::create(folder.path("dom")).unwrap();
    let mut command = Command::new(browser);
    command.args(flags).args([&profile, "--dump-dom", &url]).stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if child.try_wait().unwrap().is_some() {
            return Some(folder.text("dom")).filter(|dom| dom.contains("</html>"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// Says so and passes where there is no browser.
#[test]
fn a_browser_shows_the_page() {
    let Some(browser) = browser() else {
        println!("no browser is installed: the page was not looked at");
        return;
    };
    let folder = folder("explain-browser");
    good(&folder, &["explain", "coins.lang", "--check", "--profile", "exhaustive", "--out", "page.html"]);
    let (Some(first), Some(line)) = (seen(&browser, &folder, ""), seen(&browser, &folder, "#line-0-25")) else {
        println!("{} shows no page here: it was not looked at", browser.display());
        return;
    };
    for words in
        ["coins: what is inlined by the policy context", "Flip margin", "of 200 resampled profiles decide the same", "class=\"row site"]
    {
        assert!(first.contains(words), "{words}: {first}");
    }
    assert!(line.contains("coins.lang:25: ") && line.contains(">Euro.worth</a>"), "{line}");
}

/// What was asked for, by `--site` or by an address, is shown though the profile has not seen it.
#[test]
fn a_browser_shows_calls_that_were_not_seen() {
    let Some(browser) = browser() else { return };
    let program = "fun rare(n: Int): Int = n * n
fun main() {
    var sum = 0
    for i in 0..<10 {
        if i > 100 { sum += rare(i) }
    }
    println(sum)
}
";
    let folder = Folder::new("explain-unseen").with("coins.lang", program);
    let args: &[&str] = &["--profile", "exhaustive"];
    let explanation = json(&folder, args);
    let rare = explanation["calls"].as_array().unwrap().iter().find(|call| call["callee"] == "rare").unwrap();
    assert_eq!(rare["evidence"]["weight"], 0.0);
    let page = |more: &[&str], hash: &str| {
        good(&folder, &[&["explain", "coins.lang", "--out", "page.html"], args, more].concat());
        seen(&browser, &folder, hash)
    };
    let (Some(site), Some(chosen)) = (page(&["--site", "main:5"], ""), page(&[], &format!("#call-{}", rare["id"]))) else { return };
    assert!(site.contains("class=\"call current\"") && site.contains(">1 of 1 call<"), "{site}");
    assert!(chosen.contains("class=\"call way current\"") && chosen.contains("aria-current=\"true\""), "{chosen}");
}

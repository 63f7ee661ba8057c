//! `vm run --jitdump`: the file holds the code that ran, as `vm dump` and `--perf-map` know it, with the lines that it comes from, and is no trouble where it cannot be written.
#![cfg(feature = "native")]

mod running;

use running::{Folder, streams};
use std::process::{Child, Command, Output, Stdio};

/// `pick`'s line can fail, as far as the optimizer can tell, which inlines it.
const PROGRAM: &str = "fun pick(numbers: Array<Int>, at: Int): Int = numbers[at]

fun sum(numbers: Array<Int>, count: Int): Int {
    var sum = 0
    for i in 0..<count { sum += pick(numbers, pick(numbers, i % 8)) }
    return sum
}

fun main() {
    println(sum(Array<Int>(8, 3), 10000))
}
";

#[derive(Debug)]
struct Piece {
    name: String,
    address: u64,
    bytes: Vec<u8>,
    /// Address, line, file.
    lines: Vec<(u64, u32, String)>,
}

#[derive(Debug)]
struct Dump {
    pieces: Vec<Piece>,
    is_closed: bool,
}

/// Takes a file apart from its front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let len = self.0.iter().position(|&byte| byte == 0).expect("the end of a text");
        String::from_utf8(self.take(len + 1)[..len].to_vec()).unwrap()
    }
}

/// As the kernel's jitdump-specification.txt has it. `pid` wrote it.
fn parse(file: &[u8], pid: u32) -> Dump {
    let mut file = Bytes(file);
    let header = [file.u32(), file.u32(), file.u32(), file.u32(), file.u32(), file.u32()];
    assert_eq!(header, [0x4a69_5444, 1, 40, 62, 0, pid]);
    let mut now = file.u64();
    assert_eq!(file.u64(), 0, "flags");
    let mut dump = Dump { pieces: Vec::new(), is_closed: false };
    let mut lines = None;
    while !file.0.is_empty() {
        assert!(!dump.is_closed, "records behind the end");
        let (kind, len, time) = (file.u32(), file.u32(), file.u64());
        assert!(now <= time, "time goes back");
        now = time;
        let mut body = Bytes(file.take(len as usize - 16));
        match kind {
            0 => {
                assert_eq!(body.u32(), pid);
                let (_thread, runs, lies, len, number) = (body.u32(), body.u64(), body.u64(), body.u64(), body.u64());
                assert_eq!((lies, number), (runs, dump.pieces.len() as u64));
                let name = body.text();
                let (start, lines) = lines.take().unwrap_or((runs, Vec::new()));
                assert_eq!(start, runs, "lines of other code than {name}");
                dump.pieces.push(Piece { name, address: runs, bytes: body.take(len as usize).to_vec(), lines });
            }
            2 => {
                let (start, count) = (body.u64(), body.u64());
                let entry = |body: &mut Bytes<'_>| {
                    let (at, line, _column) = (body.u64(), body.u32(), body.u32());
                    (at, line, body.text())
                };
                let before = lines.replace((start, (0..count).map(|_| entry(&mut body)).collect()));
                assert!(before.is_none(), "lines without code");
            }
            3 => dump.is_closed = true,
            other => panic!("a record of kind {other}"),
        }
        assert!(body.0.is_empty(), "a record of kind {kind} is too long");
    }
    assert!(lines.is_none(), "lines without code");
    dump
}

fn start(folder: &Folder, options: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vm"));
    command.args(["run", "program.lang", "--jitdump", "."]).args(options).current_dir(&folder.0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Of a run that must end well, with the id of its process.
fn dump(folder: &Folder, options: &[&str]) -> (Dump, u32) {
    let child = start(folder, options);
    let pid = child.id();
    assert_eq!(streams(&child.wait_with_output().unwrap()), (Some(0), "30000\n".into(), String::new()), "{options:?}");
    let dump = parse(&std::fs::read(folder.path(&format!("jit-{pid}.dump"))).unwrap(), pid);
    assert!(dump.is_closed, "{options:?}");
    for piece in &dump.pieces {
        let end = piece.address + piece.bytes.len() as u64;
        assert!(piece.lines.iter().all(|(at, line, file)| (piece.address..end).contains(at) && *line > 0 && !file.is_empty()), "{piece:?}");
        assert!(piece.lines.windows(2).all(|pair| pair[0].0 < pair[1].0), "{piece:?}");
    }
    (dump, pid)
}

/// Names of the functions in whose code this line of the program stands.
fn with_line(dump: &Dump, line: u32) -> Vec<&str> {
    let has = |piece: &&Piece| piece.lines.iter().any(|(_, of, file)| *of == line && file == "program.lang");
    dump.pieces.iter().filter(has).map(|piece| &*piece.name).collect()
}

#[test]
fn a_dump_holds_the_code_that_other_commands_show() {
    let folder = Folder::with_program("jitdump", PROGRAM);
    for tier in ["baseline", "opt"] {
        let (dump, pid) = dump(&folder, &["--tier", tier, "--perf-map"]);
        let map = format!("/tmp/perf-{pid}.map");
        let mut mapped: Vec<String> = std::fs::read_to_string(&map).unwrap().lines().map(str::to_owned).collect();
        std::fs::remove_file(&map).unwrap();
        let mut dumped: Vec<String> = dump.pieces.iter().map(|p| format!("{:x} {:x} {}", p.address, p.bytes.len(), p.name)).collect();
        mapped.sort_unstable();
        dumped.sort_unstable();
        assert_eq!(dumped, mapped, "{tier}");
        let Output { stdout, .. } = folder.vm(&["dump", "program.lang", "--stage", "asm", "--tier", tier]);
        let listing = String::from_utf8(stdout).unwrap();
        for piece in &dump.pieces {
            let begins = |line: &str| {
                line.starts_with(&format!("; {} at ", piece.name)) && line.contains(&format!(", {} bytes,", piece.bytes.len()))
            };
            assert!(listing.lines().any(begins), "{tier}: {} of {} bytes, in {listing}", piece.name, piece.bytes.len());
        }
    }
}

#[test]
fn lines_are_those_of_the_innermost_function() {
    let folder = Folder::with_program("jitdump-lines", PROGRAM);
    let (baseline, _) = dump(&folder, &["--tier", "baseline"]);
    assert_eq!(with_line(&baseline, 1), ["pick"]);
    assert_eq!(with_line(&baseline, 10), ["main"]);
    let (opt, _) = dump(&folder, &["--tier", "opt", "--inline", "static"]);
    let inlined = with_line(&opt, 1);
    assert!(!inlined.is_empty() && !inlined.contains(&"pick"), "{inlined:?}");
    assert!(opt.pieces.iter().flat_map(|piece| &piece.lines).any(|(_, _, file)| file.starts_with("<lib>/")), "the library's lines");
}

#[test]
fn code_for_running_loops_is_in_it() {
    let folder = Folder::with_program("jitdump-loops", PROGRAM);
    let (dump, _) = dump(&folder, &["--tier", "baseline", "--osr-stress"]);
    let sums = dump.pieces.iter().filter(|piece| piece.name == "sum");
    assert_eq!(sums.count(), 2, "the function and the rest of its loop");
}

#[test]
fn what_cannot_be_written_is_said() {
    let folder = Folder::with_program("jitdump-errors", PROGRAM);
    for place in ["nowhere", "program.lang"] {
        let (code, out, errors) = streams(&folder.vm(&["run", "program.lang", "--jitdump", place]));
        assert_eq!((code, &*out), (Some(2), ""), "{errors}");
        assert!(errors.starts_with(&format!("error: cannot write {place}/jit-")) && errors.contains("hint: "), "{errors}");
    }
    let (code, _, errors) = streams(&folder.vm(&["run", "program.lang", "--jitdump", ".", "--tier", "interp"]));
    assert!(code == Some(2) && errors.contains("--jitdump"), "{errors}");
    // Files may not grow beyond a block: as on a full disk.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" run program.lang --jitdump .";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_vm")]).current_dir(&folder.0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let (code, out, errors) = streams(&child.wait_with_output().unwrap());
    assert_eq!((code, &*out), (Some(0), "30000\n"), "{errors}");
    assert!(errors.starts_with("warning: cannot write ") && errors.lines().count() == 1, "{errors}");
    let dump = parse(&std::fs::read(folder.path(&format!("jit-{pid}.dump"))).unwrap(), pid);
    assert!(!dump.is_closed, "the rest is missing");
}

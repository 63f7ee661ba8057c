//! A folder of a test's own, and `vm` run in it: for tests of what commands do with files, of how programs end, and of what profiles say.
//!
//! The time limit is there to fail what hangs, and says nothing about speed.
#![allow(dead_code, reason = "each test uses some of it")]

use profiler::export;
use profiler::profile::Profile;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const LIMIT: Duration = Duration::from_secs(240);

/// Exit code, output, errors.
pub type Ended = (Option<i32>, String, String);

/// `vm`, which signals end, though whoever started the tests may ignore them (a background job of a script, `nohup`).
pub fn vm() -> Command {
    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: no handler is taken away: tests have none.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Command::new(env!("CARGO_BIN_EXE_vm"))
}

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Empty.
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("vm-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn with(self, name: &str, text: &str) -> Folder {
        self.write(name, text);
        self
    }

    /// With `program.lang`.
    pub fn with_program(name: &str, source: &str) -> Folder {
        Folder::new(name).with("program.lang", source)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// `vm` in the folder.
    pub fn vm(&self, args: &[&str]) -> Output {
        vm().args(args).current_dir(&self.0).output().unwrap()
    }

    /// `vm run` on the program; its output goes to the folder.
    pub fn start(&self, options: &str) -> Child {
        self.command(options).spawn().unwrap()
    }

    pub fn command(&self, options: &str) -> Command {
        let stream = |name: &str| File::create(self.0.join(name)).unwrap();
        let mut command = vm();
        command.arg("run").arg("program.lang").args(options.split_whitespace()).current_dir(&self.0);
        command.stdin(Stdio::null()).stdout(stream("out")).stderr(stream("errors"));
        command
    }

    /// What a file of the folder holds by now.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path(name)).unwrap()).into_owned()
    }

    /// Waits until the program has ended. Gives code, output, errors.
    pub fn end(&self, mut child: Child, what: &str) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > LIMIT {
                child.kill().unwrap();
                panic!("{what} hangs; so far: {}{}", self.text("out"), self.text("errors"));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        (status.code(), self.text("out"), self.text("errors"))
    }

    pub fn run(&self, options: &str) -> Ended {
        self.end(self.start(options), options)
    }

    /// A profile of a run that is like an unprofiled one.
    pub fn profile(&self, options: &str, plain: &Ended) -> Profile {
        _ = std::fs::remove_file(self.0.join("profile.json"));
        assert_eq!(&self.run(&format!("{options} --profile-out profile.json")), plain, "{options}");
        self.read(options)
    }

    /// The profile that was written.
    pub fn read(&self, what: &str) -> Profile {
        export::read(&self.0.join("profile.json")).unwrap_or_else(|error| panic!("{what}: {error}"))
    }
}

pub fn streams(output: &Output) -> Ended {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

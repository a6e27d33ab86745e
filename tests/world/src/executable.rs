//! One of Docket's executables as a child process: started with environment variables alone, and killed like any other.
//!
//! It gets no environment but the one it is given, so nothing of the machine's own settings can make a test pass.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A started executable. Dropping it kills it.
pub struct Executable {
    child: Child,
    stdout: Arc<Mutex<Vec<String>>>,
    stderr: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

/// What an executable left behind when it had ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
}

impl Executable {
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(path: &Path, arguments: &[&str], environment: &[(String, String)]) -> Self {
        let mut child = Command::new(path)
            .args(arguments)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} starts: {error}", path.display()));
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let readers = vec![
            keep_lines(child.stdout.take().expect("a pipe"), Arc::clone(&stdout)),
            keep_lines(child.stderr.take().expect("a pipe"), Arc::clone(&stderr)),
        ];
        Self { child, stdout, stderr, readers }
    }

    /// The lines on standard output so far.
    #[must_use]
    pub fn stdout(&self) -> Vec<String> {
        lines(&self.stdout)
    }

    /// The lines on standard error so far.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        lines(&self.stderr)
    }

    /// Lines of standard output that are JSON objects, parsed.
    #[must_use]
    pub fn logged(&self) -> Vec<Value> {
        self.stdout().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Whether it still runs.
    ///
    /// # Panics
    /// When the system cannot tell.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().expect("a child's state can be read").is_none()
    }

    /// The most memory that it held at once so far, in KiB; none when it has ended, or where the system does not tell.
    #[must_use]
    pub fn peak_memory_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }

    /// SIGKILL: it gets no chance to tidy up.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    /// Ctrl-C: the signal that a terminal sends.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn interrupt(&mut self) {
        self.signal("INT");
    }

    /// A signal by its name: INT, TERM, HUP.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn signal(&self, name: &str) {
        // The shell's own: no other way leads there without unsafe code or one more dependency.
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal is sent");
    }

    /// Waits for its end, and gives what it left behind.
    ///
    /// # Panics
    /// When it does not end in time.
    #[must_use]
    pub fn ended(mut self, within: Duration) -> Ended {
        let deadline = Instant::now() + within;
        while self.lives() {
            assert!(Instant::now() < deadline, "it did not end: {:?} {:?}", self.stdout(), self.stderr());
            std::thread::sleep(Duration::from_millis(5));
        }
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader ends with its pipe");
        }
        let status = self.child.wait().expect("it has ended");
        Ended { status, stdout: self.stdout(), stderr: self.stderr() }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep_lines(pipe: impl Read + Send + 'static, kept: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    })
}

fn lines(kept: &Mutex<Vec<String>>) -> Vec<String> {
    kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

//! A terminal of the system's own with an executable in it: what it draws is what a person would see.

use std::fs::File;
use std::io::Read as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::executables::{Environment, built};

/// A started executable, and everything that it wrote to its terminal.
pub(crate) struct Terminal {
    child: Child,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    pub(crate) fn start(name: &str, arguments: &[&str], environment: &Environment, size: (u16, u16)) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let (columns, rows) = size;
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).unwrap();
        let theirs = || File::from(ioctl_tiocgptpeer(&ours, flags).unwrap());
        let environment =
            Environment::default().with("TZ", "UTC").with("TERM", "xterm-256color").and(environment);
        let child = Command::new(built(name))
            .args(arguments)
            .env_clear()
            .envs(environment.pairs().iter().map(|(name, value)| (name, value)))
            .stdin(theirs())
            .stdout(theirs())
            .stderr(theirs())
            .spawn()
            .unwrap();
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = Arc::clone(&written);
        let mut ours = File::from(ours);
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            // A terminal that everybody left answers with an error.
            while let Ok(length @ 1..) = ours.read(&mut piece) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..length]);
            }
        });
        Self { child, written }
    }

    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits until something is seen.
    pub(crate) fn until(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_it(&self.written()) {
            assert!(Instant::now() < end, "{what} did not come about: {:?}", self.written());
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended before {what}: {:?}", self.written());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.child.id())]).status();
        assert!(sent.unwrap().success());
    }

    /// Its end, and all that it wrote.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let end = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it did not end: {:?}", self.written());
            std::thread::sleep(Duration::from_millis(10));
        };
        // The reader ends with the terminal, which is a moment after its last user.
        while Arc::strong_count(&self.written) > 1 {
            assert!(Instant::now() < end, "its terminal stays open");
            std::thread::sleep(Duration::from_millis(1));
        }
        (status, self.written())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

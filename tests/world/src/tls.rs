//! TLS in front of the gates: the way in which Google, Telegram and AWS are reached in earnest.
//!
//! An authority of its own signs for it, which nobody trusts unless told to. It must never look into what it passes on: the
//! gates behind it do.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::Acceptor;

/// A certificate authority, and its certificate as a file that a process can be told to trust.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    /// # Panics
    /// When no temporary file can be written.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"))
            .expect("a certificate of an authority");
        let folder = TempDir::new().expect("a temporary folder");
        std::fs::write(folder.path().join("authority.pem"), issuer.pem()).expect("a temporary file");
        Self { issuer, folder }
    }

    /// The file with its certificate in PEM.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        Path::join(self.folder.path(), "authority.pem")
    }

    /// Opens a front with a certificate for this name, before a plain URL (`http://127.0.0.1:PORT`).
    ///
    /// # Panics
    /// When no port is free.
    pub async fn front(&self, name: &str, behind: &str) -> Front {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions that the provider has")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a key that fits its certificate");
        // The gates behind speak nothing else; what a client would have liked is in what it offers.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let behind = behind.strip_prefix("http://").expect("a plain URL").parse().expect("an address");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let accepting = tokio::spawn(accept(listener, behind, Arc::new(config), Arc::clone(&seen)));
        Front { address, seen, accepting }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// What came to a front.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Application protocols that clients offered, each once, in the order of their first offer.
    pub offered: Vec<String>,
    /// Handshakes that both sides completed.
    pub completed: usize,
    /// Handshakes that the client broke off.
    pub broken: usize,
}

/// A listener that speaks TLS. Dropping it closes it and all its connections.
pub struct Front {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    accepting: JoinHandle<()>,
}

impl Front {
    /// `https://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// What came so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        // The connections live in the accepting task, so they go with it.
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    behind: SocketAddr,
    config: Arc<ServerConfig>,
    seen: Arc<Mutex<Seen>>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(pass_on(stream, behind, Arc::clone(&config), Arc::clone(&seen)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn pass_on(stream: TcpStream, behind: SocketAddr, config: Arc<ServerConfig>, seen: Arc<Mutex<Seen>>) {
    let note = |change: &dyn Fn(&mut Seen)| change(&mut seen.lock().unwrap_or_else(PoisonError::into_inner));
    let Ok(begun) = LazyConfigAcceptor::new(Acceptor::default(), stream).await else {
        return note(&|seen| seen.broken += 1);
    };
    let offered: Vec<String> = begun
        .client_hello()
        .alpn()
        .into_iter()
        .flatten()
        .map(|protocol| String::from_utf8_lossy(protocol).into_owned())
        .collect();
    note(&|seen| {
        let new =
            offered.iter().filter(|protocol| !seen.offered.contains(protocol)).cloned().collect::<Vec<_>>();
        seen.offered.extend(new);
    });
    let Ok(mut inside) = begun.into_stream(config).await else {
        return note(&|seen| seen.broken += 1);
    };
    note(&|seen| seen.completed += 1);
    if let Ok(mut plain) = TcpStream::connect(behind).await {
        // Either side may hang up at any time, as it may without TLS.
        let _ = copy_bidirectional(&mut inside, &mut plain).await;
    }
}

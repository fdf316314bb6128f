//! A TLS server whose handshakes go wrong on purpose, and what retries make of it.

use super::server::IN_VAIN;
use super::table::clients::{Kit, Retries, Stack};
use super::table::ending::Ending;
use super::table::orders::Order;
use rcgen::{CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// What the server does with every connection.
#[derive(Clone)]
pub(crate) enum Greeting {
    /// Shakes hands, and answers 200.
    Serve(Arc<ServerConfig>),
    /// Shakes hands, reads the request, and closes the socket without the notice that TLS asks for.
    CutAnswer(Arc<ServerConfig>),
    /// Reads the client's hello, and closes.
    CutHandshake,
    /// Reads the client's hello, and resets.
    ResetHandshake,
    /// Reads the client's hello, and never answers it.
    Stall,
    /// Answers the hello with something that is not TLS.
    NotTls,
}

/// The server; it ends when it is dropped.
pub(crate) struct TlsServer {
    address: SocketAddr,
    accepted: watch::Receiver<usize>,
    accepting: JoinHandle<()>,
}

impl TlsServer {
    pub(crate) async fn start(greetings: impl IntoIterator<Item = Greeting>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (count, accepted) = watch::channel(0);
        let greetings = greetings.into_iter().collect();
        Self {
            address,
            accepted,
            accepting: tokio::spawn(accept(listener, greetings, count)),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/", self.address)
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        *self.accepted.borrow()
    }

    pub(crate) async fn until_connections(&self, least: usize) {
        let mut accepted = self.accepted.clone();
        accepted.wait_for(|count| *count >= least).await.unwrap();
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Each connection has the next greeting; the last one repeats.
async fn accept(listener: TcpListener, greetings: Vec<Greeting>, count: watch::Sender<usize>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = *count.borrow();
        let greeting = greetings[number.min(greetings.len() - 1)].clone();
        connections.spawn(greet(stream, greeting));
        count.send_replace(number + 1);
    }
}

async fn greet(mut stream: TcpStream, greeting: Greeting) {
    let (config, answers) = match greeting {
        Greeting::Serve(config) => (config, true),
        Greeting::CutAnswer(config) => (config, false),
        hostile => return refuse(&mut stream, &hostile).await,
    };
    let accepted = TlsAcceptor::from(config).accept(stream);
    match accepted.into_fallible().await {
        Ok(mut tls) => {
            read_request(&mut tls).await;
            if answers {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                tls.write_all(answer).await.unwrap();
                read_to_end(&mut tls).await;
            }
        }
        // A socket that is closed with bytes unread is reset, and the alert might be lost with it.
        Err((_, mut stream)) => read_to_end(&mut stream).await,
    }
}

async fn refuse(stream: &mut TcpStream, greeting: &Greeting) {
    let mut hello = [0; 16 * 1024];
    let _ = stream.read(&mut hello).await;
    match greeting {
        Greeting::ResetHandshake => stream.set_zero_linger().unwrap(),
        Greeting::NotTls => {
            let _ = stream.write_all(b"HTTP/1.1 400 Said\r\n\r\n").await;
            read_to_end(stream).await;
        }
        Greeting::Stall => read_to_end(stream).await,
        _ => {}
    }
}

/// Reads a head, and the body that it announces.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) {
    let mut came = Vec::new();
    while !is_whole(&came) {
        if !matches!(stream.read_buf(&mut came).await, Ok(1..)) {
            return;
        }
    }
}

fn is_whole(came: &[u8]) -> bool {
    let text = String::from_utf8_lossy(came);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.lines().next());
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

async fn read_to_end(stream: &mut (impl AsyncRead + Unpin)) {
    let mut rest = [0; 1024];
    while matches!(stream.read(&mut rest).await, Ok(1..)) {}
}

/// One who signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
}

/// A certificate and its key.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().der().clone();
        Self {
            issuer: Issuer::new(params, key),
            root,
        }
    }

    /// A certificate for a name or an address, good until the end of a year.
    pub(crate) fn sign(&self, name: &str, year: i32) -> Identity {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        }
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        roots
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// A server that shows this certificate.
pub(crate) fn serving(identity: Identity) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(provider());
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    Arc::new(
        config
            .with_single_cert(identity.chain, identity.key)
            .unwrap(),
    )
}

/// A server that speaks one version and asks the client for a certificate of an authority.
pub(crate) fn serving_known_clients(
    identity: Identity,
    clients: &Authority,
    version: &'static SupportedProtocolVersion,
) -> Arc<ServerConfig> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(clients.roots()), provider());
    let config = ServerConfig::builder_with_provider(provider());
    let config = config.with_protocol_versions(&[version]).unwrap();
    let config = config.with_client_cert_verifier(verifier.build().unwrap());
    Arc::new(
        config
            .with_single_cert(identity.chain, identity.key)
            .unwrap(),
    )
}

/// A client that trusts this authority and no other.
pub(crate) fn trusting(authority: &Authority) -> ClientConfig {
    trusting_these(authority.roots())
}

/// A client that trusts nobody, for servers without TLS.
pub(crate) fn trusting_nobody() -> ClientConfig {
    trusting_these(RootCertStore::empty())
}

fn trusting_these(roots: RootCertStore) -> ClientConfig {
    let config = ClientConfig::builder_with_provider(provider());
    let config = config.with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(roots).with_no_client_auth()
}

/// A client that trusts this authority and shows a certificate of its own.
pub(crate) fn known_as(authority: &Authority, identity: Identity) -> ClientConfig {
    let config = ClientConfig::builder_with_provider(provider());
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(authority.roots());
    config
        .with_client_auth_cert(identity.chain, identity.key)
        .unwrap()
}

async fn send(server: &TlsServer, tls: &ClientConfig, stack: Stack, order: Order) -> Ending {
    let kit = Kit {
        tls: tls.clone(),
        ..Kit::new(server.url())
    };
    let sent = stack.send(&kit, order, &Retries::Silent);
    timeout(IN_VAIN, sent).await.unwrap()
}

#[tokio::test]
async fn a_handshake_that_was_cut_is_made_again_even_for_a_post() {
    let ours = Authority::new("ours");
    let config = serving(ours.sign("127.0.0.1", 3000));
    for cut in [Greeting::CutHandshake, Greeting::ResetHandshake] {
        for stack in Stack::ALL {
            let greetings = [cut.clone(), Greeting::Serve(Arc::clone(&config))];
            let server = TlsServer::start(greetings).await;
            let ending = send(&server, &trusting(&ours), stack, Order::Post).await;
            let expected = match stack {
                // Where redirects are followed, the handshake may have been of a later request.
                Stack::Reqwest | Stack::ReqwestService => (None, 1),
                _ => (Some(200), 2),
            };
            assert_eq!((ending.status, server.connections()), expected, "{stack:?}");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_was_refused_is_not_looked_at_again() {
    let (ours, other) = (Authority::new("ours"), Authority::new("another"));
    let shown = [
        ours.sign("127.0.0.1", 2000),
        other.sign("127.0.0.1", 3000),
        ours.sign("other.example", 3000),
    ];
    for identity in shown {
        let server = TlsServer::start([Greeting::Serve(serving(identity))]).await;
        for (before, stack) in Stack::ALL.into_iter().enumerate() {
            let ending = send(&server, &trusting(&ours), stack, Order::Get).await;
            assert_eq!(
                (ending.status, server.connections()),
                (None, before + 1),
                "{stack:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_client_with_a_good_certificate_is_answered() {
    let ours = Authority::new("ours");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = serving_known_clients(ours.sign("127.0.0.1", 3000), &ours, version);
        let server = TlsServer::start([Greeting::Serve(config)]).await;
        let client = known_as(&ours, ours.sign("client", 3000));
        for stack in Stack::ALL {
            let ending = send(&server, &client, stack, Order::Put).await;
            assert_eq!(ending.status, Some(200), "{stack:?}");
        }
    }
}

//! Certificates, and the servers and clients that show and ask for them.

use crate::listening::hosts;
use rcgen::{CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::sync::Arc;

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

    /// A certificate for each of the [`hosts`], good until the end of a year.
    pub(crate) fn sign_here(&self, year: i32) -> Identity {
        let hosts: Vec<_> = hosts().map(|host| host.to_string()).collect();
        self.sign_all(hosts, year)
    }

    /// A certificate for a name, good until the end of a year.
    pub(crate) fn sign(&self, name: &str, year: i32) -> Identity {
        self.sign_all([name.to_owned()], year)
    }

    fn sign_all(&self, names: impl Into<Vec<String>>, year: i32) -> Identity {
        let mut params = CertificateParams::new(names).unwrap();
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

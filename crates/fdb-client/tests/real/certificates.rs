//! A certificate authority and the one certificate of everybody who speaks TLS in a test.

use std::path::Path;

use quorate_fdb_client::TlsIdentity;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// Files in this folder, signed by an authority of their own.
pub fn identity(folder: &Path) -> TlsIdentity {
    let mut authority = named("authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let mut own = named("fdb");
    own.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = own.signed_by(&key, &authority).unwrap();
    let write = |name: &str, pem: &str| {
        let path = folder.join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    TlsIdentity {
        certificate: write("tls.crt", &certificate.pem()),
        key: write("tls.key", &key.serialize_pem()),
        ca: write("ca.crt", &authority.pem()),
        verify_peers: String::new(),
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

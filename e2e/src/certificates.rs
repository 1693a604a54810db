//! The certificates of a control plane: one authority, one certificate per role, all made when it starts.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    SanType,
};

/// The first address of the service range: `kubernetes.default`.
pub(crate) const SERVICE_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);

/// Files in PEM, below one folder.
pub(crate) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).context("creating the folder for certificates")?;
        let authority = authority().context("making the certificate authority")?;
        let certificates = Self { folder: folder.to_owned() };
        certificates.write("ca.crt", &authority.pem())?;
        certificates.write("ca.key", &authority.key().serialize_pem())?;
        certificates.issue(&authority, "apiserver", "kube-apiserver", None, true)?;
        certificates.issue(&authority, "admin", "quorate-e2e", Some("system:masters"), false)?;
        certificates.issue(&authority, "controller-manager", "system:kube-controller-manager", Some("system:masters"), false)?;
        certificates.issue(&authority, "scheduler", "system:kube-scheduler", None, false)?;
        let service_accounts = KeyPair::generate().context("making the key for service accounts")?;
        certificates.write("service-accounts.key", &service_accounts.serialize_pem())?;
        certificates.write("service-accounts.pub", &service_accounts.public_key_pem())?;
        Ok(certificates)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.path(name)).with_context(|| format!("reading {name}"))
    }

    fn write(&self, name: &str, pem: &str) -> Result<()> {
        fs::write(self.path(name), pem).with_context(|| format!("writing {name}"))
    }

    fn issue(
        &self,
        authority: &CertifiedIssuer<'_, KeyPair>,
        file: &str,
        name: &str,
        group: Option<&str>,
        server: bool,
    ) -> Result<()> {
        let making = || format!("making the certificate of {name}");
        let mut params = params(name, group);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if server {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
            params.subject_alt_names =
                vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)), SanType::IpAddress(IpAddr::V4(SERVICE_ADDRESS))];
            for host in [
                "localhost",
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
                "kubernetes.default.svc.cluster.local",
            ] {
                params.subject_alt_names.push(SanType::DnsName(host.try_into().with_context(making)?));
            }
        }
        let key = KeyPair::generate().with_context(making)?;
        let certificate = params.signed_by(&key, authority).with_context(making)?;
        self.write(&format!("{file}.crt"), &certificate.pem())?;
        self.write(&format!("{file}.key"), &key.serialize_pem())
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = params("quorate-e2e-authority", None);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn params(name: &str, group: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    // Kubernetes takes an identity from any time; a clock that is a little off must not break the tests.
    let now = time::OffsetDateTime::now_utc();
    params.not_before = now - time::Duration::days(1);
    params.not_after = now + time::Duration::days(2);
    params
}

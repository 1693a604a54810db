//! The operator's TLS identity: the same three files, under the same names, as the existing operator's and FoundationDB's own.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use quorate_fdb_client::{TlsFile, TlsIdentity};

const CERTIFICATE: &str = "FDB_TLS_CERTIFICATE_FILE";
const KEY: &str = "FDB_TLS_KEY_FILE";
const AUTHORITIES: &str = "FDB_TLS_CA_FILE";

/// What is shown to databases that speak TLS.
#[derive(Debug, Args)]
pub(crate) struct Identity {
    /// The certificate chain to show to databases that speak TLS, in PEM.
    #[arg(long = "fdb-tls-certificate-file", env = CERTIFICATE, value_name = "FILE")]
    certificate: Option<String>,
    /// Its private key.
    #[arg(long = "fdb-tls-key-file", env = KEY, value_name = "FILE")]
    key: Option<String>,
    /// Whom to trust.
    #[arg(long = "fdb-tls-ca-file", env = AUTHORITIES, value_name = "FILE")]
    ca: Option<String>,
    /// What a server's certificate must say, in FoundationDB's own notation; no more than a trusted chain if it is not given.
    #[arg(long = "fdb-tls-verify-peers", env = "FDB_TLS_VERIFY_PEERS", value_name = "RULES")]
    verify_peers: Option<String>,
}

impl Identity {
    /// The identity, if there is one; all of its files, and each of them readable, or an error that names the one that is not.
    pub(crate) fn check(self) -> Result<Option<TlsIdentity>> {
        let Self { certificate, key, ca, verify_peers } = self;
        let files = [(CERTIFICATE, certificate), (KEY, key), (AUTHORITIES, ca)];
        // An empty variable is as good as none.
        let [certificate, key, ca] = files.map(|(name, file)| (name, file.filter(|file| !file.is_empty())));
        let (certificate, key, ca) = match (certificate, key, ca) {
            ((_, None), (_, None), (_, None)) => return Ok(None),
            ((_, Some(certificate)), (_, Some(key)), (_, Some(ca))) => (certificate, key, ca),
            files => {
                let files = [files.0, files.1, files.2];
                let missing: Vec<&str> = files.iter().filter(|(_, file)| file.is_none()).map(|(name, _)| *name).collect();
                bail!("a TLS identity has a certificate, a key and authorities; not set: {}", missing.join(", "));
            }
        };
        let identity = TlsIdentity { certificate, key, ca, verify_peers: verify_peers.unwrap_or_default() };
        identity.check().map_err(|problem| anyhow!("{}: {}: {}", name_of(problem.file), problem.path, problem.problem))?;
        Ok(Some(identity))
    }
}

fn name_of(file: TlsFile) -> &'static str {
    match file {
        TlsFile::Certificate => CERTIFICATE,
        TlsFile::Key => KEY,
        TlsFile::Authorities => AUTHORITIES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(certificate: Option<&str>, key: Option<&str>, ca: Option<&str>) -> Result<Option<TlsIdentity>, String> {
        let [certificate, key, ca] = [certificate, key, ca].map(|path| path.map(str::to_owned));
        let identity = Identity { certificate, key, ca, verify_peers: None };
        identity.check().map_err(|error| error.to_string())
    }

    #[test]
    fn no_identity_is_none_and_half_of_one_is_an_error_that_names_the_rest() {
        assert_eq!(check(None, Some(""), None), Ok(None));
        let said = check(Some("tls.crt"), None, Some("")).unwrap_err();
        assert!(said.ends_with("not set: FDB_TLS_KEY_FILE, FDB_TLS_CA_FILE"), "{said}");
    }

    #[test]
    fn a_file_that_is_not_what_it_should_be_is_named_by_its_setting() {
        let folder = tempfile::tempdir().unwrap();
        let certificate = folder.path().join("tls.crt");
        std::fs::write(&certificate, "-----BEGIN CERTIFICATE-----\n").unwrap();
        let certificate = certificate.to_str().unwrap();
        let said = check(Some(certificate), Some(certificate), Some(certificate)).unwrap_err();
        assert!(said.starts_with("FDB_TLS_KEY_FILE: ") && said.ends_with("no private key in PEM is in it"), "{said}");
        let said = check(Some("/no/such/tls.crt"), Some(certificate), Some(certificate)).unwrap_err();
        assert!(said.starts_with("FDB_TLS_CERTIFICATE_FILE: /no/such/tls.crt: No such file"), "{said}");
    }
}

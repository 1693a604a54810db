//! The real kubectl prints the same against the embedded API and against the real one, apart from ages, uids, versions, addresses and
//! random suffixes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use quorate_e2e::{ControlPlane, programs};
use quorate_world::kubernetes::{self, Kubernetes};
use regex::Regex;
use serde_json::json;

const NAMESPACE: &str = "parity";

/// kubectl with a kubeconfig, in a folder of its own.
struct Shell {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    folder: tempfile::TempDir,
}

impl Shell {
    fn new(kubeconfig: &Path) -> Self {
        let kubectl = programs::directory().unwrap().join("kubectl");
        Self { kubectl, kubeconfig: kubeconfig.to_owned(), folder: tempfile::tempdir().unwrap() }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("\"$KUBECTL\" --namespace {NAMESPACE} {line}")])
            .env("KUBECTL", &self.kubectl)
            .env("KUBECONFIG", &self.kubeconfig)
            // Each its own cache of discovery.
            .env("HOME", self.folder.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// What a command prints, normalised.
    fn run(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        normalised(&format!("{text}exit {}\n", output.status.code().unwrap_or(-1)))
    }

    /// What a watch prints while other commands run, after what those print.
    fn watch(&self, line: &str, meanwhile: &[&str], lines: usize) -> String {
        let mut child =
            self.command(&format!("{line} & echo $!; wait")).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut text = String::new();
        let mut seen = |wanted: usize| {
            let mut byte = [0];
            while text.lines().count() < wanted || !text.ends_with('\n') {
                output.read_exact(&mut byte).unwrap();
                text.push(char::from(byte[0]));
            }
            text.clone()
        };
        // The pid, the header and the object that is there.
        let pid = seen(3).lines().next().unwrap().to_owned();
        let others: String = meanwhile.iter().map(|command| self.run(command)).collect();
        let text = seen(lines + 1);
        Command::new("kill").arg(pid).status().unwrap();
        child.wait().unwrap();
        others + &normalised(text.split_once('\n').unwrap().1)
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.folder.path().join(name), content).unwrap();
    }
}

/// Replaces what must differ.
fn normalised(text: &str) -> String {
    let rules = [
        ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w\w\w \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r#"resourceVersion: "\d+""#, "resourceVersion: VERSION"),
        (r"Resource Version: +\d+", "Resource Version: VERSION"),
        ("kube-api-access-[a-z0-9]{5}", "kube-api-access-SUFFIX"),
        ("CLUSTER-IP +", "CLUSTER-IP "),
        (r"10\.96\.\d+\.\d+ *", "ADDRESS "),
        // The test's control plane has a shorter patience than a usual one.
        (r"tolerationSeconds: \d+", "tolerationSeconds: N"),
        (r"NoExecute op=Exists for \d+s", "NoExecute op=Exists for Ns"),
        (r"\b\d+[smh]\d*s?\b( {2,})?", "AGE "),
        (r"edit-\d+", "edit-N"),
        // The embedded API has no server-side apply, and does not claim to.
        (r", application/apply-patch\+yaml", ""),
    ];
    let mut text = text.to_owned();
    for (pattern, replacement) in rules {
        text = Regex::new(pattern).unwrap().replace_all(&text, replacement).into_owned();
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

const POD: &str = r"apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: story}}
spec:
  schedulingGates: [{name: example.test/gate}]
  containers:
  - name: main
    image: example.test/image:1
    ports: [{containerPort: 80, name: http}]
    env: [{name: A, value: '1'}]
    resources: {limits: {cpu: 500m, memory: 64Mi}}
  volumes: [{name: scratch, emptyDir: {}}]
";

const SET: &str = r"apiVersion: core.matrixorigin.io/v1alpha1
kind: LogSet
metadata: {name: logs}
spec:
  image: matrixorigin/matrixone:2.0.3
  replicas: 3
  volume: {size: 10Gi}
  sharedStorage: {fileSystem: {path: /data}}
";

const CLUSTER: &str = r"apiVersion: apps.foundationdb.org/v1beta2
kind: FoundationDBCluster
metadata: {name: db}
spec: {version: 7.3.69}
";

const EVENT: &str = r"apiVersion: v1
kind: Event
metadata: {name: one.1}
involvedObject: {apiVersion: v1, kind: Pod, name: one, namespace: parity}
reason: Told
message: a story
type: Normal
count: 2
source: {component: teller}
firstTimestamp: 2026-01-01T00:00:00Z
lastTimestamp: 2026-01-01T00:00:00Z
";

fn write_files(shell: &Shell) {
    shell.write("pod.yaml", POD);
    shell.write("changed.yaml", &POD.replace("image:1", "image:2").replace("app: story", "app: story, new: label"));
    shell.write("set.yaml", SET);
    shell.write("set-changed.yaml", &SET.replace("replicas: 3", "replicas: 5"));
    shell.write("bad.yaml", &SET.replace("replicas: 3", "replicas: 3\n  colour: blue"));
    shell.write("cluster.yaml", CLUSTER);
    shell.write("cluster-changed.yaml", &CLUSTER.replace("7.3.69", "7.3.69, processCounts: {storage: 4}"));
    shell.write("cluster-bad.yaml", &CLUSTER.replace("7.3.69", "7.3.69, processCounts: {storage: many}"));
    shell.write("event.yaml", EVENT);
    shell.write("settings.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: '1'}}");
    shell.write("service.yaml", "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}");
    shell.write(
        "editor.sh",
        "#!/bin/sh\nsed -i 's/new: label/new: edited/; s/replicas: 5/replicas: 7/; s/storage: 5/storage: 6/' \"$1\"\n",
    );
    // The second time it leaves the file as it is, which is how one gives up.
    shell.write("bad-editor.sh", "#!/bin/sh\nsed -i 's/storage: 6/storage: many/' \"$1\"\n");
}

/// What is done to a FoundationDBCluster, which has no scale to be asked for.
const ON_CLUSTERS: &[&str] = &[
    "create -f cluster.yaml",
    "get fdb",
    "describe fdb db",
    "apply -f cluster-changed.yaml",
    "apply -f cluster-changed.yaml",
    "apply -f cluster-bad.yaml",
    "get fdb db -o yaml",
    "diff -f cluster.yaml | grep '^[+-] '",
    "patch fdb db --type=merge -p '{\"spec\":{\"processCounts\":{\"storage\":5}}}'",
    "patch fdb db --type=merge -p '{\"spec\":{\"processCounts\":{\"storage\":5}}}'",
    "patch fdb db --type=merge -p '{\"spec\":{\"processCounts\":{\"storage\":\"five\"}}}'",
    "patch fdb db -p '{\"spec\":{\"skip\":true}}'",
    "label fdb db colour=blue",
    "label fdb db colour=red",
    "label fdb db colour=red --overwrite",
    "label fdb db colour-",
    "annotate fdb db note=this",
    "get fdb -l colour",
    "scale fdb db --replicas=3",
];

/// The session, command by command.
fn session(shell: &Shell) -> Vec<(String, String)> {
    write_files(shell);
    let edit = "sh editor.sh";
    let mut printed: Vec<(String, String)> = vec![];
    let mut say = |line: &str| printed.push((line.to_owned(), shell.run(line)));
    for line in [
        "get pods",
        "apply -f pod.yaml",
        "get pods",
        "get pods -o wide",
        "get pods --show-labels",
        "get pod one -o yaml",
        "get pod one -o jsonpath='{.spec.containers[*].image}'",
        "describe pod one",
        "apply -f pod.yaml",
        "apply -f changed.yaml",
        "get pod one -o yaml",
        "label pod one colour=blue",
        "label pod one colour=red",
        "label pod one colour-",
        "annotate pod one note=this",
        "patch pod one --type=merge -p '{\"metadata\":{\"labels\":{\"patched\":\"yes\"}}}'",
        "patch pod one --type=json -p '[{\"op\":\"test\",\"path\":\"/metadata/name\",\"value\":\"two\"}]'",
        "patch pod one -p '{\"spec\":{\"nodeName\":\"n1\"}}' 2>&1 | head -c 200",
        "get pods -l app=story,patched",
        "create -f event.yaml",
        "get events",
        "get events -o wide",
        "describe pod one",
        "apply -f bad.yaml",
        "apply -f set.yaml",
        "get logsets",
        "get logset logs -o yaml",
        "apply -f set-changed.yaml",
        "scale logset logs --replicas=4",
        "get logset logs -o jsonpath='{.spec.replicas} {.metadata.generation}'",
        "scale logset logs --replicas=-1",
        "patch logset logs --type=merge -p '{\"spec\":{\"replicas\":5}}'",
        "patch logset logs --subresource=status --type=merge -p '{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Works\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}'",
        "get logsets",
        "describe logset logs",
        "patch logset logs --type=merge -p '{\"spec\":{\"volume\":{\"size\":\"1Gi\"}}}'",
        "create -f settings.yaml",
        "get configmaps",
        "create -f service.yaml",
        "get service web",
        "get service web -o yaml",
        "get namespace parity",
        "get secrets,serviceaccounts",
        "explain logset.spec.replicas",
        "get nothing",
        "get pod missing",
        "api-resources --api-group=core.matrixorigin.io",
    ] {
        say(line);
    }
    for line in ON_CLUSTERS {
        say(line);
    }
    printed.push(("edit pod one".to_owned(), edited(shell, edit, "edit pod one")));
    printed.push(("edit logset logs".to_owned(), edited(shell, edit, "edit logset logs")));
    printed.push(("edit fdb db".to_owned(), edited(shell, edit, "edit fdb db")));
    printed.push(("edit fdb db, badly".to_owned(), edited(shell, "sh bad-editor.sh", "edit fdb db")));
    let mut say = |line: &str| printed.push((line.to_owned(), shell.run(line)));
    say("get pod one --show-labels");
    say("get logset logs -o jsonpath='{.spec.replicas}'");
    say("get fdb db -o jsonpath='{.spec.processCounts.storage} {.metadata.generation}'");
    let meanwhile = ["label pod one watched=yes", "delete pod one --wait=false"];
    printed.push(("get pods -w".to_owned(), shell.watch("get pods -w", &meanwhile, 5)));
    let mut say = |line: &str| printed.push((line.to_owned(), shell.run(line)));
    say("get pods");
    say("delete logset logs");
    say("delete logset logs");
    say("delete fdb db --dry-run=server");
    say("delete fdb db");
    say("delete fdb db");
    say("get fdb");
    say("delete configmap,service --all");
    printed
}

fn edited(shell: &Shell, editor: &str, line: &str) -> String {
    let output = shell.command(line).env("KUBE_EDITOR", editor).output().unwrap();
    normalised(&format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

fn embedded() -> Vec<(String, String)> {
    let kubernetes = Kubernetes::new(jiff::Timestamp::now);
    for crd in quorate_api::crds() {
        kubernetes.create_value(crd).unwrap();
    }
    kubernetes.create_value(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let serving = kubernetes.clone();
    runtime.spawn(async move { kubernetes::serve(tokio::net::TcpListener::from_std(listener).unwrap(), serving).await });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "e", "contexts": [{"name": "e", "context": {"cluster": "e", "user": "e"}}],
        "clusters": [{"name": "e", "cluster": {"server": server}}], "users": [{"name": "e", "user": {}}],
    });
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    session(&Shell::new(&kubeconfig))
}

async fn real() -> Vec<(String, String)> {
    let control_plane = ControlPlane::shared();
    let case = control_plane.case("crds").await.unwrap();
    case.install_crds().unwrap();
    let shell = Shell::new(&control_plane.kubeconfig());
    shell.run(&format!("create namespace {NAMESPACE}"));
    while shell.run("get serviceaccount default").contains("NotFound")
        || shell.run("get configmap kube-root-ca.crt").contains("NotFound")
    {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    tokio::task::spawn_blocking(move || session(&shell)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_prints_the_same() {
    let real = real().await;
    let embedded = tokio::task::spawn_blocking(embedded).await.unwrap();
    let differences: Vec<String> = real
        .iter()
        .zip(&embedded)
        .filter(|(real, embedded)| real != embedded)
        .map(|((line, real), (_, embedded))| format!("kubectl {line}\n--- real\n{real}\n--- embedded\n{embedded}\n"))
        .collect();
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), real.len(), differences.join("\n"));
}

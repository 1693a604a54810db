//! `quorate playground`.

use std::process::ExitCode;

/// Shows what this version knows of the two API objects.
pub(crate) fn run() -> ExitCode {
    let kinds = [
        ("FoundationDBCluster", quorate_api::foundationdb_crd(), quorate_api::foundationdb::rules()),
        ("LogSet", quorate_api::logset_crd(), quorate_api::logset::rules()),
    ];
    println!(
        "This version of Quorate has the two API objects, and no operator yet. Later this command starts a small Kubernetes"
    );
    println!("in this process, runs the operator in it, and lets you break things.\n");
    for (kind, crd, rules) in kinds {
        println!("{kind:20} {} of CRD, {} validation rules, for example:", size(&quorate_api::to_yaml(&crd)), rules.len());
        if let Some(rule) = rules.first() {
            println!("{:20} {}", "", rule.message);
        }
    }
    println!("\nInstall them with: quorate crds | kubectl apply -f -");
    ExitCode::SUCCESS
}

fn size(text: &str) -> String {
    format!("{} kB", text.len() / 1000)
}

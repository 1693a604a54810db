//! Builds the programs of the control plane, or runs one by hand: `control-plane build`, `control-plane run`.

use anyhow::{Result, bail};
use quorate_e2e::{ControlPlane, programs};

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("build") => {
            println!("the control plane's programs are in {}", programs::directory()?.display());
        }
        Some("run") => {
            let control_plane = ControlPlane::start("by-hand")?;
            println!("Kubernetes {} is up; use it with", control_plane.version());
            println!("  export KUBECONFIG={}", control_plane.kubeconfig().display());
            println!("Press Enter to end it.");
            std::io::stdin().read_line(&mut String::new())?;
        }
        _ => bail!("usage: control-plane build | run"),
    }
    Ok(())
}

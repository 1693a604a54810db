//! `quorate crds`.

use std::io::Write;
use std::process::ExitCode;

/// Prints both CRDs as YAML, ready for `kubectl apply -f -`.
pub(crate) fn print() -> ExitCode {
    let mut out = std::io::stdout().lock();
    for crd in quorate_api::crds() {
        // A reader that closes the pipe (`| head`) has seen enough.
        if write!(out, "---\n{}", quorate_api::to_yaml(&crd)).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

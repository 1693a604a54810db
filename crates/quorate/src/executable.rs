//! Which build this is: a version says what was meant, the bytes of the executable say what runs.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

static DIGEST: LazyLock<Option<String>> = LazyLock::new(|| {
    let bytes = std::fs::read(std::env::current_exe().ok()?).ok()?;
    Some(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
});

/// The SHA-256 of the running executable; nothing if it can't be read.
pub(crate) fn digest() -> Option<&'static str> {
    DIGEST.as_deref()
}

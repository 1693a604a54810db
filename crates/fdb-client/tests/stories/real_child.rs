//! The child as the executable starts it.

/// Its command line.
#[derive(clap::Parser)]
pub struct Child {
    /// What the supervisor adds.
    #[command(flatten)]
    pub arguments: quorate_fdb_client::ChildArguments,
}

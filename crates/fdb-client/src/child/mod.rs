//! The child process: it has libfdb_c, one network thread, up to sixteen open databases, and no word in what is done with them.

mod commit;
mod create;
mod databases;
mod doubt;
mod effects;
mod errors;
mod keys;
mod kill;
mod look;
mod serve;

pub use errors::refusal;
pub use keys::healthy_zone;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use quorate_fdb_library::{Library, Network, NetworkOption, OpenError};

use crate::contract::TlsIdentity;
use crate::protocol::{self, FromChild, REPLY_LIMIT};

/// What a child is started with.
#[derive(Clone, Debug, clap::Args)]
pub struct ChildArguments {
    /// The client library.
    #[arg(long)]
    library: PathBuf,
    /// The file of our certificate chain.
    #[arg(long)]
    tls_certificate: Option<String>,
    /// The file of its key.
    #[arg(long)]
    tls_key: Option<String>,
    /// The file of those we trust.
    #[arg(long)]
    tls_ca: Option<String>,
    /// What a peer's certificate must say.
    #[arg(long)]
    tls_verify_peers: Option<String>,
}

/// How long the network thread may take to end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs until standard input ends.
pub fn child_main(arguments: &ChildArguments) -> ExitCode {
    let mut output = match keep_standard_output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("standard output can't be kept: {error}");
            return ExitCode::FAILURE;
        }
    };
    let opened = check(arguments).and_then(|()| open(arguments).map_err(|error| error.to_string()));
    let (network, version) = match opened {
        Ok(opened) => opened,
        Err(reason) => {
            let word = FromChild::Unusable { reason };
            // A parent that is gone needs no reason.
            let _ = protocol::write(&mut output, &word, REPLY_LIMIT);
            return ExitCode::FAILURE;
        }
    };
    let served = serve::serve(network, version, output);
    // The library's own destructors may run into its own threads; a child that can't end properly ends at once.
    std::thread::spawn(|| {
        std::thread::sleep(FAREWELL);
        // It fails only if we are gone.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
    match served {
        Ok(network) => {
            drop(network);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The library prints on standard output when it feels like it. From here on that goes to standard error, and the frames have a
/// file descriptor of their own.
fn keep_standard_output() -> io::Result<File> {
    let output = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(output))
}

/// A library that is given wrong files would never connect, and not say why.
fn check(arguments: &ChildArguments) -> Result<(), String> {
    let ChildArguments { library: _, tls_certificate, tls_key, tls_ca, tls_verify_peers: _ } = arguments;
    let (Some(certificate), Some(key), Some(ca)) = (tls_certificate, tls_key, tls_ca) else { return Ok(()) };
    let identity =
        TlsIdentity { certificate: certificate.clone(), key: key.clone(), ca: ca.clone(), verify_peers: String::new() };
    identity.check().map_err(|problem| problem.to_string())
}

fn open(arguments: &ChildArguments) -> Result<(Network, databases::Speaks), OpenError> {
    let library = Library::open(&arguments.library)?;
    let version = library.version();
    let mut options = vec![NetworkOption::NoStatistics];
    options.extend(arguments.tls_certificate.clone().map(NetworkOption::TlsCertificate));
    options.extend(arguments.tls_key.clone().map(NetworkOption::TlsKey));
    options.extend(arguments.tls_ca.clone().map(NetworkOption::TlsAuthorities));
    options.extend(arguments.tls_verify_peers.clone().map(NetworkOption::TlsVerifyPeers));
    let network = library.start(&options)?;
    Ok((network, databases::Speaks { version: version.version, protocol: version.protocol }))
}

//! One child process after the other: started when somebody asks, watched, ended and waited for.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::assignment::Purpose;
use super::backoff::Backoff;
use super::lines::Lines;
use super::mailbox::{Mailbox, Need, Next};
use super::{Pulse, Settings, lock};
use crate::protocol::{self, FromChild, REPLY_LIMIT};

/// How a child ended.
enum End {
    /// It was not wanted any more.
    Closed,
    /// Without ever having spoken: it could not be started, or its library is of no use.
    NeverSpoke(String),
    /// After it had spoken.
    Failed(String),
}

/// How long a child may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(3);

/// How long its last words are waited for after that.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs children for one purpose until the mailbox is closed.
pub(crate) async fn supervise(settings: Arc<Settings>, purpose: Purpose, mailbox: Arc<Mailbox>) {
    let mut backoff = Backoff::new(settings.backoff.0, settings.backoff.1);
    loop {
        match mailbox.need() {
            Need::End => return,
            Need::Nothing => {
                mailbox.changed().await;
                continue;
            }
            Need::Child => {}
        }
        if let Some(until) = mailbox.rest().filter(|until| *until > Instant::now()) {
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                () = mailbox.changed() => {}
            }
            continue;
        }
        let mut answered = false;
        let end = run(&settings, &purpose, &mailbox, &mut answered).await;
        if answered {
            backoff.succeeded();
        }
        let (reason, never_spoke) = match end {
            End::Closed => return,
            End::NeverSpoke(reason) => (reason, true),
            End::Failed(reason) => (reason, false),
        };
        let rest = backoff.failed();
        warn!(library = %purpose.library.display(), %reason, rest_ms = rest.as_millis(), "a FoundationDB client ended");
        mailbox.failed(&reason, never_spoke, rest);
    }
}

/// Runs one child to its end, and leaves no process behind.
async fn run(settings: &Settings, purpose: &Purpose, mailbox: &Mailbox, answered: &mut bool) -> End {
    let mut child = match command(settings, purpose).spawn() {
        Ok(child) => child,
        Err(error) => return End::NeverSpoke(format!("{} can't be started: {error}", settings.program.display())),
    };
    let process_id = child.id();
    mailbox.started(process_id);
    let (Some(mut input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
        return End::NeverSpoke("the child has no pipes".to_owned());
    };
    let mut log = tokio::spawn(log(errors, process_id));
    let mut output = BufReader::with_capacity(64 << 10, output);
    let greeting = tokio::select! {
        biased;
        () = unwanted(mailbox) => None,
        greeting = greet(&mut output, settings.pulse.start) => Some(greeting),
    };
    let end = match greeting {
        None => End::Closed,
        Some(Err(reason)) => End::NeverSpoke(reason),
        Some(Ok(library)) => {
            info!(pid = process_id, %library, file = %purpose.library.display(), "a FoundationDB client started");
            let heard = Mutex::new(Heard::now());
            tokio::select! {
                biased;
                end = write(&mut input, mailbox, &library) => end,
                reason = read(&mut output, mailbox, &heard, answered) => End::Failed(reason),
                reason = watch(settings.pulse, mailbox, &heard) => End::Failed(reason),
            }
        }
    };
    drop(input);
    let status = part(&mut child, matches!(end, End::Closed)).await;
    // Its last words; somebody whom it started may keep the pipe open for ever.
    if tokio::time::timeout(LAST_WORDS, &mut log).await.is_err() {
        log.abort();
    }
    match end {
        End::Closed => End::Closed,
        End::NeverSpoke(reason) => End::NeverSpoke(format!("{reason} ({status})")),
        End::Failed(reason) => End::Failed(format!("{reason} ({status})")),
    }
}

fn command(settings: &Settings, purpose: &Purpose) -> Command {
    let mut command = Command::new(&settings.program);
    command.args(&settings.arguments).arg("--library").arg(&purpose.library);
    if let Some(tls) = &purpose.tls {
        command.args(["--tls-certificate", &tls.certificate, "--tls-key", &tls.key, "--tls-ca", &tls.ca]);
        if !tls.verify_peers.is_empty() {
            command.args(["--tls-verify-peers", &tls.verify_peers]);
        }
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FDB_")) {
        command.env_remove(name);
    }
    command.envs(&settings.environment);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// The first word decides: a greeting in our protocol with the library's version, or why there will be none.
async fn greet(output: &mut (impl AsyncRead + Unpin), patience: Duration) -> Result<String, String> {
    match tokio::time::timeout(patience, protocol::read_async(output, REPLY_LIMIT)).await {
        Ok(Ok(Some(FromChild::Hello { protocol: protocol::VERSION, library }))) => Ok(library),
        Ok(Ok(Some(FromChild::Hello { protocol, .. }))) => {
            Err(format!("the client speaks protocol {protocol}, and {} is needed", protocol::VERSION))
        }
        Ok(Ok(Some(FromChild::Unusable { reason }))) => Err(reason),
        Ok(Ok(Some(_))) => Err("the client did not greet".to_owned()),
        Ok(Ok(None)) => Err("the client ended at its start".to_owned()),
        Ok(Err(error)) => Err(format!("the client said {error}")),
        Err(_) => Err(format!("the client did not greet within {} ms", patience.as_millis())),
    }
}

/// Until nobody wants the child any more.
async fn unwanted(mailbox: &Mailbox) {
    while mailbox.need() != Need::End {
        mailbox.changed().await;
    }
}

async fn write(input: &mut (impl AsyncWrite + Unpin), mailbox: &Mailbox, library: &str) -> End {
    loop {
        match mailbox.next(library) {
            Next::Close => return End::Closed,
            Next::Wait => mailbox.changed().await,
            Next::Write(frame) => {
                if let Err(error) = input.write_all(&frame).await {
                    return End::Failed(format!("the client does not listen: {error}"));
                }
            }
        }
    }
}

/// When signs of life came last.
#[derive(Clone, Copy)]
struct Heard {
    child: Instant,
    network: Instant,
}

impl Heard {
    fn now() -> Self {
        Self { child: Instant::now(), network: Instant::now() }
    }
}

async fn read(output: &mut (impl AsyncRead + Unpin), mailbox: &Mailbox, heard: &Mutex<Heard>, answered: &mut bool) -> String {
    loop {
        match protocol::read_async(output, REPLY_LIMIT).await {
            Ok(Some(FromChild::Reply { id, result })) => {
                *answered = true;
                mailbox.answer(id, result);
            }
            Ok(Some(FromChild::Pong { .. })) => lock(heard).child = Instant::now(),
            Ok(Some(FromChild::NetworkPong { .. })) => lock(heard).network = Instant::now(),
            Ok(Some(FromChild::Hello { .. } | FromChild::Unusable { .. })) => {
                return "the client greeted twice".to_owned();
            }
            Ok(None) => return "the client ended".to_owned(),
            Err(error) => return format!("the client said {error}"),
        }
    }
}

/// Asks for signs of life and says when there have been none for too long.
async fn watch(pulse: Pulse, mailbox: &Mailbox, heard: &Mutex<Heard>) -> String {
    for id in 0.. {
        mailbox.ping(id);
        tokio::time::sleep(pulse.every).await;
        let Heard { child, network } = *lock(heard);
        if child.elapsed() > pulse.patience {
            return format!("the client has not answered for {} ms", pulse.patience.as_millis());
        }
        if network.elapsed() > pulse.network_patience {
            return format!("the client's network thread has not answered for {} ms", pulse.network_patience.as_millis());
        }
    }
    unreachable!("there are more numbers than seconds")
}

/// Ends a child and waits for its end, so that no zombie is left.
async fn part(child: &mut Child, politely: bool) -> String {
    if politely && tokio::time::timeout(FAREWELL, child.wait()).await.is_ok() {
        return "closed".to_owned();
    }
    // A child that has ended already says here how; one that has not is killed, and says that.
    if let Ok(Some(status)) = child.try_wait() {
        return status.to_string();
    }
    // It fails only if the child has ended meanwhile.
    let _ = child.start_kill();
    match child.wait().await {
        Ok(status) => status.to_string(),
        Err(error) => format!("its end is unknown: {error}"),
    }
}

/// What the child prints goes to the log, in bounded amounts.
async fn log(mut errors: impl AsyncRead + Unpin, process_id: Option<u32>) {
    let start = Instant::now();
    let mut lines = Lines::default();
    let mut buffer = vec![0; 8 << 10];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        for line in lines.push(&buffer[..length], start.elapsed()) {
            warn!(pid = process_id, "{line}");
        }
    }
    for line in lines.finish(start.elapsed()) {
        warn!(pid = process_id, "{line}");
    }
    debug!(pid = process_id, "a FoundationDB client closed its standard error");
}

//! The child's loop: requests become tasks, answers become frames, a cancelled task drops its futures and thereby cancels what the
//! library does for it. Nothing here waits for a database.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use futures::future::{self, Either};
use quorate_fdb_library::{Database, Network};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, LocalSet};

use super::databases::{Databases, Opened, Speaks};
use super::{commit, kill, look};
use crate::contract::{Answer, Call, Failure};
use crate::protocol::{self, FromChild, REPLY_LIMIT, REQUEST_LIMIT, Request, ToChild};

/// Frames that wait for a thread. Beyond, the other side waits.
const WAITING: usize = 64;

/// Serves until standard input ends, and gives the network back with every database closed.
pub(crate) fn serve(network: Network, speaks: Speaks, output: File) -> io::Result<Network> {
    let (heard, words) = mpsc::channel(WAITING);
    let (replies, to_say) = mpsc::channel(WAITING);
    std::thread::Builder::new().name("requests".to_owned()).spawn(move || hear(&heard))?;
    let saying = std::thread::Builder::new().name("replies".to_owned()).spawn(move || say(output, to_say))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    runtime.block_on(tasks.run_until(attend(network.clone(), speaks, words, replies)));
    drop(tasks);
    drop(runtime);
    // It ends when its channel does; a panic of it has been printed.
    let _ = saying.join();
    Ok(network)
}

fn hear(heard: &mpsc::Sender<ToChild>) {
    let mut input = io::stdin().lock();
    loop {
        match protocol::read(&mut input, REQUEST_LIMIT) {
            Ok(Some(word)) => {
                if heard.blocking_send(word).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                eprintln!("the parent said {error}");
                return;
            }
        }
    }
}

fn say(mut output: File, mut replies: mpsc::Receiver<FromChild>) {
    while let Some(mut reply) = replies.blocking_recv() {
        if let FromChild::Reply { id, .. } = &reply
            && let Err(error @ protocol::FrameError::TooLong { .. }) = protocol::encode(&reply, REPLY_LIMIT)
        {
            let failure = Failure::Unavailable(format!("the answer is {error}"));
            reply = FromChild::Reply { id: *id, result: Err(failure) };
        }
        if protocol::write(&mut output, &reply, REPLY_LIMIT).is_err() {
            return;
        }
    }
}

type Tasks = Rc<RefCell<BTreeMap<u64, AbortHandle>>>;

async fn attend(network: Network, speaks: Speaks, mut words: mpsc::Receiver<ToChild>, replies: mpsc::Sender<FromChild>) {
    let hello = FromChild::Hello { protocol: protocol::VERSION, library: speaks.version.clone() };
    if replies.send(hello).await.is_err() {
        return;
    }
    let tasks = Tasks::default();
    let mut databases = Databases::new(network, speaks);
    while let Some(word) = words.recv().await {
        match word {
            ToChild::Request(request) => begin(*request, &mut databases, &tasks, &replies),
            ToChild::Cancel { id } => {
                if let Some(task) = tasks.borrow_mut().remove(&id) {
                    task.abort();
                }
            }
            ToChild::Close { cluster } => databases.close(&cluster),
            ToChild::Ping { id } => ping(id, &databases, &replies).await,
        }
    }
    for task in tasks.borrow().values() {
        task.abort();
    }
}

fn begin(request: Request, databases: &mut Databases, tasks: &Tasks, replies: &mpsc::Sender<FromChild>) {
    let Request { id, target, call, deadline_ms } = request;
    let opened = databases.open(&target);
    let (finished, replies) = (Rc::clone(tasks), replies.clone());
    let task = tokio::task::spawn_local(async move {
        let result = match opened {
            Ok(opened) => answer(&opened, call, deadline_ms).await,
            Err(failure) => Err(failure),
        };
        finished.borrow_mut().remove(&id);
        // A parent that is gone needs no answer.
        let _ = replies.send(FromChild::Reply { id, result }).await;
    });
    tasks.borrow_mut().insert(id, task.abort_handle());
}

/// Whatever comes first: the answer, the deadline, or the knowledge that the servers speak another protocol and will never answer.
async fn answer(opened: &Opened, call: Call, deadline_ms: u64) -> Result<Answer, Failure> {
    let deadline = Duration::from_millis(deadline_ms);
    // From the moment a change may be on its way, nobody may be told that nothing was done.
    let begun = Cell::new(false);
    let answer = async {
        match call {
            Call::Look(look) => look::look(opened, &look, deadline).await.map(Answer::Seen),
            Call::Commit(commit) => commit::commit(opened, &commit, deadline, &begun).await,
            Call::Kill(addresses) => kill::kill(opened, &addresses, deadline, &begun).await,
        }
    };
    let answer = std::pin::pin!(tokio::time::timeout(deadline, answer));
    let foreign = std::pin::pin!(opened.speaks_another_protocol());
    match future::select(answer, foreign).await {
        Either::Left((Ok(result), _)) => result.map_err(|failure| opened.named(failure)),
        Either::Left((Err(_), _)) => Err(Failure::Timeout { milliseconds: deadline_ms }),
        Either::Right((failure, _)) => Err(unless_begun(failure, begun.get())),
    }
}

/// Why a call was given up. Once a change may be on its way, only that nobody knows what became of it.
fn unless_begun(failure: Failure, begun: bool) -> Failure {
    if begun { Failure::UnknownResult } else { failure }
}

/// Answers twice: at once, and when the network thread has done something small. Without a database there is nothing it could do.
async fn ping(id: u64, databases: &Databases, replies: &mpsc::Sender<FromChild>) {
    // A parent that is gone needs no answer.
    let _ = replies.send(FromChild::Pong { id }).await;
    let transaction = databases.any().map(Database::transaction);
    let replies = replies.clone();
    tokio::task::spawn_local(async move {
        if let Some(Ok(transaction)) = transaction
            && transaction.touch_network().await.is_err()
        {
            return;
        }
        let _ = replies.send(FromChild::NetworkPong { id }).await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_that_nothing_was_done_once_something_may_have_been() {
        let foreign = || Failure::Incompatible { library: "7.3.63".to_owned() };
        assert_eq!(unless_begun(foreign(), false), foreign());
        assert_eq!(unless_begun(foreign(), true), Failure::UnknownResult);
    }
}

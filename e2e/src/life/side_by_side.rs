//! Stories that are told side by side: most of a story is waiting, and a control plane has room for many.

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::{JoinSet, LocalSet, spawn_local};

use super::Ground;

/// A name, and what happens.
pub type Story = (&'static str, fn(Arc<Ground>) -> Pin<Box<dyn Future<Output = ()>>>);

/// Names `async fn`s that take the ground as stories.
#[macro_export]
macro_rules! stories_on {
    ($($story:path),+ $(,)?) => { &[$((stringify!($story), |ground| Box::pin($story(ground)))),+] };
}

/// Tells those whose name contains an argument, or all, at most so many at once.
pub async fn tell(stories: &[Story], at_once: usize, ground: impl AsyncFnOnce() -> Ground) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in stories {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    let wanted: Vec<Story> = stories.iter().filter(|(name, _)| is_wanted(name)).copied().collect();
    if wanted.is_empty() {
        println!("0 passed, 0 failed");
        return ExitCode::SUCCESS;
    }
    let ground = Arc::new(ground().await);
    // They share a thread: they only wait and look.
    LocalSet::new().run_until(tell_all(wanted, at_once, ground)).await
}

async fn tell_all(stories: Vec<Story>, at_once: usize, ground: Arc<Ground>) -> ExitCode {
    let room = Arc::new(tokio::sync::Semaphore::new(at_once));
    let mut running = JoinSet::new();
    for (name, story) in stories {
        let (ground, room) = (Arc::clone(&ground), Arc::clone(&room));
        running.spawn_local(async move {
            let _place = room.acquire().await;
            let start = Instant::now();
            let told = spawn_local(story(ground)).await;
            println!("test {name} ... {} ({:.1} s)", if told.is_ok() { "ok" } else { "FAILED" }, start.elapsed().as_secs_f32());
            (name, told.is_ok())
        });
    }
    let told = running.join_all().await;
    let failed: Vec<&str> = told.iter().filter(|(_, ok)| !ok).map(|(name, _)| *name).collect();
    println!("{} passed, {} failed: {failed:?}", told.len() - failed.len(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

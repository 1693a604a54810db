//! Runs named stories one after the other, and says of each that was not run that it was not. Rust's own test harness can neither give a
//! child process a clean standard output nor tell "passed" from "not run".

use std::process::ExitCode;
use std::time::Instant;

use futures::future::BoxFuture;

/// A name, and what happens.
pub type Story = (&'static str, fn() -> BoxFuture<'static, ()>);

/// Names an `async fn` as a story.
#[macro_export]
macro_rules! stories {
    ($($story:path),+ $(,)?) => { &[$((stringify!($story), || Box::pin($story()))),+] };
}

/// Tells those whose name contains an argument, or all.
pub fn tell(stories: &[Story]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in stories {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut failed = Vec::new();
    let mut passed = 0;
    for (name, story) in stories {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let start = Instant::now();
        match runtime.block_on(async { tokio::spawn(story()).await }) {
            Ok(()) => passed += 1,
            Err(_) => failed.push(*name),
        }
        let result = if failed.last() == Some(name) { "FAILED" } else { "ok" };
        println!("test {name} ... {result} ({:.1} s)", start.elapsed().as_secs_f32());
    }
    println!("{passed} passed, {} failed: {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

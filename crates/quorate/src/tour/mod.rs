//! `quorate playground --tour`: stories of a cluster's life, played in the embedded world, each step with what is expected, what was seen
//! and why.
//!
//! A chapter is one file and one line in [`CHAPTERS`]: a function that plays on a [`Telling`]. Time is virtual, so hours pass in seconds;
//! the time on the left is that of the world.

mod cast;
mod chapters;
mod narrated;
mod telling;

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use futures::future::LocalBoxFuture;
use quorate_world::stage::in_virtual_time;

use chapters::{birth, buckets, coordinator, domains, knob, losses};
use telling::Telling;

/// A story.
struct Chapter {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    play: for<'a> fn(&'a mut Telling) -> LocalBoxFuture<'a, Result<()>>,
}

const CHAPTERS: &[Chapter] = &[
    Chapter { name: "birth", title: "Birth", about: birth::ABOUT, play: |telling| Box::pin(birth::play(telling)) },
    Chapter {
        name: "buckets",
        title: "A slow replacement blocks nobody",
        about: buckets::ABOUT,
        play: |telling| Box::pin(buckets::with_buckets(telling)),
    },
    Chapter {
        name: "one-counter",
        title: "The same day with one counter for all",
        about: buckets::ABOUT_ONE_COUNTER,
        play: |telling| Box::pin(buckets::with_one_counter(telling)),
    },
    Chapter {
        name: "domains",
        title: "Three fault domains, then four, then two",
        about: domains::ABOUT,
        play: |telling| Box::pin(domains::play(telling)),
    },
    Chapter { name: "knob", title: "A knob", about: knob::ABOUT, play: |telling| Box::pin(knob::play(telling)) },
    Chapter { name: "losses", title: "Losses", about: losses::ABOUT, play: |telling| Box::pin(losses::play(telling)) },
    Chapter {
        name: "coordinator",
        title: "A coordinator is lost",
        about: coordinator::ABOUT,
        play: |telling| Box::pin(coordinator::play(telling)),
    },
];

/// Plays every chapter, or the one of this name.
pub(crate) fn play(only: &str) -> Result<ExitCode> {
    let chosen: Vec<&Chapter> = CHAPTERS.iter().filter(|chapter| only.is_empty() || chapter.name == only).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = CHAPTERS.iter().map(|chapter| chapter.name).collect();
        bail!("there is no chapter `{only}`; there are {}", names.join(", "));
    }
    println!(
        "A tour of Quorate, in a small Kubernetes inside this process: six nodes in three zones, and a model of FoundationDB."
    );
    println!("Time is virtual; what is on the left is the time since the chapter's world began.");
    tell_all(&chosen)
}

/// Plays chapters one after the other. Well only if everything was as expected.
fn tell_all(chosen: &[&Chapter]) -> Result<ExitCode> {
    let (mut met, mut missed) = (0, Vec::new());
    for (number, chapter) in chosen.iter().enumerate() {
        println!("\n\n━━━ {}. {} ━━━ {}\n", number + 1, chapter.title, chapter.name);
        let told = in_virtual_time(tell(chapter))??;
        met += told.met;
        missed.extend(told.missed.into_iter().map(|what| format!("{}: {what}", chapter.name)));
    }
    println!("\n\n━━━ The tour is over ━━━\n");
    println!("  {met} of {} expectations were met, in {} chapters", met + missed.len(), chosen.len());
    for what in &missed {
        println!("  ✗ {what}");
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How a chapter ended.
struct Told {
    met: usize,
    missed: Vec<String>,
}

async fn tell(chapter: &Chapter) -> Result<Told> {
    let mut telling = Telling::begin().map_err(|status| anyhow!("building the world: {status:?}"))?;
    Telling::explain(chapter.about);
    (chapter.play)(&mut telling).await?;
    Ok(telling.end().await)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AS_EXPECTED: Chapter = Chapter {
        name: "met",
        title: "Met",
        about: "What is expected is so.",
        play: |telling| {
            Box::pin(async move {
                telling.expect("it is so", "it is so", true, "It is what this chapter is about.");
                Ok(())
            })
        },
    };
    const NOT_AS_EXPECTED: Chapter = Chapter {
        name: "missed",
        title: "Missed",
        about: "What is expected is not so.",
        play: |telling| {
            Box::pin(async move {
                telling.expect("it is so", "it is not so", false, "It is what this chapter is about.");
                Ok(())
            })
        },
    };

    #[test]
    fn one_expectation_that_is_missed_makes_the_whole_tour_fail() {
        assert_eq!(tell_all(&[&AS_EXPECTED]).unwrap(), ExitCode::SUCCESS);
        assert_eq!(tell_all(&[&NOT_AS_EXPECTED, &AS_EXPECTED]).unwrap(), ExitCode::FAILURE);
    }
}

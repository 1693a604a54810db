//! A chapter while it is told: the world it plays in, and what has been said and seen so far.

use std::fmt::Display;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use quorate_world::Stage;
use quorate_world::kubernetes::Status;
use quorate_world::scenery;
use serde_json::Value;

use super::Told;
use super::cast::{self, Cast};
use super::narrated::narrated;

/// Prose is broken at this column.
const WIDTH: usize = 110;

/// How long anything may take that is not said to take long: in the world, not here.
pub(super) const A_WHILE: Duration = Duration::from_secs(900);

/// A chapter while it is told.
pub(super) struct Telling {
    stage: Stage,
    /// What the operator did up to here has been told.
    told: usize,
    met: usize,
    missed: Vec<String>,
}

impl Telling {
    pub(super) fn begin() -> Result<Self, Status> {
        Ok(Self { stage: Stage::new(scenery::NODES)?, told: 0, met: 0, missed: Vec::new() })
    }

    /// The world.
    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Whoever plays in it.
    pub(super) fn cast(&self) -> Cast<'_> {
        Cast(&self.stage)
    }

    /// Prose.
    pub(super) fn explain(text: &str) {
        print_wrapped("  ", text);
        println!();
    }

    /// The cluster object, or a change of it, as a user writes it and applies it.
    pub(super) fn apply(&mut self, yaml: &str) -> Result<()> {
        println!();
        yaml.trim().lines().for_each(|line| println!("      │ {line}"));
        println!();
        self.happens("a user applies this");
        self.merge(yaml)
    }

    /// A cluster that runs already, of which nobody needs to be told. What it says differently from the one in the first chapter is shown.
    pub(super) async fn begin_with(&mut self, yaml: &str) -> Result<()> {
        self.merge(cast::CLUSTER)?;
        if !yaml.trim().is_empty() {
            self.merge(yaml)?;
            print_wrapped("  ", "The cluster is the one of the first chapter, but for this:");
            println!();
            yaml.trim().lines().for_each(|line| println!("      │ {line}"));
            println!();
        }
        let born = self.stage.until(A_WHILE, |stage| Cast(stage).is_at_rest()).await;
        self.told = self.stage.ledger.position();
        self.happens("the cluster runs and is at rest");
        if born { Ok(()) } else { Err(anyhow!("the cluster did not come up: {}", self.cast().held())) }
    }

    fn merge(&self, yaml: &str) -> Result<()> {
        let change: Value = serde_saphyr::from_str(yaml).context("reading the YAML of a chapter")?;
        self.cast().merge(&change).map_err(|status| anyhow!("applying the YAML of a chapter: {status:?}"))
    }

    /// Something happens to the world.
    pub(super) fn happens(&mut self, what: impl Display) {
        self.narrate();
        self.line('•', what);
    }

    /// Lets a while pass.
    pub(super) async fn pass(&mut self, while_long: Duration) {
        self.stage.pass(while_long).await;
        self.narrate();
    }

    /// Waits until something is so, which is expected; says what was seen instead if patience ends.
    pub(super) async fn await_that(
        &mut self,
        what: &str,
        patience: Duration,
        mut is_so: impl FnMut(Cast<'_>) -> bool,
        why: &str,
    ) -> bool {
        let begun = self.stage.elapsed();
        let is_so = self.stage.until(patience, |stage| is_so(Cast(stage))).await;
        self.narrate();
        let took = self.stage.elapsed().saturating_sub(begun).as_secs();
        let seen = if is_so { format!("so after {took} s") } else { format!("not after {took} s; {}", self.cast().held()) };
        self.expect(what, seen, is_so, why);
        is_so
    }

    /// What is expected, what was seen, and why it should be so.
    pub(super) fn expect(&mut self, what: &str, seen: impl Display, is_so: bool, why: &str) {
        self.narrate();
        self.line(if is_so { '✓' } else { '✗' }, format!("expected: {what}"));
        println!("                 seen: {seen}");
        if !why.is_empty() {
            print_wrapped("                  why: ", why);
        }
        if is_so {
            self.met += 1;
        } else {
            self.missed.push(what.to_owned());
        }
    }

    /// Tells what the operator did since it was told last.
    fn narrate(&mut self) {
        let entries = self.stage.ledger.since(self.told);
        self.told += entries.len();
        for (at, what) in narrated(&entries) {
            println!("  {}  · {what}", clock(at));
        }
    }

    fn line(&self, mark: char, what: impl Display) {
        println!("  {}  {mark} {what}", clock(self.stage.elapsed()));
    }

    /// The verdict.
    pub(super) async fn end(mut self) -> Told {
        self.narrate();
        let (all, time) = (self.met + self.missed.len(), clock(self.stage.elapsed()));
        let verdict = if self.missed.is_empty() { "as expected" } else { "NOT as expected" };
        println!("\n  {verdict}: {} of {all}, in {time} of simulated time", self.met);
        self.stage.end().await;
        Told { met: self.met, missed: self.missed }
    }
}

/// Hours, minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The first line begins with this, the others below its end.
fn print_wrapped(begin: &str, text: &str) {
    let (mut line, indent) = (begin.to_owned(), " ".repeat(begin.chars().count()));
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= WIDTH {
            println!("{}", line.trim_end());
            line.clone_from(&indent);
        }
        line.push_str(word);
        line.push(' ');
    }
    println!("{}", line.trim_end());
}

//! What stands in the way of something.

use std::fmt;

/// A number as it is told, whether the database says it or not.
pub(crate) fn told(number: Option<impl fmt::Display>) -> String {
    number.map_or_else(|| "an unknown number".to_owned(), |number| number.to_string())
}

/// Why something is not done now, as the end of a sentence, and the two values that were compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    because: String,
    /// The value that was measured.
    pub(crate) measured: String,
    /// The value it was compared with.
    pub(crate) needed: String,
}

impl Obstacle {
    pub(crate) fn new(because: impl Into<String>, measured: impl fmt::Display, needed: impl fmt::Display) -> Self {
        Self { because: because.into(), measured: measured.to_string(), needed: needed.to_string() }
    }

    /// Some of those who hold data or logs could not be asked.
    pub(crate) fn partial_report() -> Self {
        Self::new("the database's report is not whole", "a report with gaps", "a whole one")
    }

    pub(crate) fn no_answer() -> Self {
        Self::new("the database does not answer", "no answer", "a report")
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.because)
    }
}

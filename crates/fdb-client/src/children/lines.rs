//! What a child prints on standard error, as lines for the log: long ones cut, and only so many per second. The C++ client prints at
//! will, and a flood of it must cost neither memory nor the log.

use std::time::Duration;

/// The longest part of a line that is kept.
const LONGEST: usize = 400;

/// How many lines may come at once, and how many per second after that.
const BURST: u32 = 50;
const PER_SECOND: u32 = 10;

/// Bytes become lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    line: Vec<u8>,
    cut: bool,
    /// Time is counted from the child's start.
    refilled: Duration,
    spent: u32,
    dropped: u64,
}

impl Lines {
    /// Takes some bytes, at a time since the child's start, and gives the lines that are worth a log entry.
    pub(crate) fn push(&mut self, bytes: &[u8], now: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let room = LONGEST - self.line.len();
            self.line.extend(&text[..text.len().min(room)]);
            self.cut |= text.len() > room;
            if ended {
                self.end_line(now, &mut lines);
            }
        }
        lines
    }

    /// The last line, which may have no end, and what was left out.
    pub(crate) fn finish(&mut self, now: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.line.is_empty() {
            self.end_line(now, &mut lines);
        }
        if self.dropped > 0 {
            lines.push(self.left_out());
        }
        lines
    }

    fn end_line(&mut self, now: Duration, lines: &mut Vec<String>) {
        let mut text = String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim_end().to_owned();
        if std::mem::take(&mut self.cut) {
            text.push_str(" […]");
        }
        if text.is_empty() {
            return;
        }
        let earned = u32::try_from(now.saturating_sub(self.refilled).as_secs()).unwrap_or(u32::MAX);
        if earned > 0 {
            self.spent = self.spent.saturating_sub(earned.saturating_mul(PER_SECOND));
            self.refilled = now;
        }
        if self.spent >= BURST {
            self.dropped += 1;
            return;
        }
        self.spent += 1;
        if self.dropped > 0 {
            lines.push(self.left_out());
        }
        lines.push(text);
    }

    fn left_out(&mut self) -> String {
        format!("({} lines left out)", std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_the_bytes_arrive() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"one\ntw", Duration::ZERO), ["one"]);
        assert_eq!(lines.push(b"o\n\nthree", Duration::ZERO), ["two"]);
        assert_eq!(lines.finish(Duration::ZERO), ["three"]);
    }

    #[test]
    fn a_line_without_end_keeps_its_beginning_only() {
        let mut lines = Lines::default();
        for _ in 0..1000 {
            assert!(lines.push(&[b'x'; 1000], Duration::ZERO).is_empty());
            assert!(lines.line.len() <= LONGEST);
        }
        let line = lines.push(b"\n", Duration::ZERO).remove(0);
        assert!(line.ends_with("x […]") && line.len() < LONGEST + 10);
    }

    #[test]
    fn a_flood_becomes_a_trickle_that_says_how_much_is_missing() {
        let mut lines = Lines::default();
        let flood = b"again\n".repeat(10_000);
        assert_eq!(lines.push(&flood, Duration::ZERO).len(), 50);
        let later = lines.push(b"later\n", Duration::from_secs(3));
        assert_eq!(later, ["(9950 lines left out)", "later"]);
        assert_eq!(lines.push(&flood, Duration::from_secs(3)).len(), 29);
        assert_eq!(lines.finish(Duration::from_secs(3)), ["(9971 lines left out)"]);
    }
}

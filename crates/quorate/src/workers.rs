//! Work that falls into pieces which do not concern each other, on all cores; the results come in order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::Result;

/// Does the work for every number and gives the results to `each`, in the order of the numbers whoever is done first. An error of
/// `each` ends it: what was begun is finished, and nothing else begins.
pub(crate) fn in_order<T: Send>(
    numbers: Range<u64>,
    work: impl Fn(u64) -> T + Sync,
    mut each: impl FnMut(u64, T) -> Result<()>,
) -> Result<()> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, over) = (AtomicU64::new(numbers.start), AtomicBool::new(false));
    let (done, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..cores {
            let done = done.clone();
            let (next, over, work) = (&next, &over, &work);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end || done.send((number, work(number))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let mut waiting = BTreeMap::new();
        let mut due = numbers.start;
        for (number, result) in results {
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&due) {
                if let Err(error) = each(due, result) {
                    over.store(true, Ordering::Relaxed);
                    return Err(error);
                }
                due += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_each_once() {
        let mut seen = Vec::new();
        let slow_when_even = |number: u64| {
            (0..if number.is_multiple_of(2) { 20_000 } else { 1 })
                .fold(number, |sum: u64, one| sum.wrapping_add(std::hint::black_box(one)));
            number * 10
        };
        in_order(3..40, slow_when_even, |number, result| {
            seen.push((number, result));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, (3..40).map(|number| (number, number * 10)).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_it() {
        let mut seen = 0;
        let ended = in_order(
            0..1_000_000,
            |number| number,
            |_, _| {
                seen += 1;
                anyhow::ensure!(seen < 5, "enough");
                Ok(())
            },
        );
        assert_eq!((ended.unwrap_err().to_string(), seen), ("enough".to_owned(), 5));
    }
}

//! What no recording and no reading of the source determines, with what the model assumes: always the worse for an operator that trusts
//! too early. `docs/foundationdb-model.md` shows the same list.

/// A fact that is not known for certain.
#[derive(Clone, Copy, Debug)]
pub struct Uncertain {
    /// The question.
    pub question: &'static str,
    /// What the model does.
    pub assumed: &'static str,
    /// Why that is the worse, or what speaks for it.
    pub because: &'static str,
}

/// All of them.
pub const UNCERTAIN: &[Uncertain] = &[
    Uncertain {
        question: "How many of the old coordinators must remember where the coordinators went?",
        assumed: "a majority of them",
        because: "three of five sufficed on a real cluster, fewer were not tried; an old connection string stops working sooner",
    },
    Uncertain {
        question: "What if a majority of the coordinators that answer lost their disks, while others remember?",
        assumed: "the database counts as never created, for good",
        because: "reading a majority may meet only those that forgot; it is data lost, and so an invariant can see it",
    },
    Uncertain {
        question: "Does a coordinator whose disk is new learn the state before the next recovery?",
        assumed: "no",
        because: "the state is written at recoveries; replacing one disk after another without a recovery forgets the database",
    },
    Uncertain {
        question: "Does a recovery restart data distribution?",
        assumed: "when the master moves, which it does if an equally fit process is there, when the leader is new, and after a configuration \
            or coordinator change; otherwise its state stays as stale as it was",
        because: "this alone fits all recordings: initializing after most recoveries, healthy six seconds after a hall was lost",
    },
    Uncertain {
        question: "Does a storage process that returns after its data was re-replicated get a storage role again?",
        assumed: "not before storage is short",
        because: "seen once; an operator that waits for the role would wait for ever",
    },
    Uncertain {
        question: "How soon does a new storage process get data?",
        assumed: "a role after two seconds, data only when a shard needs a new place; there is no rebalancing",
        because: "an empty server looks ready long before it is of use",
    },
    Uncertain {
        question: "How soon is a dead storage server re-replicated when it is excluded?",
        assumed: "as soon as data distribution is ready",
        because: "on a real cluster it took 55 s with a restart of data distribution in between; the list is right all the time",
    },
    Uncertain {
        question: "How fast does data move?",
        assumed: "at least 1.8 s from live servers and 5.5 s for a dead one's data, then about 160 MB/s, and 3 s until the state knows",
        because: "measured with 40 to 60 MB only; quick ends surprise an operator that relies on time instead of the list",
    },
    Uncertain {
        question: "What happens to a storage server in a zone under maintenance that is dead when maintenance ends?",
        assumed: "the failure reaction starts anew, 63 s",
        because: "seen once; meanwhile the fault tolerance is reported as full",
    },
    Uncertain {
        question: "How long does a dead process stay in the report?",
        assumed: "7 s, and not at all under a new leader",
        because: "seen between 5 and 9 s",
    },
    Uncertain {
        question: "How long is the database down when a process with a role dies and does not return?",
        assumed: "4.5 s; 0.6 s after its return if that is sooner; a leader takes 2.4 s to be replaced, 15.5 s if only processes with other \
            duties are left",
        because: "measured once each, half a second up or down",
    },
    Uncertain {
        question: "What does an open client do when the coordinators moved while it was not looking?",
        assumed: "it follows from the string it was given, every time",
        because: "a client that was restarted knows nothing else",
    },
    Uncertain {
        question: "Which moment does a slow status show?",
        assumed: "the middle of the call",
        because: "fits the bounce; the answer is older than it seems",
    },
    Uncertain {
        question: "What is left of a change that was under way when its caller's deadline came?",
        assumed: "what was committed stays, what was not is cancelled",
        because: "the client cancels its future; changes that survive their caller are injected as faults",
    },
    Uncertain {
        question: "How many commit proxies are recruited on processes with several duties?",
        assumed: "as many as find a place no more used than the last first pick",
        because: "fits most recordings; nothing is decided on it",
    },
    Uncertain {
        question: "How many recoveries does the loss of a leader cost?",
        assumed: "two if another role was lost with it, one otherwise",
        because: "seen: one to four; the generation is only ever compared for change",
    },
    Uncertain {
        question: "What does a database say that was never created?",
        assumed: "after 12.5 s that it was never created, and who has joined",
        because: "7.3.80 did; 7.3.63 takes 33 s every time, and then says only that its coordinators answer; so the operator does not ask",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_them_all() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let document = words(include_str!("../../../../docs/foundationdb-model.md"));
        for uncertain in UNCERTAIN {
            let row = format!("| {} | {} | {} |", uncertain.question, words(uncertain.assumed), uncertain.because);
            assert!(document.contains(&row), "docs/foundationdb-model.md lacks the row\n{row}");
        }
    }
}

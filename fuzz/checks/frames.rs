//! What parent and child say to each other, in both directions: blocking and not, both readers must agree on every byte that arrives.

use std::fmt::Debug;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use quorate_fdb_client::protocol::{self, FromChild, REPLY_LIMIT, REQUEST_LIMIT, ToChild};
use serde::{Serialize, de::DeserializeOwned};

pub fn check(bytes: &[u8]) {
    read_all::<ToChild>(bytes, REQUEST_LIMIT);
    read_all::<FromChild>(bytes, REPLY_LIMIT);
}

/// Reads frames until the end or the first that is none; each is written and read again as the same.
fn read_all<M: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8], limit: usize) {
    let (mut one, mut other) = (bytes, bytes);
    loop {
        let message = match (protocol::read::<M>(&mut one, limit), at_once(protocol::read_async::<M>(&mut other, limit))) {
            (Ok(Some(message)), Ok(Some(same))) => {
                assert_eq!(message, same);
                message
            }
            (Ok(None), Ok(None)) => return,
            (Err(one), Err(other)) => {
                assert_eq!(one.to_string(), other.to_string());
                return;
            }
            (one, other) => panic!("{one:?} and {other:?}"),
        };
        assert_eq!(one, other, "both have read as far");
        let frame = protocol::encode(&message, limit).expect("what fitted once fits again");
        assert_eq!(protocol::read::<M>(&mut frame.as_slice(), limit).ok().flatten(), Some(message));
    }
}

fn at_once<T>(reading: impl Future<Output = T>) -> T {
    match pin!(reading).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(read) => read,
        Poll::Pending => panic!("bytes that are all there are never waited for"),
    }
}

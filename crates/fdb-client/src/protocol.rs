//! What parent and child say to each other over the child's standard input and output: frames of a length (four bytes, big endian) and
//! a message in postcard. The child begins with [`FromChild::Hello`], or [`FromChild::Unusable`] and its end.
//!
//! Nothing that arrives may break the one who reads it: a frame longer than its limit, one that is cut off and one that makes no sense
//! are errors, and memory grows with the bytes that arrived, never with what a length claims.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::contract::{Answer, Call, Failure, Target};

/// Changes with every change of the messages. Parent and child are the same executable, except while it is being replaced.
pub const VERSION: u32 = 1;

/// The longest request that is sent: a transaction of FoundationDB is at most 10 MB, and ours are far smaller.
pub const REQUEST_LIMIT: usize = 4 << 20;

/// The longest reply that is read: a status document of a large cluster is some MB.
pub const REPLY_LIMIT: usize = 64 << 20;

/// From the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToChild {
    /// A call.
    Request(Box<Request>),
    /// Nobody waits for this reply any more.
    Cancel {
        /// Of the request.
        id: u64,
    },
    /// This cluster is not asked about here any more: its database is to be closed.
    Close {
        /// As in [`Target::cluster`].
        cluster: String,
    },
    /// Are you there?
    Ping {
        /// Counts up.
        id: u64,
    },
}

/// A call of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Names it in the reply.
    pub id: u64,
    /// Of which database.
    pub target: Target,
    /// What is asked.
    pub call: Call,
    /// Until when an answer is of use.
    pub deadline_ms: u64,
}

/// From the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromChild {
    /// First of all.
    Hello {
        /// [`VERSION`].
        protocol: u32,
        /// The client library's, such as `7.3.63`.
        library: String,
    },
    /// The client library can't be used, and the child ends.
    Unusable {
        /// Why.
        reason: String,
    },
    /// To a request.
    Reply {
        /// Of the request.
        id: u64,
        /// What came of it.
        result: Result<Answer, Failure>,
    },
    /// To a ping, from the child's own loop.
    Pong {
        /// Of the ping.
        id: u64,
    },
    /// To a ping, after the client library's network thread has been heard of.
    NetworkPong {
        /// Of the ping.
        id: u64,
    },
}

/// What is wrong with a frame.
#[derive(Debug, Error)]
pub enum FrameError {
    /// Longer than may be.
    #[error("a frame of {length} bytes, of which {limit} are allowed")]
    TooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The end came in the middle of a frame.
    #[error("the end came in the middle of a frame")]
    Truncated,
    /// Not a message.
    #[error("a frame that is no message: {0}")]
    Garbage(postcard::Error),
    /// The pipe failed.
    #[error("the pipe failed: {0}")]
    Pipe(io::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Truncated } else { Self::Pipe(error) }
    }
}

/// A message as a frame.
pub fn encode<M: Serialize>(message: &M, limit: usize) -> Result<Vec<u8>, FrameError> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(FrameError::Garbage)?;
    let length = frame.len() - 4;
    let claimed = u32::try_from(length).ok().filter(|_| length <= limit).ok_or(FrameError::TooLong { length, limit })?;
    frame[..4].copy_from_slice(&claimed.to_be_bytes());
    Ok(frame)
}

/// A message from the body of a frame, all of it.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, FrameError> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        Ok(_) => Err(FrameError::Garbage(postcard::Error::SerdeDeCustom)),
        Err(error) => Err(FrameError::Garbage(error)),
    }
}

fn claimed(length: [u8; 4], limit: usize) -> Result<usize, FrameError> {
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > limit { Err(FrameError::TooLong { length, limit }) } else { Ok(length) }
}

/// Reads one message; none at a proper end.
pub fn read<M: DeserializeOwned>(input: &mut impl Read, limit: usize) -> Result<Option<M>, FrameError> {
    let mut length = [0; 4];
    if input.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[1..])?;
    let length = claimed(length, limit)?;
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length { Err(FrameError::Truncated) } else { decode(&body).map(Some) }
}

/// The same from something that is read without blocking.
pub async fn read_async<M: DeserializeOwned>(
    input: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<Option<M>, FrameError> {
    let mut length = [0; 4];
    if input.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[1..]).await?;
    let length = claimed(length, limit)?;
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length { Err(FrameError::Truncated) } else { decode(&body).map(Some) }
}

/// Writes one message.
pub fn write<M: Serialize>(output: &mut impl Write, message: &M, limit: usize) -> Result<(), FrameError> {
    output.write_all(&encode(message, limit)?)?;
    output.flush()?;
    Ok(())
}

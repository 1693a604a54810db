//! A C future as a Rust one. The callback runs on the library's network thread, so it does nothing but send a word.

use std::ffi::{c_int, c_void};
use std::{ptr, slice};

use futures::channel::oneshot;

use crate::error::Error;
use crate::symbols::{CFuture, CKeyValue, Symbols};
use crate::transaction::KeyValue;

/// A future of the C library; dropped before it is ready, it is cancelled.
pub(crate) struct Pending {
    symbols: &'static Symbols,
    future: *mut CFuture,
}

// SAFETY: the C library's functions on futures may be called from any thread.
unsafe impl Send for Pending {}
// SAFETY: as above.
unsafe impl Sync for Pending {}

impl Drop for Pending {
    fn drop(&mut self) {
        // SAFETY: the pointer came from the library and is given back once, here. A callback that still comes touches only what it owns.
        unsafe {
            (self.symbols.fdb_future_cancel)(self.future);
            (self.symbols.fdb_future_destroy)(self.future);
        }
    }
}

extern "C" fn wake(_: *mut CFuture, word: *mut c_void) {
    // SAFETY: the pointer is the box that `ready` gave away for exactly one call.
    let word = unsafe { Box::from_raw(word.cast::<oneshot::Sender<()>>()) };
    // Nobody listens any more when the future was dropped.
    let _ = word.send(());
}

impl Pending {
    /// Takes a future that a function of the library has just returned.
    pub(crate) fn new(symbols: &'static Symbols, future: *mut CFuture) -> Self {
        Self { symbols, future }
    }

    fn check(&self, code: c_int) -> Result<(), Error> {
        Error::check(self.symbols, code)
    }

    /// Waits until it is ready.
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        let heard = {
            let (word, heard) = oneshot::channel::<()>();
            let word = Box::into_raw(Box::new(word)).cast::<c_void>();
            // SAFETY: the future is alive, and `wake` takes the box that it is called with.
            // When this fails the box is left alone: a leak of some bytes is better than freeing what may still be called.
            self.check(unsafe { (self.symbols.fdb_future_set_callback)(self.future, wake, word) })?;
            heard
        };
        // An error here would mean that the library dropped its callback; then the future's own error says what is wrong.
        let _ = heard.await;
        // SAFETY: the future is alive.
        self.check(unsafe { (self.symbols.fdb_future_get_error)(self.future) })
    }

    pub(crate) async fn int64(self) -> Result<i64, Error> {
        self.ready().await?;
        let mut number = 0;
        // SAFETY: the future is ready, and the pointer is to a number of ours.
        self.check(unsafe { (self.symbols.fdb_future_get_int64)(self.future, &raw mut number) })?;
        Ok(number)
    }

    pub(crate) async fn uint64(self) -> Result<u64, Error> {
        self.ready().await?;
        let mut number = 0;
        // SAFETY: as in `int64`.
        self.check(unsafe { (self.symbols.fdb_future_get_uint64)(self.future, &raw mut number) })?;
        Ok(number)
    }

    pub(crate) async fn value(self) -> Result<Option<Vec<u8>>, Error> {
        self.ready().await?;
        let (mut present, mut bytes, mut length) = (0, ptr::null(), 0);
        // SAFETY: the future is ready, and the pointers are to variables of ours.
        let code = unsafe { (self.symbols.fdb_future_get_value)(self.future, &raw mut present, &raw mut bytes, &raw mut length) };
        self.check(code)?;
        // SAFETY: the library says that so many bytes are there, and keeps them as long as the future lives.
        Ok((present != 0).then(|| unsafe { copy(bytes, length) }))
    }

    /// One page of rows, and whether more may follow.
    pub(crate) async fn rows(self) -> Result<(Vec<KeyValue>, bool), Error> {
        self.ready().await?;
        let (mut rows, mut count, mut more) = (ptr::null::<CKeyValue>(), 0, 0);
        // SAFETY: the future is ready, and the pointers are to variables of ours.
        let code =
            unsafe { (self.symbols.fdb_future_get_keyvalue_array)(self.future, &raw mut rows, &raw mut count, &raw mut more) };
        self.check(code)?;
        let mut page = Vec::new();
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: there are `count` rows; they are packed to four bytes, so each is read without regard to alignment.
            let row = unsafe { rows.add(index).read_unaligned() };
            // SAFETY: as in `value`.
            page.push(unsafe { KeyValue { key: copy(row.key, row.key_length), value: copy(row.value, row.value_length) } });
        }
        Ok((page, more != 0))
    }
}

/// Copies bytes that the library owns.
///
/// # Safety
/// `length` bytes must be readable at `bytes`, unless it is 0.
unsafe fn copy(bytes: *const u8, length: c_int) -> Vec<u8> {
    match usize::try_from(length) {
        Ok(length) if length > 0 && !bytes.is_null() => {
            // SAFETY: the caller promises it.
            unsafe { slice::from_raw_parts(bytes, length) }.to_vec()
        }
        _ => Vec::new(),
    }
}

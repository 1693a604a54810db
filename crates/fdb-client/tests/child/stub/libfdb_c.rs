//! A libfdb_c without FoundationDB: rows in memory, callbacks from a thread of its own as the real one has, and errors on demand. It is
//! compiled by the test, with `rustc` alone, and loaded as the real one is.
//!
//! What goes wrong is in the names: of the database (the description in its connection string) and of the keys that are written.
//! With `--cfg v71` it is a library of 7.1, which opens files only; with `--cfg ancient`, one that is too old.
#![crate_type = "cdylib"]
#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
type Callback = extern "C" fn(*mut Future, *mut c_void);

/// A server answers with a flag in front that the library's own version string does not have.
const OURS: u64 = 0x1fdb_00b0_7300_0000;
const FOREIGN: u64 = 0x1fdb_00b0_7101_0000;

static STORES: Mutex<BTreeMap<String, Rows>> = Mutex::new(BTreeMap::new());
static SEEN: Mutex<BTreeMap<Vec<u8>, u32>> = Mutex::new(BTreeMap::new());
static CANCELLED: AtomicI64 = AtomicI64::new(0);
static NETWORK: OnceLock<Sender<Option<(Callback, usize, usize)>>> = OnceLock::new();

pub struct Database {
    name: String,
}

pub struct Transaction {
    name: String,
    writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    creates: bool,
    message: Vec<u8>,
}

enum Value {
    Never,
    Error(c_int),
    Number(i64),
    Bytes(Option<Vec<u8>>),
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
}

pub struct Future {
    value: Value,
    waiting: Option<(Callback, usize)>,
    packed: Vec<Packed>,
}

#[repr(C, packed(4))]
pub struct Packed {
    key: *const u8,
    key_length: c_int,
    value: *const u8,
    value_length: c_int,
}

fn future(value: Value) -> *mut Future {
    Box::into_raw(Box::new(Future { value, waiting: None, packed: Vec::new() }))
}

unsafe fn bytes(pointer: *const u8, length: c_int) -> Vec<u8> {
    if length == 0 { Vec::new() } else { unsafe { std::slice::from_raw_parts(pointer, length as usize) }.to_vec() }
}

fn hangs(name: &str, value: Value) -> *mut Future {
    future(if name == "hangs" { Value::Never } else { value })
}

#[unsafe(no_mangle)]
pub extern "C" fn fdb_get_error(code: c_int) -> *const c_char {
    CString::new(format!("stub error {code}")).unwrap().into_raw()
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_error_predicate(predicate: c_int, code: c_int) -> c_int {
    let list: &[c_int] = if predicate == 50001 { &[1021, 1039] } else { &[1007, 1020, 1021, 1037, 1038, 1039] };
    c_int::from(list.contains(&code))
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_get_max_api_version() -> c_int {
    if cfg!(ancient) {
        630
    } else if cfg!(v71) {
        710
    } else {
        740
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_get_client_version() -> *const c_char {
    let text: &CStr = if cfg!(v71) { c"7.1.57,abc,fdb00b071010000" } else { c"7.3.63,abc,fdb00b073000000" };
    text.as_ptr()
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_select_api_version_impl(version: c_int, header: c_int) -> c_int {
    println!("a word on standard output, where only frames may be");
    if version == header && version <= fdb_get_max_api_version() { 0 } else { 2203 }
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_network_set_option(_: c_int, _: *const u8, _: c_int) -> c_int {
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_setup_network() -> c_int {
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_run_network() -> c_int {
    let (sender, calls) = channel();
    NETWORK.set(sender).unwrap();
    while let Ok(Some((callback, future, parameter))) = calls.recv() {
        callback(future as *mut Future, parameter as *mut c_void);
    }
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_stop_network() -> c_int {
    NETWORK.wait().send(None).unwrap();
    0
}

fn open(text: &str, out: *mut *mut Database) -> c_int {
    let name = text.split(':').next().unwrap().to_owned();
    STORES.lock().unwrap().entry(name.clone()).or_default();
    unsafe { *out = Box::into_raw(Box::new(Database { name })) };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_create_database(path: *const c_char, out: *mut *mut Database) -> c_int {
    let path = unsafe { CStr::from_ptr(path) }.to_str().unwrap();
    open(&std::fs::read_to_string(path).unwrap(), out)
}
#[cfg(not(v71))]
#[unsafe(no_mangle)]
pub extern "C" fn fdb_create_database_from_connection_string(text: *const c_char, out: *mut *mut Database) -> c_int {
    open(unsafe { CStr::from_ptr(text) }.to_str().unwrap(), out)
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_database_destroy(database: *mut Database) {
    drop(unsafe { Box::from_raw(database) });
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_database_create_transaction(database: *mut Database, out: *mut *mut Transaction) -> c_int {
    let name = unsafe { &*database }.name.clone();
    let transaction = Transaction { name, writes: Vec::new(), creates: false, message: Vec::new() };
    unsafe { *out = Box::into_raw(Box::new(transaction)) };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_database_reboot_worker(
    database: *mut Database,
    addresses: *const u8,
    length: c_int,
    _: c_int,
    _: c_int,
) -> *mut Future {
    let known = !unsafe { bytes(addresses, length) }.ends_with(b":1");
    hangs(&unsafe { &*database }.name, Value::Number(i64::from(known)))
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_database_get_server_protocol(database: *mut Database, expected: u64) -> *mut Future {
    let theirs = if unsafe { &*database }.name == "foreign" { FOREIGN } else { OURS };
    let theirs = if cfg!(v71) { FOREIGN } else { theirs };
    future(if theirs == expected { Value::Never } else { Value::Number(theirs as i64) })
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_destroy(transaction: *mut Transaction) {
    drop(unsafe { Box::from_raw(transaction) });
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_set_option(transaction: *mut Transaction, option: c_int, _: *const u8, _: c_int) -> c_int {
    if option == 300 {
        unsafe { &mut *transaction }.creates = true;
    }
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_get_read_version(transaction: *mut Transaction) -> *mut Future {
    hangs(&unsafe { &*transaction }.name, Value::Number(7))
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_get(transaction: *mut Transaction, key: *const u8, length: c_int, _: c_int) -> *mut Future {
    let transaction = unsafe { &*transaction };
    let key = unsafe { bytes(key, length) };
    if key == b"\xff\xff/status/json" {
        if transaction.name == "crashes" {
            std::process::abort();
        }
        let status = format!(r#"{{"cancelled":{}}}"#, CANCELLED.load(Ordering::SeqCst));
        return future(Value::Bytes(Some(status.into_bytes())));
    }
    if key == b"\xff\xff/error_message" {
        return future(Value::Bytes(Some(transaction.message.clone())));
    }
    let value = STORES.lock().unwrap()[&transaction.name].get(&key).cloned();
    hangs(&transaction.name, Value::Bytes(value))
}
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub extern "C" fn fdb_transaction_get_range(
    transaction: *mut Transaction,
    begin: *const u8,
    begin_length: c_int,
    _: c_int,
    _: c_int,
    end: *const u8,
    end_length: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
    _: c_int,
) -> *mut Future {
    let (begin, end) = unsafe { (bytes(begin, begin_length), bytes(end, end_length)) };
    let name = &unsafe { &*transaction }.name;
    let rows = STORES.lock().unwrap()[name].range(begin..end).map(|(key, value)| (key.clone(), value.clone())).collect();
    hangs(name, Value::Rows(rows))
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_set(
    transaction: *mut Transaction,
    key: *const u8,
    key_length: c_int,
    value: *const u8,
    length: c_int,
) {
    let write = unsafe { (bytes(key, key_length), Some(bytes(value, length))) };
    unsafe { &mut *transaction }.writes.push(write);
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_clear(transaction: *mut Transaction, key: *const u8, length: c_int) {
    let key = unsafe { bytes(key, length) };
    unsafe { &mut *transaction }.writes.push((key, None));
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_clear_range(
    transaction: *mut Transaction,
    begin: *const u8,
    begin_length: c_int,
    end: *const u8,
    length: c_int,
) {
    let (begin, end) = unsafe { (bytes(begin, begin_length), bytes(end, length)) };
    let transaction = unsafe { &mut *transaction };
    let keys: Vec<_> = STORES.lock().unwrap()[&transaction.name].range(begin..end).map(|(key, _)| key.clone()).collect();
    transaction.writes.extend(keys.into_iter().map(|key| (key, None)));
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_add_conflict_range(
    _: *mut Transaction,
    _: *const u8,
    _: c_int,
    _: *const u8,
    _: c_int,
    _: c_int,
) -> c_int {
    0
}

fn apply(rows: &mut Rows, writes: &[(Vec<u8>, Option<Vec<u8>>)]) {
    for (key, value) in writes {
        let stored = |special: &[u8], folder: &[u8]| key.strip_prefix(special).map(|rest| [folder, rest].concat());
        let key = stored(b"\xff\xff/management/excluded/", b"\xff/conf/excluded/").unwrap_or_else(|| key.clone());
        match value {
            Some(value) => rows.insert(key, value.clone()),
            None => rows.remove(&key),
        };
    }
}

/// How a commit ends: by the names of the keys it writes.
fn end(transaction: &mut Transaction) -> Value {
    let mut stores = STORES.lock().unwrap();
    let rows = stores.get_mut(&transaction.name).unwrap();
    let writes = transaction.writes.clone();
    let first_time = |key: &[u8]| {
        let mut seen = SEEN.lock().unwrap();
        let times = seen.entry(key.to_vec()).or_insert(0);
        *times += 1;
        *times == 1
    };
    if transaction.creates {
        if rows.contains_key(&b"\xff/init_id"[..]) {
            return Value::Error(1020);
        }
        apply(rows, &writes);
        return Value::Error(1021);
    }
    for (key, value) in &writes {
        let refuse = |transaction: &mut Transaction, text: &str| {
            transaction.message = text.as_bytes().to_vec();
            Value::Error(2117)
        };
        if key == b"\xff\xff/configuration/coordinators/processes" {
            let wanted = [b"sample:new@", value.as_deref().unwrap()].concat();
            if rows.get(&b"\xff/coordinators"[..]) == Some(&wanted) {
                return refuse(transaction, r#"{"retriable":false,"command":"coordinators","message":"No change"}"#);
            }
            rows.insert(b"\xff/coordinators".to_vec(), wanted);
            return Value::Error(1021);
        }
        if key == b"\xff\xff/management/excluded/10.9.9.9" {
            return refuse(transaction, r#"{"retriable":true,"command":"exclude","message":"not now\n"}"#);
        }
        match key.rsplit(|byte| *byte == b'/').next().unwrap() {
            b"unknown-done" => {
                apply(rows, &writes);
                return Value::Error(1021);
            }
            b"unknown-lost" if first_time(key) => return Value::Error(1021),
            b"unknown-half" => {
                apply(rows, &writes[..1]);
                return Value::Error(1021);
            }
            b"unknown-then-taken" if first_time(key) => {
                rows.insert(writes[0].0.clone(), b"somebody else".to_vec());
                return Value::Error(1021);
            }
            b"again" if first_time(key) => return Value::Error(1037),
            b"conflict" => return Value::Error(1020),
            b"locked" => return Value::Error(1038),
            b"too-large" => return Value::Error(2101),
            b"timed-out" => return Value::Error(1031),
            _ => {}
        }
    }
    apply(rows, &writes);
    Value::Number(0)
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_commit(transaction: *mut Transaction) -> *mut Future {
    let transaction = unsafe { &mut *transaction };
    if transaction.name == "hangs" { future(Value::Never) } else { future(end(transaction)) }
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_on_error(transaction: *mut Transaction, code: c_int) -> *mut Future {
    unsafe { &mut *transaction }.writes.clear();
    future(if fdb_error_predicate(50000, code) != 0 { Value::Number(0) } else { Value::Error(code) })
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_transaction_get_approximate_size(transaction: *mut Transaction) -> *mut Future {
    future(if unsafe { &*transaction }.name == "deaf" { Value::Never } else { Value::Number(0) })
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_cancel(future: *mut Future) {
    let pending = unsafe { &mut *future };
    if matches!(pending.value, Value::Never) {
        CANCELLED.fetch_add(1, Ordering::SeqCst);
        pending.value = Value::Error(1101);
        if let Some((callback, parameter)) = pending.waiting.take() {
            NETWORK.wait().send(Some((callback, future as usize, parameter))).unwrap();
        }
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_destroy(future: *mut Future) {
    drop(unsafe { Box::from_raw(future) });
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_set_callback(future: *mut Future, callback: Callback, parameter: *mut c_void) -> c_int {
    let pending = unsafe { &mut *future };
    if matches!(pending.value, Value::Never) {
        pending.waiting = Some((callback, parameter as usize));
    } else {
        NETWORK.wait().send(Some((callback, future as usize, parameter as usize))).unwrap();
    }
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_get_error(future: *mut Future) -> c_int {
    match unsafe { &*future }.value {
        Value::Error(code) => code,
        _ => 0,
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_get_int64(future: *mut Future, out: *mut i64) -> c_int {
    let Value::Number(number) = unsafe { &*future }.value else { return 2000 };
    unsafe { *out = number };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_get_uint64(future: *mut Future, out: *mut u64) -> c_int {
    let Value::Number(number) = unsafe { &*future }.value else { return 2000 };
    unsafe { *out = number as u64 };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_get_value(
    future: *mut Future,
    present: *mut c_int,
    out: *mut *const u8,
    length: *mut c_int,
) -> c_int {
    let Value::Bytes(value) = &unsafe { &*future }.value else { return 2000 };
    unsafe {
        *present = c_int::from(value.is_some());
        if let Some(value) = value {
            (*out, *length) = (value.as_ptr(), value.len() as c_int);
        }
    }
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn fdb_future_get_keyvalue_array(
    future: *mut Future,
    out: *mut *const Packed,
    count: *mut c_int,
    more: *mut c_int,
) -> c_int {
    let future = unsafe { &mut *future };
    let Value::Rows(rows) = &future.value else { return 2000 };
    let pack = |(key, value): &(Vec<u8>, Vec<u8>)| Packed {
        key: key.as_ptr(),
        key_length: key.len() as c_int,
        value: value.as_ptr(),
        value_length: value.len() as c_int,
    };
    future.packed = rows.iter().map(pack).collect();
    unsafe { (*out, *count, *more) = (future.packed.as_ptr(), rows.len() as c_int, 0) };
    0
}

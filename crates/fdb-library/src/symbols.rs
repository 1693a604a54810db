//! The functions of the C library that we call, with their C types.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

/// What the C library hands out; only ever behind a pointer.
#[repr(C)]
pub(crate) struct CFuture {
    _opaque: [u8; 0],
}

/// See [`CFuture`].
#[repr(C)]
pub(crate) struct CDatabase {
    _opaque: [u8; 0],
}

/// See [`CFuture`].
#[repr(C)]
pub(crate) struct CTransaction {
    _opaque: [u8; 0],
}

/// A row as the C library lays it out: its header packs structures to four bytes.
#[repr(C, packed(4))]
#[derive(Clone, Copy)]
pub(crate) struct CKeyValue {
    pub(crate) key: *const u8,
    pub(crate) key_length: c_int,
    pub(crate) value: *const u8,
    pub(crate) value_length: c_int,
}

pub(crate) type CCallback = extern "C" fn(*mut CFuture, *mut c_void);

macro_rules! symbols {
    (
        required { $( fn $name:ident($($type:ty),*) $(-> $result:ty)?; )* }
        optional { $( fn $newer:ident($($newer_type:ty),*) $(-> $newer_result:ty)?; )* }
    ) => {
        /// The functions, looked up once. What only newer libraries have may be missing.
        pub(crate) struct Symbols {
            $( pub(crate) $name: unsafe extern "C" fn($($type),*) $(-> $result)?, )*
            $( pub(crate) $newer: Option<unsafe extern "C" fn($($newer_type),*) $(-> $newer_result)?>, )*
        }

        impl Symbols {
            /// Loads a library for as long as the process lives: its threads could run at any time, so it is never unloaded.
            pub(crate) fn load(path: &Path) -> Result<&'static Self, libloading::Error> {
                // SAFETY: opening a library runs its initialisers; this is FoundationDB's client, chosen by whoever runs us.
                let library = Box::leak(Box::new(unsafe { libloading::Library::new(path)? }));
                Ok(Box::leak(Box::new(Self {
                    // SAFETY: the types are those of fdb_c.h, whose functions have kept them since API version 700.
                    $( $name: unsafe { *library.get(concat!(stringify!($name), "\0").as_bytes())? }, )*
                    // SAFETY: as above; these exist from some later version on.
                    $( $newer: unsafe { library.get(concat!(stringify!($newer), "\0").as_bytes()).ok().map(|symbol| *symbol) }, )*
                })))
            }
        }
    };
}

symbols! {
    required {
        fn fdb_get_error(c_int) -> *const c_char;
        fn fdb_error_predicate(c_int, c_int) -> c_int;
        fn fdb_get_max_api_version() -> c_int;
        fn fdb_get_client_version() -> *const c_char;
        fn fdb_select_api_version_impl(c_int, c_int) -> c_int;
        fn fdb_network_set_option(c_int, *const u8, c_int) -> c_int;
        fn fdb_setup_network() -> c_int;
        fn fdb_run_network() -> c_int;
        fn fdb_stop_network() -> c_int;
        fn fdb_create_database(*const c_char, *mut *mut CDatabase) -> c_int;
        fn fdb_database_destroy(*mut CDatabase);
        fn fdb_database_create_transaction(*mut CDatabase, *mut *mut CTransaction) -> c_int;
        fn fdb_database_reboot_worker(*mut CDatabase, *const u8, c_int, c_int, c_int) -> *mut CFuture;
        fn fdb_database_get_server_protocol(*mut CDatabase, u64) -> *mut CFuture;
        fn fdb_transaction_destroy(*mut CTransaction);
        fn fdb_transaction_set_option(*mut CTransaction, c_int, *const u8, c_int) -> c_int;
        fn fdb_transaction_get_read_version(*mut CTransaction) -> *mut CFuture;
        fn fdb_transaction_get(*mut CTransaction, *const u8, c_int, c_int) -> *mut CFuture;
        fn fdb_transaction_get_range(
            *mut CTransaction, *const u8, c_int, c_int, c_int, *const u8, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int
        ) -> *mut CFuture;
        fn fdb_transaction_set(*mut CTransaction, *const u8, c_int, *const u8, c_int);
        fn fdb_transaction_clear(*mut CTransaction, *const u8, c_int);
        fn fdb_transaction_clear_range(*mut CTransaction, *const u8, c_int, *const u8, c_int);
        fn fdb_transaction_add_conflict_range(*mut CTransaction, *const u8, c_int, *const u8, c_int, c_int) -> c_int;
        fn fdb_transaction_commit(*mut CTransaction) -> *mut CFuture;
        fn fdb_transaction_on_error(*mut CTransaction, c_int) -> *mut CFuture;
        fn fdb_transaction_get_approximate_size(*mut CTransaction) -> *mut CFuture;
        fn fdb_future_cancel(*mut CFuture);
        fn fdb_future_destroy(*mut CFuture);
        fn fdb_future_set_callback(*mut CFuture, CCallback, *mut c_void) -> c_int;
        fn fdb_future_get_error(*mut CFuture) -> c_int;
        fn fdb_future_get_int64(*mut CFuture, *mut i64) -> c_int;
        fn fdb_future_get_uint64(*mut CFuture, *mut u64) -> c_int;
        fn fdb_future_get_value(*mut CFuture, *mut c_int, *mut *const u8, *mut c_int) -> c_int;
        fn fdb_future_get_keyvalue_array(*mut CFuture, *mut *const CKeyValue, *mut c_int, *mut c_int) -> c_int;
    }
    optional {
        fn fdb_create_database_from_connection_string(*const c_char, *mut *mut CDatabase) -> c_int;
    }
}

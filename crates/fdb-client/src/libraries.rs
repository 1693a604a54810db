//! Which file is the client library for a version.
//!
//! A client speaks to servers of its own major and minor version; the patch does not matter, so the newest there is gets taken. These
//! names are looked for, as images and people lay them out: `libfdb_c_7.3.63.so`, `libfdb_c_7.3.so`, `7.3.63/libfdb_c.so`,
//! `7.3/libfdb_c.so`, and at last `libfdb_c.so`, which may be of any version: whoever loads it finds out.

use std::path::{Path, PathBuf};

use crate::contract::Failure;

const PLAIN: &str = "libfdb_c.so";

/// Major, minor and, where it is known, patch.
type Version = (u32, u32, Option<u32>);

fn version(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(|number| {
        Some(number).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit())).and_then(|number| number.parse().ok())
    });
    let (major, minor) = (numbers.next()??, numbers.next()??);
    let patch = match numbers.next() {
        Some(patch) => Some(patch?),
        None => None,
    };
    numbers.next().is_none().then_some((major, minor, patch))
}

/// The version that a file's path below the library folder claims.
fn claimed(file: &Path) -> Option<Version> {
    let name = file.file_name()?.to_str()?;
    match file.parent().and_then(Path::to_str) {
        None | Some("") => version(name.strip_prefix("libfdb_c_")?.strip_suffix(".so")?),
        Some(folder) if name == PLAIN => version(folder),
        Some(_) => None,
    }
}

/// The best of these files (paths below the library folder) for servers of a version.
///
/// The newest patch wins; a name with a patch wins over one without, whose patch is unknown. `libfdb_c.so` is the last resort.
pub fn choose<'a>(files: &'a [PathBuf], wanted: &str) -> Option<&'a Path> {
    let (major, minor, _) = version(wanted)?;
    let fitting = files.iter().filter_map(|file| Some((claimed(file)?, file)));
    let newest = fitting
        .filter(|((its_major, its_minor, _), _)| (*its_major, *its_minor) == (major, minor))
        .max_by(|(one, file), (next, other)| one.2.cmp(&next.2).then_with(|| other.cmp(file)));
    newest.map(|(_, file)| file).or_else(|| files.iter().find(|file| file.as_path() == Path::new(PLAIN))).map(PathBuf::as_path)
}

/// Finds the library for a version in a folder.
pub fn find(folder: &Path, wanted: &str) -> Result<PathBuf, Failure> {
    let files = list(folder);
    choose(&files, wanted).map(|file| folder.join(file)).ok_or_else(|| missing(folder, wanted))
}

/// Says which file would do.
pub fn missing(folder: &Path, wanted: &str) -> Failure {
    let name = match version(wanted) {
        Some((major, minor, _)) => format!("libfdb_c_{major}.{minor}.so"),
        None => PLAIN.to_owned(),
    };
    Failure::NoLibrary { version: wanted.to_owned(), looked_for: folder.join(name).display().to_string() }
}

/// Whether a client of one version can speak to servers of another.
pub fn compatible(library: &str, server: &str) -> bool {
    match (version(library), version(server)) {
        (Some(library), Some(server)) => (library.0, library.1) == (server.0, server.1),
        _ => false,
    }
}

/// The files of a folder and of the folders in it, by their paths below it, sorted. What can't be read is not there.
fn list(folder: &Path) -> Vec<PathBuf> {
    let names = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| PathBuf::from(entry.file_name())).collect()
    };
    let mut files = Vec::new();
    for name in names(folder) {
        if folder.join(&name).is_dir() {
            files.extend(names(&folder.join(&name)).into_iter().map(|file| name.join(file)));
        } else {
            files.push(name);
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(files: &[&str], wanted: &str) -> Option<String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        choose(&files, wanted).map(|file| file.display().to_string())
    }

    #[test]
    fn the_newest_patch_of_the_same_minor_version() {
        let files = ["libfdb_c_7.1.57.so", "libfdb_c_7.3.9.so", "libfdb_c_7.3.63.so", "libfdb_c_7.4.1.so", "libfdb_c.so"];
        assert_eq!(chosen(&files, "7.3.27").as_deref(), Some("libfdb_c_7.3.63.so"));
        assert_eq!(chosen(&files, "7.1.25").as_deref(), Some("libfdb_c_7.1.57.so"));
        assert_eq!(chosen(&files, "7.4.1").as_deref(), Some("libfdb_c_7.4.1.so"));
    }

    #[test]
    fn every_layout_is_found() {
        for file in ["libfdb_c_7.3.63.so", "libfdb_c_7.3.so", "7.3/libfdb_c.so", "7.3.63/libfdb_c.so", "libfdb_c.so"] {
            assert_eq!(chosen(&[file], "7.3.63").as_deref(), Some(file));
        }
    }

    #[test]
    fn a_known_patch_is_better_than_an_unknown_one_and_any_better_than_a_name_without_version() {
        assert_eq!(
            chosen(&["7.3/libfdb_c.so", "libfdb_c.so", "libfdb_c_7.3.1.so"], "7.3.63").as_deref(),
            Some("libfdb_c_7.3.1.so")
        );
        assert_eq!(chosen(&["libfdb_c.so", "7.3/libfdb_c.so"], "7.3.63").as_deref(), Some("7.3/libfdb_c.so"));
    }

    #[test]
    fn another_version_will_not_do_and_nonsense_is_passed_over() {
        assert_eq!(chosen(&["libfdb_c_7.1.57.so", "libfdb_java_7.3.so", "libfdb_c_7.3.63.so.bak", "7.3/x.so"], "7.3.63"), None);
        assert_eq!(chosen(&["libfdb_c_7.3.so", "libfdb_c_7.3.so.1.so", "libfdb_c_7.so", "libfdb_c_7.3.+1.so"], "latest"), None);
        assert!(compatible("7.3.63", "7.3.27") && !compatible("7.1.57", "7.3.27") && !compatible("", ""));
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let Err(Failure::NoLibrary { version, looked_for }) = find(folder.path(), "7.3.63") else { panic!("found something") };
        assert_eq!(version, "7.3.63");
        assert!(looked_for.ends_with("/libfdb_c_7.3.so"), "{looked_for}");
        std::fs::create_dir(folder.path().join("7.3")).unwrap();
        std::fs::write(folder.path().join("7.3/libfdb_c.so"), "").unwrap();
        assert_eq!(find(folder.path(), "7.3.63"), Ok(folder.path().join("7.3/libfdb_c.so")));
    }
}

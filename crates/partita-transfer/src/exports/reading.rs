//! An export that is read: ours, or Amazon's.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use md5::{Digest as _, Md5};
use partita_core::Item;
use serde::Deserialize;

use super::manifest::{DataFile, Summary};
use super::{ExportError, FOLDER, checksum, checksum_of};

/// The manifest that is written last.
const SUMMARY: &str = "manifest-summary.json";
/// Bytes of a manifest: what the files of the largest exports take, a few hundred bytes each.
const MANIFEST_BYTES_MAX: u64 = 64 * 1_048_576;
/// Bytes of an item as text: 400 KB as DynamoDB counts, each byte as an escape of six.
const LINE_BYTES_MAX: u64 = 4 * 1_048_576;
/// Items that are handed on at a time, at most.
const RUN_ITEMS: usize = 1_000;
/// Bytes of their lines, at most but for the last one.
const RUN_BYTES: usize = 4 * 1_048_576;
/// Empty lines of a file that are passed over.
const EMPTY_LINES_MAX: u64 = 1_000;

/// An export whose manifests have been read.
#[derive(Clone, Debug)]
pub struct Export {
    folder: PathBuf,
    /// What it says of itself.
    pub summary: Summary,
    files: Vec<DataFile>,
}

/// The exports in a folder: the one that it is, or all that are below its `AWSDynamoDB`, the oldest
/// first. Where names are given, those whose folders' names begin with one of them; what is not
/// named is not read. One that was begun and not ended is an error.
pub fn find(path: &Path, named: &[String]) -> Result<Vec<Export>, ExportError> {
    let is_export = |path: &Path| path.join(SUMMARY).is_file();
    if is_export(path) {
        return Ok(vec![Export::open(path)?]);
    }
    let below = path.join(FOLDER);
    let parent = if below.is_dir() {
        below
    } else {
        path.to_owned()
    };
    let entries = fs::read_dir(&parent).map_err(ExportError::file(&parent))?;
    let mut folders = Vec::new();
    for entry in entries {
        let folder = entry.map_err(ExportError::file(&parent))?.path();
        let is_named = |name: &String| file_name(&folder).starts_with(name.as_str());
        if !named.is_empty() && !named.iter().any(is_named) {
            continue;
        }
        if is_export(&folder) {
            folders.push(folder);
        } else if folder.join("_started").is_file() {
            return Err(ExportError::Unfinished { path: folder });
        }
    }
    folders.sort();
    let is_missing = |name: &&String| {
        let mut folders = folders.iter();
        !folders.any(|folder| file_name(folder).starts_with(name.as_str()))
    };
    if let Some(name) = named.iter().find(is_missing) {
        return Err(ExportError::None {
            path: parent.join(name),
        });
    }
    if folders.is_empty() {
        return Err(ExportError::None {
            path: path.to_owned(),
        });
    }
    folders.iter().map(|folder| Export::open(folder)).collect()
}

/// The last part of a path.
fn file_name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

impl Export {
    /// What its folder is called.
    pub fn name(&self) -> String {
        file_name(&self.folder).into_owned()
    }

    fn open(folder: &Path) -> Result<Export, ExportError> {
        let (path, bytes) = read_summed(folder, "manifest-summary")?;
        let summary: Summary = serde_json::from_slice(&bytes)
            .map_err(|error| ExportError::damaged(&path, error.to_string()))?;
        let other = |message: String| ExportError::OtherKind {
            path: folder.to_owned(),
            message,
        };
        if summary.output_format != "DYNAMODB_JSON" {
            let format = &summary.output_format;
            return Err(other(format!(
                "its items are in {format}, not in DYNAMODB_JSON"
            )));
        }
        let kind = summary.export_type.as_deref().unwrap_or("FULL_EXPORT");
        if kind != "FULL_EXPORT" {
            return Err(other(format!("it is a {kind}, which has changes only")));
        }
        let (path, bytes) = read_summed(folder, "manifest-files")?;
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.trim_ascii().is_empty());
        let files: Result<Vec<DataFile>, _> = lines.map(serde_json::from_slice).collect();
        let files = files.map_err(|error| ExportError::damaged(&path, error.to_string()))?;
        let counts = files.iter().map(|file| file.item_count);
        let items = counts.fold(0_u64, u64::saturating_add);
        if items != summary.item_count {
            let message = format!("its files have {items} items, not {}", summary.item_count);
            return Err(ExportError::damaged(&path, message));
        }
        Ok(Export {
            folder: folder.to_owned(),
            summary,
            files,
        })
    }

    /// Reads every data file and holds it against its checksum.
    pub fn check(&self) -> Result<(), ExportError> {
        for file in &self.files {
            let path = self.path(file)?;
            let opened = open_within(&self.folder, &path);
            let mut opened = opened.map_err(ExportError::file(&path))?;
            let mut digest = Md5::new();
            let mut bytes = vec![0; 65_536];
            loop {
                let read = opened.read(&mut bytes).map_err(ExportError::file(&path))?;
                if read == 0 {
                    break;
                }
                digest.update(&bytes[..read]);
            }
            if checksum(digest) != file.md5_checksum {
                let message = "it is not what the manifest says: its checksum differs";
                return Err(ExportError::damaged(&path, message));
            }
        }
        Ok(())
    }

    /// The items that fit, in runs, with the first error as the last element. What does not fit is
    /// such an error, with its file and its line.
    pub fn items(
        &self,
        fits: impl Fn(&Item) -> Result<(), String> + Send + 'static,
    ) -> impl Iterator<Item = Result<Vec<Item>, ExportError>> + Send + 'static {
        let export = self.clone();
        let mut files = 0;
        let mut lines: Option<Lines> = None;
        let mut is_over = false;
        std::iter::from_fn(move || {
            while !is_over {
                let run = match &mut lines {
                    Some(open) => open.run(&fits),
                    None => {
                        let file = export.files.get(files)?;
                        files += 1;
                        match export
                            .path(file)
                            .and_then(|path| Lines::open(&export.folder, path, file.item_count))
                        {
                            Ok(open) => {
                                lines = Some(open);
                                continue;
                            }
                            Err(error) => Err(error),
                        }
                    }
                };
                match run {
                    Ok(run) if run.is_empty() => lines = None,
                    Ok(run) => return Some(Ok(run)),
                    Err(error) => {
                        is_over = true;
                        return Some(Err(error));
                    }
                }
            }
            None
        })
    }

    /// Where a data file is. Manifests name it as it was in S3; here only its name counts.
    fn path(&self, file: &DataFile) -> Result<PathBuf, ExportError> {
        let name = file.name();
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
            let message = format!("`{name}` is no name of a data file");
            let manifest = self.folder.join("manifest-files.json");
            return Err(ExportError::damaged(&manifest, message));
        }
        Ok(self.folder.join("data").join(name))
    }
}

/// A line of a data file.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "Item")]
    item: Item,
}

/// The lines of a data file.
struct Lines {
    path: PathBuf,
    reader: BufReader<MultiGzDecoder<File>>,
    /// The line that was read last, from 1.
    number: u64,
    /// The items so far.
    count: u64,
    /// How many the manifest promises.
    items: u64,
}

impl Lines {
    fn open(folder: &Path, path: PathBuf, items: u64) -> Result<Lines, ExportError> {
        let file = open_within(folder, &path).map_err(ExportError::file(&path))?;
        Ok(Lines {
            path,
            reader: BufReader::new(MultiGzDecoder::new(file)),
            number: 0,
            count: 0,
            items,
        })
    }

    /// The next items; none at the end, where all that the manifest promises have come.
    fn run(
        &mut self,
        fits: &impl Fn(&Item) -> Result<(), String>,
    ) -> Result<Vec<Item>, ExportError> {
        let mut run = Vec::new();
        let mut line = Vec::new();
        let mut bytes = 0;
        while run.len() < RUN_ITEMS && bytes < RUN_BYTES && self.next(&mut line)? {
            bytes += line.len();
            let item = self.item(&line)?;
            fits(&item).map_err(|reason| self.damaged(&format!("is not stored: {reason}")))?;
            run.push(item);
        }
        if run.is_empty() && self.count != self.items {
            return Err(self.miscounted());
        }
        Ok(run)
    }

    /// Reads the next line that is not empty; false at the end.
    fn next(&mut self, line: &mut Vec<u8>) -> Result<bool, ExportError> {
        loop {
            line.clear();
            let mut bounded = self.reader.by_ref().take(LINE_BYTES_MAX + 1);
            let read = bounded.read_until(b'\n', line);
            let read = read.map_err(ExportError::file(&self.path))?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            if read as u64 > LINE_BYTES_MAX {
                return Err(self.damaged("is longer than an item can be"));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(true);
            }
            // A small file can be compressed from lines without end.
            if self.number - self.count > EMPTY_LINES_MAX {
                return Err(self.damaged("is one of too many that are empty"));
            }
        }
    }

    fn item(&mut self, line: &[u8]) -> Result<Item, ExportError> {
        let parsed = serde_json::from_slice::<Line>(line);
        let parsed = parsed.map_err(|error| self.damaged(&format!("is no item: {error}")))?;
        self.count += 1;
        if self.count > self.items {
            return Err(self.damaged(&format!(
                "is one too many: the manifest says that there are {} items",
                self.items
            )));
        }
        Ok(parsed.item)
    }

    fn damaged(&self, what: &str) -> ExportError {
        let message = format!("line {} {what}", self.number);
        ExportError::damaged(&self.path, message)
    }

    fn miscounted(&self) -> ExportError {
        let message = format!("it has {} items, not {}", self.count, self.items);
        ExportError::damaged(&self.path, message)
    }
}

/// Reads a manifest, and holds it against its checksum where there is one. Exports of some years end
/// its name in `md5`.
fn read_summed(folder: &Path, name: &str) -> Result<(PathBuf, Vec<u8>), ExportError> {
    let path = folder.join(format!("{name}.json"));
    let bytes = read_bounded(folder, &path).map_err(ExportError::file(&path))?;
    for ending in ["checksum", "md5"] {
        let sum = folder.join(format!("{name}.{ending}"));
        match read_bounded(folder, &sum) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ExportError::file(&sum)(error)),
            Ok(sum) if sum.trim_ascii() == checksum_of(&bytes).as_bytes() => {}
            Ok(_) => {
                let message = format!("its checksum is not that of {name}.{ending}");
                return Err(ExportError::damaged(&path, message));
            }
        }
    }
    Ok((path, bytes))
}

/// Opens a file of an export. A pipe would keep its reader for good, and a link could lead to what
/// its reader may read and the maker of the export may not.
fn open_within(folder: &Path, path: &Path) -> io::Result<File> {
    let (folder, path) = (folder.canonicalize()?, path.canonicalize()?);
    if !path.starts_with(&folder) {
        let message = format!("it is a link out of the export, to {}", path.display());
        return Err(io::Error::other(message));
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // It may be another file by now.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(&path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    Ok(file)
}

fn read_bounded(folder: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut bounded = open_within(folder, path)?.take(MANIFEST_BYTES_MAX + 1);
    bounded.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MANIFEST_BYTES_MAX {
        return Err(io::Error::other("it is too large for a manifest"));
    }
    Ok(bytes)
}

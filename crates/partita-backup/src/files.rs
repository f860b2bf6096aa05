//! The files of buckets that are directories, beside the commits of the items that name them.
//!
//! A file is in its place before the commit of the item that names it, and its bytes do not change
//! there; it goes after the last commit that names it. So before a segment is shipped, the
//! directory is looked at, and what is new in it is shipped first. A *placing* says which files
//! came and went, from which commit on; all placings up to a commit give the files there may be at
//! that commit. The store itself says which of them its items name. Now and then a *whole* placing
//! has all files that there are, so that neither a server that starts nor a restore reads those
//! before it.
//!
//! The bytes are under the number of the placing that they came with and their SHA-256, in parts. A
//! file that two places have at the same time is shipped once; one that comes back is shipped again,
//! because retention may be about to remove what was shipped before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use partita_engine::{Commit, Edit};
use partita_store::Entropy;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::catalog::{Chain, ChainObjects};
use crate::error::BackupError;
use crate::names;
use crate::sealing::hex;
use crate::target::{Target, put_once};

/// Bytes of one part of a file.
const PART_BYTES: usize = 8 * 1_048_576;

/// Files of one placing, about; a server that starts again need not read those that are placed.
const PLACED_MAX: usize = 1_000;

/// Placings after which there is a whole one at least.
const WHOLE_EVERY: u64 = 1_000;

/// A directory with files, and the places in it that are not for good.
#[derive(Clone, Debug, Default)]
pub struct FileSource {
    /// The directory.
    pub root: PathBuf,
    /// Paths below it that are left out: uploads that no item has taken over.
    pub left_out: Vec<PathBuf>,
    /// What a key has in it that is written when a file comes or goes. The directory is not looked at
    /// for other commits.
    pub key_part: Vec<u8>,
}

impl FileSource {
    /// Whether a file may have come or gone with one of these commits.
    pub(crate) fn concerns(&self, commits: &[Commit]) -> bool {
        let part = &self.key_part;
        let has_part =
            |key: &[u8]| part.is_empty() || key.windows(part.len()).any(|one| one == part);
        commits.iter().flat_map(|commit| &commit.edits).any(|edit| {
            let (Edit::Put(key, _) | Edit::Remove(key)) = edit;
            has_part(key)
        })
    }
}

/// A file, as a placing has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placed {
    /// The path below the directory, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) sha256: String,
    /// The number of the placing that its bytes came with.
    pub(crate) shipped_with: u64,
    pub(crate) bytes: u64,
    /// When it was written, in milliseconds since 1970, so that it is not read again.
    pub(crate) modified_millis: i64,
}

impl Placed {
    fn content(&self) -> Content {
        Content {
            sha256: self.sha256.clone(),
            shipped_with: self.shipped_with,
        }
    }
}

/// Bytes that were shipped, as the names of their parts say it.
///
/// Bytes that are shipped again have another name, so whoever removes the old ones, at whatever
/// moment, does not take them from a file that came back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Content {
    pub(crate) shipped_with: u64,
    pub(crate) sha256: String,
}

/// Files that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placing {
    /// No commit before this one names what came. Of a whole placing: no commit from this one on
    /// names a file that is neither in it nor in a later one.
    pub(crate) from: u64,
    /// No commit after this one names what went.
    pub(crate) until: u64,
    pub(crate) came: Vec<Placed>,
    pub(crate) went: Vec<String>,
}

/// The files that a chain has, while it is written.
#[derive(Debug, Default)]
pub(crate) struct ShippedFiles {
    /// Those that there are after the last placing.
    files: BTreeMap<String, Placed>,
    /// The parts in the target that belong to no placing yet: what came before an interruption.
    loose: BTreeSet<String>,
    /// The number of the next placing.
    next: u64,
    /// How many placings there are since the last whole one.
    since_whole: u64,
    /// No later commit names what went.
    until: u64,
    /// The directory as it was last looked at, until all of it is shipped.
    look: Option<Look>,
    /// A placing that is on its way. It stays as it is until it is there, however often that fails.
    pending: Option<Pending>,
    /// The commit up to which all files that commits name are shipped.
    covered: u64,
}

/// A directory that was looked at.
#[derive(Debug)]
struct Look {
    /// The last commit before it was looked at: all files that commits up to it name, and that were
    /// not shipped before, were found.
    covers: u64,
    /// What is to be looked at, the next one last.
    found: Vec<Found>,
    placing: Placing,
    /// The digests of the files that are there after the last placing or come with the next, and the
    /// placing that their bytes came with.
    there: BTreeMap<String, u64>,
    /// A file that is being shipped.
    sending: Option<Sending>,
}

#[derive(Clone, Debug)]
struct Found {
    path: String,
    /// Where it is.
    place: PathBuf,
    bytes: u64,
    modified_millis: i64,
}

#[derive(Debug)]
struct Sending {
    file: File,
    placed: Placed,
    /// The next part.
    part: u64,
}

#[derive(Debug)]
struct Pending {
    name: String,
    bytes: Bytes,
    placing: Placing,
    is_whole: bool,
}

/// What files are shipped with.
pub(crate) struct Way<'a> {
    pub(crate) source: &'a FileSource,
    pub(crate) chain: &'a Chain,
    pub(crate) target: &'a dyn Target,
    pub(crate) entropy: &'a dyn Entropy,
}

impl ShippedFiles {
    /// What a chain has so far, and all that commits up to one name.
    pub(crate) async fn of(
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
        covered: u64,
    ) -> Result<ShippedFiles, BackupError> {
        let mut shipped = ShippedFiles {
            covered,
            ..ShippedFiles::default()
        };
        let from = objects.placings.iter().rposition(|(_, is_whole)| *is_whole);
        for named in objects.placings_from(chain, from.unwrap_or(0))? {
            let placing = placing(chain, target, *named).await?;
            shipped.next = named.0;
            shipped.note(placing, named.1);
        }
        let is_loose = |name: &&String| match names::parse(name) {
            Some((_, names::Kind::Part { content })) => content.shipped_with >= shipped.next,
            _ => false,
        };
        shipped.loose = objects.names.iter().filter(is_loose).cloned().collect();
        Ok(shipped)
    }

    /// The commit up to which all files that commits name are shipped.
    pub(crate) fn covered(&self) -> u64 {
        self.covered
    }

    /// Does the next small thing for the files of all commits up to the last one on disk to be
    /// shipped: looks at the directory, ships a part of a file, or notes what came and went. The bytes
    /// that it shipped; none when all is done.
    ///
    /// `from` is the first commit whose files may not be shipped.
    pub(crate) async fn step(
        &mut self,
        way: &Way<'_>,
        from: u64,
        last: impl Fn() -> u64,
    ) -> Result<Option<u64>, BackupError> {
        if let Some(pending) = &self.pending {
            return self.put_placing(way, pending.bytes.len() as u64).await;
        }
        let Some(look) = &mut self.look else {
            self.look = Some(self.look_around(way.source, from, &last).await?);
            return Ok(Some(0));
        };
        if look.sending.is_some() {
            return self.ship_part(way).await.map(Some);
        }
        if look.placing.came.len() < PLACED_MAX
            && let Some(found) = look.found.last().cloned()
        {
            self.begin_file(&found).await?;
            if let Some(look) = &mut self.look {
                look.found.pop();
            }
            return Ok(Some(0));
        }
        let mut placing = Placing {
            came: std::mem::take(&mut look.placing.came),
            ..look.placing.clone()
        };
        if look.found.is_empty() {
            look.placing.went.clear();
        } else {
            // What goes is noted last: until then its bytes may stand for those of others.
            placing.went.clear();
        }
        if !placing.came.is_empty() || !placing.went.is_empty() {
            self.seal(way, placing, false);
            return Ok(Some(0));
        }
        self.covered = self.covered.max(look.covers);
        self.look = None;
        if self.since_whole >= WHOLE_EVERY.max(self.files.len() as u64 / 100) {
            self.place_whole(way, from);
        }
        Ok(None)
    }

    /// Makes all files that there are a placing of their own, so that what came before it is needed
    /// only for moments before it. It is put by the next step.
    pub(crate) fn place_whole(&mut self, way: &Way<'_>, shipped: u64) {
        let is_idle = self.look.is_none() && self.pending.is_none();
        if self.since_whole == 0 || !is_idle {
            return;
        }
        let placing = Placing {
            from: self.until.max(shipped) + 1,
            until: self.until,
            came: self.files.values().cloned().collect(),
            went: Vec::new(),
        };
        self.seal(way, placing, true);
    }

    /// Whether a placing is on its way.
    pub(crate) fn is_placing(&self) -> bool {
        self.pending.is_some()
    }

    async fn look_around(
        &self,
        source: &FileSource,
        from: u64,
        last: impl Fn() -> u64,
    ) -> Result<Look, BackupError> {
        // What a commit names is there before the commit is, so it is found by whoever looks later.
        let covers = last();
        let looked = source.clone();
        let listed = blocking(move || list(&looked)).await;
        let mut found = listed.map_err(|error| unreadable(&source.root, &error))?;
        let gone = self.files.keys().filter(|path| !found.contains_key(*path));
        let placing = Placing {
            from,
            // What is not there any more was named by no commit since.
            until: last(),
            came: Vec::new(),
            went: gone.cloned().collect(),
        };
        found.retain(|path, found| {
            self.files.get(path).is_none_or(|known| {
                (known.bytes, known.modified_millis) != (found.bytes, found.modified_millis)
            })
        });
        Ok(Look {
            covers,
            found: found.into_values().rev().collect(),
            placing,
            there: self
                .files
                .values()
                .map(|file| (file.sha256.clone(), file.shipped_with))
                .collect(),
            sending: None,
        })
    }

    /// Begins to ship a file, or notes it if its bytes are there.
    async fn begin_file(&mut self, found: &Found) -> Result<(), BackupError> {
        let place = found.place.clone();
        let opened = blocking(move || {
            let mut file = File::open(place)?;
            let (sha256, bytes) = digest(&mut file)?;
            file.rewind()?;
            Ok((file, sha256, bytes))
        });
        let (file, sha256, bytes) = match opened.await {
            // It went meanwhile, so no commit from here on names it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(|error| unreadable(&found.place, &error))?,
        };
        let Some(look) = &mut self.look else {
            return Ok(());
        };
        // INVARIANT: only bytes of a file that is there after the last placing stand for others. Those
        // of one that went may be removed from the target at any moment.
        let same = look.there.get(&sha256).copied();
        let placed = Placed {
            path: found.path.clone(),
            shipped_with: same.unwrap_or(self.next),
            sha256,
            bytes,
            modified_millis: found.modified_millis,
        };
        if same.is_some() {
            look.placing.came.push(placed);
        } else {
            let part = 0;
            look.sending = Some(Sending { file, placed, part });
        }
        Ok(())
    }

    /// Ships the next part of a file.
    async fn ship_part(&mut self, way: &Way<'_>) -> Result<u64, BackupError> {
        let Some(look) = &mut self.look else {
            return Ok(0);
        };
        let Some(sending) = &mut look.sending else {
            return Ok(0);
        };
        let Sending { file, placed, part } = sending;
        let name = way.chain.name.part(&placed.content(), *part);
        let mut shipped = 0;
        if !self.loose.contains(&name) {
            let failed = |error: io::Error| unreadable(Path::new(&placed.path), &error);
            let mut read = file.try_clone().map_err(failed)?;
            let offset = *part * PART_BYTES as u64;
            let bytes = blocking(move || {
                let mut bytes = Vec::new();
                read.seek(SeekFrom::Start(offset))?;
                read.take(PART_BYTES as u64).read_to_end(&mut bytes)?;
                Ok(bytes)
            });
            let bytes = bytes.await.map_err(failed)?;
            let object = way.chain.seal.close(&name, &bytes, way.entropy);
            shipped = object.len() as u64;
            match way.target.put(&name, object.into()).await {
                // The name says what is in it, so an earlier attempt has put it.
                Ok(()) | Err(BackupError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        *part += 1;
        if *part == parts(placed.bytes)
            && let Some(sent) = look.sending.take()
        {
            let content = sent.placed.content();
            look.there.insert(content.sha256, content.shipped_with);
            look.placing.came.push(sent.placed);
        }
        Ok(shipped)
    }

    fn seal(&mut self, way: &Way<'_>, placing: Placing, is_whole: bool) {
        let name = way.chain.name.placing(self.next, is_whole);
        let content = serde_json::json!(placing).to_string();
        let bytes = way.chain.seal.close(&name, content.as_bytes(), way.entropy);
        self.pending = Some(Pending {
            name,
            bytes: bytes.into(),
            placing,
            is_whole,
        });
    }

    async fn put_placing(&mut self, way: &Way<'_>, bytes: u64) -> Result<Option<u64>, BackupError> {
        if let Some(pending) = &self.pending {
            put_once(way.target, &pending.name, &pending.bytes).await?;
        }
        if let Some(pending) = self.pending.take() {
            self.note(pending.placing, pending.is_whole);
        }
        Ok(Some(bytes))
    }

    /// Notes a placing that is in the target.
    fn note(&mut self, placing: Placing, is_whole: bool) {
        self.next += 1;
        self.since_whole = if is_whole { 0 } else { self.since_whole + 1 };
        self.until = self.until.max(placing.until);
        if is_whole {
            self.files.clear();
        }
        for path in &placing.went {
            self.files.remove(path);
        }
        let came = placing.came.into_iter();
        self.files
            .extend(came.map(|file| (file.path.clone(), file)));
    }
}

/// How many parts a file has; an empty one has one.
fn parts(bytes: u64) -> u64 {
    bytes.div_ceil(PART_BYTES as u64).max(1)
}

async fn placing(
    chain: &Chain,
    target: &dyn Target,
    (number, is_whole): (u64, bool),
) -> Result<Placing, BackupError> {
    let name = chain.name.placing(number, is_whole);
    let content = chain.seal.open(&name, &target.get(&name).await?)?;
    serde_json::from_slice(&content).map_err(|error| BackupError::damaged(&name, error.to_string()))
}

impl ChainObjects {
    /// The placings from one on. None before the last may be missing, nor what they begin with.
    fn placings_from(&self, chain: &Chain, at: usize) -> Result<&[(u64, bool)], BackupError> {
        let placings = &self.placings[at..];
        let first = match placings.first() {
            Some((number, true)) => *number,
            _ => 0,
        };
        for (expected, (number, _)) in (first..).zip(placings) {
            if *number != expected {
                let name = chain.name.placing(expected, false);
                return Err(BackupError::Missing { name });
            }
        }
        Ok(placings)
    }

    /// Refuses a chain without one of the placings that its last commit needs, or with a last one that
    /// is damaged.
    pub(crate) async fn demand_placings(
        &self,
        chain: &Chain,
        target: &dyn Target,
    ) -> Result<(), BackupError> {
        let whole = self.placings.iter().rposition(|(_, is_whole)| *is_whole);
        if let Some(last) = self.placings_from(chain, whole.unwrap_or(0))?.last() {
            placing(chain, target, *last).await?;
        }
        Ok(())
    }

    /// Where the placings begin that a commit needs: with the newest whole one that is of it or of an
    /// earlier commit.
    async fn placings_begin(
        &self,
        chain: &Chain,
        target: &dyn Target,
        commit: u64,
    ) -> Result<usize, BackupError> {
        for (at, named) in self.placings.iter().enumerate().rev() {
            if named.1 && placing(chain, target, *named).await?.from <= commit {
                return Ok(at);
            }
        }
        Ok(0)
    }
}

/// The files that a backup has for a commit.
#[derive(Clone)]
pub struct KeptFiles {
    chain: Chain,
    files: BTreeMap<String, Placed>,
}

impl KeptFiles {
    pub(crate) async fn at(
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
        commit: u64,
    ) -> Result<KeptFiles, BackupError> {
        let begin = objects.placings_begin(chain, target, commit).await?;
        let mut files = BTreeMap::new();
        for (at, named) in (begin..).zip(objects.placings_from(chain, begin)?) {
            // A whole one says nothing new to those who began before it.
            if named.1 && at > begin {
                continue;
            }
            let placing = placing(chain, target, *named).await?;
            if placing.from > commit {
                break;
            }
            for path in placing.went.iter().filter(|_| placing.until < commit) {
                files.remove(path);
            }
            for file in placing.came {
                files.insert(file.path.clone(), file);
            }
        }
        let chain = chain.clone();
        Ok(KeptFiles { chain, files })
    }

    /// Whether there is a file for this path.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Puts a file below a directory as it was. An error if the backup does not have it.
    pub async fn restore(
        &self,
        target: &dyn Target,
        path: &str,
        root: &Path,
    ) -> Result<(), BackupError> {
        let chain = self.chain.name;
        let missing = || BackupError::Missing {
            name: format!("{chain}: the file {path}"),
        };
        let file = self.files.get(path).ok_or_else(missing)?;
        if !is_below(path) {
            let name = format!("{chain}: the file {path:?}");
            return Err(BackupError::damaged(
                &name,
                "its place is outside of the directory",
            ));
        }
        let place = root.join(path);
        let failed = |error: io::Error| unreadable(&place, &error);
        let mut written = create(&place).map_err(failed)?;
        let mut hash = Sha256::new();
        for number in 0..parts(file.bytes) {
            let name = chain.part(&file.content(), number);
            let part = self.chain.seal.open(&name, &target.get(&name).await?)?;
            hash.update(&part);
            written.write_all(&part).map_err(failed)?;
        }
        written.sync_all().map_err(failed)?;
        let digest: [u8; 32] = hash.finalize().into();
        if hex(&digest) != file.sha256 {
            let name = chain.part(&file.content(), 0);
            return Err(BackupError::damaged(&name, "the file is not what it was"));
        }
        Ok(())
    }
}

/// Whether a path leads further down at every step. Whoever can write to a backup that is not
/// encrypted chooses the paths in it.
fn is_below(path: &str) -> bool {
    let mut steps = Path::new(path).components();
    steps.all(|step| matches!(step, Component::Normal(_)))
}

/// The placings that no moment from a commit on needs, by their names.
pub(crate) async fn unneeded_placings(
    chain: &Chain,
    target: &dyn Target,
    objects: &ChainObjects,
    commit: u64,
) -> Result<Vec<String>, BackupError> {
    let begin = objects.placings_begin(chain, target, commit).await?;
    let older = objects.placings[..begin].iter();
    Ok(older
        .map(|(number, is_whole)| chain.name.placing(*number, *is_whole))
        .collect())
}

/// The objects with bytes that no moment from a commit on needs.
pub(crate) async fn unneeded_parts(
    chain: &Chain,
    target: &dyn Target,
    objects: &ChainObjects,
    commit: u64,
) -> Result<Vec<String>, BackupError> {
    let begin = objects.placings_begin(chain, target, commit).await?;
    let mut files = BTreeMap::<String, Content>::new();
    let (mut needed, mut next) = (BTreeSet::new(), 0);
    for (at, named) in (begin..).zip(objects.placings_from(chain, begin)?) {
        next = named.0 + 1;
        if named.1 && at > begin {
            continue;
        }
        let placing = placing(chain, target, *named).await?;
        if placing.until >= commit {
            needed.extend(files.values().cloned());
        }
        for path in &placing.went {
            files.remove(path);
        }
        let came = placing.came.into_iter();
        files.extend(came.map(|file| (file.path.clone(), file.content())));
    }
    needed.extend(files.into_values());
    // INVARIANT: what comes with a placing that is not there yet is on its way, and stays.
    let is_unneeded = |name: &&String| match names::parse(name) {
        Some((_, names::Kind::Part { content })) => {
            content.shipped_with < next && !needed.contains(&content)
        }
        _ => false,
    };
    Ok(objects.names.iter().filter(is_unneeded).cloned().collect())
}

/// The files below a directory, by their paths.
fn list(source: &FileSource) -> io::Result<BTreeMap<String, Found>> {
    let mut found = BTreeMap::new();
    walk(source, &source.root, "", &mut found)?;
    Ok(found)
}

fn walk(
    source: &FileSource,
    folder: &Path,
    name: &str,
    found: &mut BTreeMap<String, Found>,
) -> io::Result<()> {
    if source.left_out.iter().any(|left_out| folder == left_out) {
        return Ok(());
    }
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let Some(own) = entry.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        let below = if name.is_empty() {
            own.clone()
        } else {
            format!("{name}/{own}")
        };
        let metadata = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_dir() {
            walk(source, &path, &below, found)?;
        } else if metadata.is_file() && !own.contains('#') {
            // A name with `#` is of one that is being written.
            let modified = metadata
                .modified()?
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let file = Found {
                path: below.clone(),
                place: path,
                bytes: metadata.len(),
                modified_millis: i64::try_from(modified.as_millis()).unwrap_or(i64::MAX),
            };
            found.insert(below, file);
        }
    }
    Ok(())
}

fn digest(file: &mut File) -> io::Result<(String, u64)> {
    let (mut hash, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0; 65_536];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            let digest: [u8; 32] = hash.finalize().into();
            return Ok((hex(&digest), size));
        }
        hash.update(&buffer[..read]);
        size += read as u64;
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn unreadable(path: &Path, error: &io::Error) -> BackupError {
    BackupError::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn paths_that_lead_elsewhere_are_none() {
        assert!(is_below("bucket/photos/1.jpg"));
        for path in ["bucket/../../1.jpg", "../1.jpg", "/etc/cron.d/1", "./1.jpg"] {
            assert!(!is_below(path), "{path}");
        }
    }
}

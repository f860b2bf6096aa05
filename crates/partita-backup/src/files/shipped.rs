//! Files on their way to a chain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use partita_store::Entropy;
use sha2::{Digest as _, Sha256};

use super::removed::RemovedFiles;
use super::{
    FileSource, Found, PART_BYTES, Placed, Placing, Versions, blocking, list, modified_millis,
    parts, placing, unreadable,
};
use crate::catalog::{Chain, ChainObjects};
use crate::error::BackupError;
use crate::names;
use crate::sealing::hex;
use crate::target::{Target, put_once};

/// Files of one placing, about; a server that starts again need not read those that are placed.
const PLACED_MAX: usize = 1_000;

/// Placings after which there is a whole one at least.
const WHOLE_EVERY: u64 = 1_000;

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
    /// Removed files that need not be kept, because no commit is known to mean them.
    unclear: Vec<Found>,
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
    /// See [`ShippedFiles::unclear`].
    unclear: Vec<Found>,
    /// A file that is being shipped.
    sending: Option<Sending>,
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

    /// Gives up the removed files that are shipped. The bytes of the others.
    pub(crate) fn release(&self, removed: &RemovedFiles) -> io::Result<u64> {
        removed.release(|found| {
            let known = self.files.get(&found.path);
            let is_unclear = |one: &Found| one.place == found.place && one.is_same(found);
            known.is_some_and(|known| known.is(found)) || self.unclear.iter().any(is_unclear)
        })
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
            // What the last look was done with is no file of this one.
            if let Some(removed) = &way.source.removed {
                let released = self.release(removed);
                released.map_err(|error| unreadable(&removed.folder, &error))?;
            }
            self.look = Some(self.look_around(way.source, from, &last).await?);
            return Ok(Some(0));
        };
        if look.sending.is_some() {
            return self.ship_part(way).await.map(Some);
        }
        if look.placing.came.len() < PLACED_MAX
            && let Some(found) = look.found.last().cloned()
        {
            self.begin_file(way.source, &found).await?;
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
        self.unclear = std::mem::take(&mut look.unclear);
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
        let listed = listed.map_err(|error| unreadable(&source.root, &error))?;
        let gone = self.files.keys().filter(|path| !listed.contains_key(*path));
        let mut placing = Placing {
            from,
            // What is not there any more was named by no commit since.
            until: last(),
            came: Vec::new(),
            went: gone.cloned().collect(),
        };
        let (mut found, mut unclear) = (Vec::new(), Vec::new());
        let mut there_still = self.files.clone();
        for (path, Versions { there, removed }) in listed.into_iter().rev() {
            let known = self.files.get(&path);
            let mut all = there.iter().chain(&removed);
            let first = all.next();
            let is_one = first.is_none_or(|first| {
                all.all(|other| other.is_same(first)) && known.is_none_or(|known| known.is(first))
            });
            if is_one {
                let newest = there.or_else(|| removed.into_iter().next());
                found.extend(newest.filter(|_| known.is_none()));
                continue;
            }
            // A design may give the same path to one file after the other. Which of them a commit of
            // this time means cannot be told, so none is taken for the other.
            let clear_from = placing.until + 1;
            unclear.extend(removed);
            there_still.remove(&path);
            match there {
                Some(there) if known.is_some_and(|known| known.is(&there)) => {
                    let known = known.cloned();
                    placing.came.extend(known.map(|known| Placed {
                        clear_from,
                        ..known
                    }));
                }
                Some(there) => found.push(Found {
                    clear_from,
                    ..there
                }),
                None => placing.came.push(Placed::unclear(path, clear_from)),
            }
        }
        Ok(Look {
            covers,
            found,
            unclear,
            placing,
            there: there_still
                .into_values()
                .map(|file| (file.sha256, file.shipped_with))
                .collect(),
            sending: None,
        })
    }

    /// Begins to ship a file, or notes it if its bytes are there.
    async fn begin_file(&mut self, source: &FileSource, found: &Found) -> Result<(), BackupError> {
        let mut places = vec![found.place.clone()];
        if let Some(removed) = &source.removed {
            // It may have been removed since it was found.
            places.push(removed.folder.join(&found.path));
        }
        let wanted = found.clone();
        let opened = blocking(move || {
            let Some(mut file) = open(&places, &wanted)? else {
                return Ok(None);
            };
            let (sha256, bytes) = digest(&mut file)?;
            Ok(Some((file, sha256, bytes)))
        });
        let opened = opened.await;
        let opened = opened.map_err(|error| unreadable(&found.place, &error))?;
        let Some(look) = &mut self.look else {
            return Ok(());
        };
        let Some((file, sha256, bytes)) = opened else {
            // It went meanwhile, so no commit from here on names it; or it was given up.
            if found.clear_from > 0 {
                let unclear = Placed::unclear(found.path.clone(), found.clear_from);
                look.placing.came.push(unclear);
            }
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
            clear_from: found.clear_from,
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

/// Opens a file at the first of some places where it is, and no other file.
fn open(places: &[PathBuf], wanted: &Found) -> io::Result<Option<File>> {
    for place in places {
        let file = match File::open(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        let metadata = file.metadata()?;
        if (metadata.len(), modified_millis(&metadata)?) == (wanted.bytes, wanted.modified_millis) {
            return Ok(Some(file));
        }
    }
    Ok(None)
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

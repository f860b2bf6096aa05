//! An export, written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use md5::{Digest as _, Md5};
use partita_store::table::TableName;
use partita_store::{Entropy, FoundItem};

use super::manifest::{DataFile, Summary};
use super::{ExportError, FOLDER, checksum, checksum_of};

/// Items of a data file.
const FILE_ITEMS_MAX: u64 = 100_000;

/// An export that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Where it is.
    pub folder: PathBuf,
    /// Its items.
    pub items: u64,
}

/// When an export is begun.
#[derive(Clone, Debug)]
pub struct Begun {
    /// In milliseconds since 1970.
    pub millis: i64,
    /// The same for people.
    pub text: String,
}

/// Writes an export of one table.
pub struct ExportWriter {
    folder: PathBuf,
    /// The same, as the manifests name it.
    key: String,
    summary: Summary,
    entropy: Box<dyn Entropy>,
    open: Option<OpenFile>,
    files: Vec<DataFile>,
}

/// A data file that is being written.
struct OpenFile {
    name: String,
    path: PathBuf,
    encoder: GzEncoder<Summed>,
    items: u64,
}

/// A file whose bytes are summed up on the way.
struct Summed {
    file: BufWriter<File>,
    digest: Md5,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl ExportWriter {
    /// Begins an export of a table in a folder. Exports that are there already stay as they are.
    pub fn begin(
        into: &Path,
        table: &TableName,
        begun: &Begun,
        entropy: Box<dyn Entropy>,
    ) -> Result<ExportWriter, ExportError> {
        let id = format!("{:014}-{}", begun.millis, random(&*entropy, 4));
        let folder = into.join(FOLDER).join(&id);
        let data = folder.join("data");
        make_folder(&data)?;
        let key = format!("{FOLDER}/{id}");
        let arn = format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}");
        let writer = ExportWriter {
            summary: Summary {
                version: "2020-06-30".to_owned(),
                export_arn: Some(format!("{arn}/export/{id}")),
                start_time: Some(begun.text.clone()),
                end_time: None,
                table_arn: arn,
                table_id: None,
                export_time: Some(begun.text.clone()),
                s3_bucket: Some(String::new()),
                s3_prefix: Some(String::new()),
                s3_sse_algorithm: None,
                s3_sse_kms_key_id: None,
                manifest_files_s3_key: format!("{key}/manifest-files.json"),
                billed_size_bytes: 0,
                item_count: 0,
                output_format: "DYNAMODB_JSON".to_owned(),
                export_type: Some("FULL_EXPORT".to_owned()),
            },
            folder,
            key,
            entropy,
            open: None,
            files: Vec::new(),
        };
        writer.put("_started", b"")?;
        Ok(writer)
    }

    /// Adds items.
    pub fn add(&mut self, items: &[FoundItem]) -> Result<(), ExportError> {
        let mut line = Vec::new();
        for item in items {
            line.clear();
            line.extend_from_slice(b"{\"Item\":");
            item.write_json(&mut line);
            line.extend_from_slice(b"}\n");
            if self.open.is_none() {
                self.open = Some(OpenFile::new(&self.folder, &*self.entropy)?);
            }
            if let Some(open) = &mut self.open {
                let written = open.encoder.write_all(&line);
                written.map_err(ExportError::file(&open.path))?;
                open.items += 1;
            }
            self.summary.item_count += 1;
            if self
                .open
                .as_ref()
                .is_some_and(|open| open.items == FILE_ITEMS_MAX)
            {
                self.close_file()?;
            }
        }
        Ok(())
    }

    /// Writes the manifests. Without them there is no export.
    pub fn finish(mut self, now: String) -> Result<Exported, ExportError> {
        if self.files.is_empty() && self.open.is_none() {
            // A table without items has a file without any.
            self.open = Some(OpenFile::new(&self.folder, &*self.entropy)?);
        }
        self.close_file()?;
        let mut lines = Vec::new();
        for file in &self.files {
            lines.extend(json(file));
            lines.push(b'\n');
        }
        self.put_summed("manifest-files", &lines)?;
        self.summary.end_time = Some(now);
        self.put_summed("manifest-summary", &json(&self.summary))?;
        Ok(Exported {
            folder: self.folder,
            items: self.summary.item_count,
        })
    }

    fn close_file(&mut self) -> Result<(), ExportError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let failed = ExportError::file(&open.path);
        let closed = open.encoder.finish().and_then(|summed| {
            let Summed { mut file, digest } = summed;
            file.flush()?;
            file.get_ref().sync_all()?;
            Ok(digest)
        });
        let digest = closed.map_err(failed)?;
        self.files.push(DataFile {
            item_count: open.items,
            etag: Some(etag(&digest)),
            md5_checksum: checksum(digest),
            data_file_s3_key: format!("{}/data/{}", self.key, open.name),
        });
        Ok(())
    }

    fn put_summed(&self, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        self.put(&format!("{name}.checksum"), checksum_of(bytes).as_bytes())?;
        self.put(&format!("{name}.json"), bytes)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        let path = self.folder.join(name);
        let written = create(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(ExportError::file(&path))
    }
}

impl OpenFile {
    fn new(folder: &Path, entropy: &dyn Entropy) -> Result<OpenFile, ExportError> {
        let name = format!("{}.json.gz", random(entropy, 13));
        let path = folder.join("data").join(&name);
        let file = create(&path).map_err(ExportError::file(&path))?;
        let summed = Summed {
            file: BufWriter::new(file),
            digest: Md5::new(),
        };
        Ok(OpenFile {
            name,
            path,
            encoder: GzEncoder::new(summed, Compression::default()),
            items: 0,
        })
    }
}

/// S3's tag of an object that was sent in one part of several.
fn etag(digest: &Md5) -> String {
    let parts = Md5::digest(digest.clone().finalize());
    let hex: String = parts.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}-1")
}

fn json(document: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(document).expect("texts and numbers always make JSON")
}

/// So many random bytes in hexadecimal.
fn random(entropy: &dyn Entropy, bytes: usize) -> String {
    let mut random = vec![0; bytes];
    entropy.fill(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a folder that is its owner's alone, and those above it.
fn make_folder(path: &Path) -> Result<(), ExportError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(ExportError::file(path))
}

/// Creates a file that is its owner's alone, and was not there.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

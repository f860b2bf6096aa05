//! Exports written and read, and what is noticed of damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use partita_core::{Item, Number, Value};
use partita_store::surroundings::SystemEntropy;
use partita_store::table::KeySchema;
use partita_store::write::check_put;

use super::{Begun, ExportError, ExportWriter, find};

fn items() -> Vec<Item> {
    (0..2_500i64)
        .map(|number| {
            Item::from([
                ("PK", Value::from(format!("p{number}"))),
                ("count", Value::N(Number::from(number))),
                ("bytes", Value::B(number.to_be_bytes().to_vec())),
            ])
        })
        .collect()
}

fn export(into: &Path) -> PathBuf {
    let begun = Begun {
        millis: 1_604_474_914_028,
        text: "2020-11-04T07:28:34.028Z".to_owned(),
    };
    let table = "notes".parse().unwrap();
    let mut writer = ExportWriter::begin(into, &table, &begun, Box::new(SystemEntropy)).unwrap();
    let found: Vec<_> = items().into_iter().map(Into::into).collect();
    writer.add(&found).unwrap();
    let exported = writer
        .finish("2020-11-04T07:33:43.897Z".to_owned())
        .unwrap();
    assert_eq!(exported.items, 2_500);
    exported.folder
}

fn read(path: &Path) -> Result<Vec<Item>, ExportError> {
    let mut all = Vec::new();
    for export in find(path, &[])? {
        export.check()?;
        for run in export.items(|_| Ok(())) {
            all.extend(run?);
        }
    }
    Ok(all)
}

#[test]
fn an_export_is_read_back_from_wherever_it_is_named() {
    let into = tempfile::tempdir().unwrap();
    let folder = export(into.path());
    for path in [into.path(), folder.as_path(), folder.parent().unwrap()] {
        assert_eq!(read(path).unwrap(), items());
    }
    let [found] = &find(into.path(), &[]).unwrap()[..] else {
        panic!("there is one");
    };
    assert_eq!(found.summary.table(), "notes");
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("01604474914028-") && name.len() == 23,
        "{name}"
    );
}

#[test]
fn what_is_damaged_is_named() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 7] = [
        ("differs", |folder| {
            let file = data(folder);
            let mut bytes = fs::read(&file).unwrap();
            bytes[100] ^= 1;
            fs::write(file, bytes).unwrap();
        }),
        ("differs", |folder| {
            let file = data(folder);
            let bytes = fs::read(&file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("No such file", |folder| {
            fs::remove_file(data(folder)).unwrap()
        }),
        ("was begun and not ended", |folder| {
            fs::remove_file(folder.join("manifest-summary.json")).unwrap();
        }),
        ("checksum is not that of", |folder| {
            replace(&folder.join("manifest-files.json"), "2500", "2400");
        }),
        ("not 2400", |folder| {
            fs::remove_file(folder.join("manifest-summary.checksum")).unwrap();
            replace(&folder.join("manifest-summary.json"), "2500", "2400");
        }),
        ("changes only", |folder| {
            fs::remove_file(folder.join("manifest-summary.checksum")).unwrap();
            let manifest = folder.join("manifest-summary.json");
            replace(&manifest, "FULL_EXPORT", "INCREMENTAL_EXPORT");
        }),
    ];
    for (expected, damage) in cases {
        let into = tempfile::tempdir().unwrap();
        let folder = export(into.path());
        damage(&folder);
        let error = read(into.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

/// A pipe never ends, and a link may lead to a file that only the reader may read.
#[cfg(unix)]
#[test]
fn what_is_no_file_of_the_export_is_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("other");
    for name in ["manifest-summary.md5", "manifest-files.json", "data"] {
        for is_pipe in [true, false] {
            let into = tempfile::tempdir().unwrap();
            let folder = export(into.path());
            let path = match name {
                "data" => data(&folder),
                name => folder.join(name),
            };
            let bytes = fs::read(&path).unwrap_or_default();
            let _ = fs::remove_file(&path);
            let expected = if is_pipe {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
                "no regular file"
            } else {
                fs::write(&other, bytes).unwrap();
                std::os::unix::fs::symlink(&other, &path).unwrap();
                "a link out of the export"
            };
            let refused = read(into.path()).unwrap_err().to_string();
            assert!(refused.contains(expected), "{name}: {refused}");
        }
    }
}

fn data(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder.join("data")).unwrap();
    files.next().unwrap().unwrap().path()
}

fn replace(path: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(old));
    fs::write(path, text.replace(old, new)).unwrap();
}

/// The example of Amazon's own documentation, with the line of a table of products.
#[test]
fn an_export_of_amazons_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let line = r#"{"Item":{"Authors":{"SS":["Author1","Author2"]},"Id":{"N":"103"},"InPublication":{"BOOL":false},"Dimensions":{"M":{"Width":{"N":"8.5"}}}}}"#;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, format!("{line}\n").as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    fs::write(data.join("asdl123dasas.json.gz"), &bytes).unwrap();
    let sum = super::checksum_of(&bytes);
    let files = format!(
        r#"{{"itemCount": 1,"md5Checksum": "{sum}","etag": "af83d6f217c19b8b0fff8023d8ca4716-1","dataFileS3Key": "AWSDynamoDB/01693685827463-2d8752fd/data/asdl123dasas.json.gz"}}"#
    );
    fs::write(folder.path().join("manifest-files.json"), &files).unwrap();
    fs::write(
        folder.path().join("manifest-files.md5"),
        super::checksum_of(files.as_bytes()),
    )
    .unwrap();
    let summary = r#"{
        "version": "2020-06-30",
        "exportArn": "arn:aws:dynamodb:us-east-1:123456789012:table/ProductCatalog/export/01693685827463-2d8752fd",
        "startTime": "2020-11-04T07:28:34.028Z", "endTime": "2020-11-04T07:33:43.897Z",
        "tableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/ProductCatalog",
        "tableId": "12345a12-abcd-123a-ab12-1234abc12345",
        "exportTime": "2020-11-04T07:28:34.028Z",
        "s3Bucket": "ddb-productcatalog-export", "s3Prefix": "2020-Nov",
        "s3SseAlgorithm": "AES256", "s3SseKmsKeyId": null,
        "manifestFilesS3Key": "AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json",
        "billedSizeBytes": 0, "itemCount": 1, "outputFormat": "DYNAMODB_JSON", "exportType": "FULL_EXPORT"
    }"#;
    fs::write(folder.path().join("manifest-summary.json"), summary).unwrap();
    let found = read(folder.path()).unwrap();
    assert_eq!(found[0]["Id"], Value::N(Number::from(103)));
    assert_eq!(
        find(folder.path(), &[]).unwrap()[0].summary.table(),
        "ProductCatalog"
    );
}

/// An export of one file with these lines.
fn lines(lines: impl Iterator<Item = Vec<u8>>, count: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for line in lines {
        std::io::Write::write_all(&mut encoder, &line).unwrap();
        std::io::Write::write_all(&mut encoder, b"\n").unwrap();
    }
    let bytes = encoder.finish().unwrap();
    fs::write(folder.path().join("data/a.json.gz"), &bytes).unwrap();
    let sum = super::checksum_of(&bytes);
    let files =
        format!(r#"{{"itemCount":{count},"md5Checksum":"{sum}","dataFileS3Key":"a.json.gz"}}"#);
    fs::write(folder.path().join("manifest-files.json"), files).unwrap();
    let summary = format!(
        r#"{{"version":"2020-06-30","tableArn":"table/notes","manifestFilesS3Key":"x","itemCount":{count},"outputFormat":"DYNAMODB_JSON"}}"#
    );
    fs::write(folder.path().join("manifest-summary.json"), summary).unwrap();
    folder
}

fn line(sort: &str, bytes: usize) -> Vec<u8> {
    let text = "y".repeat(bytes);
    format!(r#"{{"Item":{{"PK":{{"S":"a"}},"SK":{{"S":"{sort}"}},"x":{{"S":"{text}"}}}}}}"#).into()
}

/// What is too much is refused with its file and its line.
#[test]
fn hostile_lines_are_refused_by_their_number() {
    let schema = KeySchema::strings("PK", "SK").into();
    let fits = move |item: &Item| {
        let checked = check_put(&schema, item).map(drop);
        checked.map_err(|error| error.to_string())
    };
    let good = line("first", 1);
    let empty = || std::iter::repeat_n(Vec::new(), 2_000);
    let cases = [
        (
            "line 2 is longer than an item can be",
            lines([good.clone(), vec![b'a'; 5 << 20]].into_iter(), 2),
        ),
        (
            "line 2 is not stored: Item size has exceeded",
            lines([good.clone(), line("b", 500_000)].into_iter(), 2),
        ),
        (
            "line 1002 is one of too many that are empty",
            lines([good.clone()].into_iter().chain(empty()), 1),
        ),
        (
            "line 2 is one too many",
            lines([good.clone(), line("b", 1)].into_iter(), 1),
        ),
        (
            "line 3 is not stored",
            lines([good.clone(), Vec::new(), line("", 1)].into_iter(), 2),
        ),
        (
            "line 2 is no item",
            lines([good.clone(), vec![b'['; 1 << 20]].into_iter(), 2),
        ),
        ("it has 1 items, not 2", lines([good].into_iter(), 2)),
    ];
    for (expected, folder) in cases {
        let [export] = &find(folder.path(), &[]).unwrap()[..] else {
            panic!("there is one");
        };
        export.check().unwrap();
        let error = export.items(fits.clone()).find_map(Result::err);
        let error = error.unwrap().to_string();
        assert!(
            error.contains(expected) && error.contains("a.json.gz"),
            "{expected}: {error}"
        );
    }
}

/// However many items there are, few bytes of them are held.
#[test]
fn large_items_come_in_small_runs() {
    let sorts = (0..40).map(|number| line(&number.to_string(), 390_000));
    let folder = lines(sorts, 40);
    let [export] = &find(folder.path(), &[]).unwrap()[..] else {
        panic!("there is one");
    };
    let runs: Vec<usize> = export
        .items(|_| Ok(()))
        .map(|run| run.unwrap().len())
        .collect();
    assert_eq!(runs.iter().sum::<usize>(), 40);
    assert!(runs.iter().all(|length| *length <= 11), "{runs:?}");
}

//! `partita export` and `import` by the real binary: items in DynamoDB's form, tables as a template.

mod beside;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::read::GzDecoder;
use partita_design::shipped;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::server::{BINARY, Server};

/// The script's way of saying that Python is missing.
const MISSING: i32 = 3;

struct Scene(TempDir);

impl Scene {
    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(BINARY);
        command.args(line.split(' ')).current_dir(self.0.path());
        command.env_remove("TABLE_NAME").output().unwrap()
    }

    fn said(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {output:#?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(!output.status.success(), "{line}: {output:#?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn json(&self, line: &str) -> Json {
        serde_json::from_str(&self.said(line)).unwrap()
    }
}

fn only_file(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

#[test]
fn items_go_out_and_come_back() {
    let scene = Scene(tempfile::tempdir().unwrap());
    scene.said("demo storyhub --data one");
    // Beside a server, which writes them.
    let server = Server::start(&scene.0.path().join("one"), &["storyhub"]);
    let exported = scene.json("export items storyhub --data one --to out --format json");
    server.kill();
    let [items, beside] = exported.as_array().unwrap().as_slice() else {
        panic!("{exported}");
    };
    assert_eq!(items["table"], "nlmonorepo-tsh-datatable-dev");
    assert_eq!(beside["table"], "nlmonorepo-tsh-datatable-dev-partita");

    // The form is the documented one.
    let folder = PathBuf::from(items["folder"].as_str().unwrap());
    assert!(folder.join("_started").is_file());
    let summary = fs::read(folder.join("manifest-summary.json")).unwrap();
    let summary: Json = serde_json::from_slice(&summary).unwrap();
    assert_eq!(summary["version"], "2020-06-30");
    assert_eq!(summary["outputFormat"], "DYNAMODB_JSON");
    assert_eq!(summary["itemCount"], items["items"]);
    let files = fs::read_to_string(folder.join("manifest-files.json")).unwrap();
    let file: Json = serde_json::from_str(files.trim_end()).unwrap();
    let key = file["dataFileS3Key"].as_str().unwrap();
    let data = only_file(&folder.join("data"));
    assert!(
        key.starts_with("AWSDynamoDB/")
            && key.ends_with(data.file_name().unwrap().to_str().unwrap())
    );
    let mut text = String::new();
    let mut decoder = GzDecoder::new(fs::File::open(&data).unwrap());
    decoder.read_to_string(&mut text).unwrap();
    assert_eq!(
        text.lines().count() as u64,
        items["items"].as_u64().unwrap()
    );
    let line: Json = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(line["Item"]["PK"]["S"].is_string(), "{line}");

    // Back into another store: equal, and not twice unasked.
    let imported = scene.json("import storyhub out --data two --format json");
    assert_eq!(imported[0]["items"], items["items"]);
    scene.said("verify storyhub --data two");
    let again = scene.json("export items storyhub --data two --to again --format json");
    let other = only_file(&PathBuf::from(again[0]["folder"].as_str().unwrap()).join("data"));
    let mut other_text = String::new();
    let mut decoder = GzDecoder::new(fs::File::open(other).unwrap());
    decoder.read_to_string(&mut other_text).unwrap();
    assert_eq!(text, other_text);
    let refused = scene.refused("import storyhub out --data two");
    assert!(refused.contains("--overwrite"), "{refused}");
    scene.said("import storyhub out --data two --overwrite");

    // What is not of the design has no place, unless somebody says so.
    let refused = scene.refused("import stories out --data three");
    assert!(refused.contains("say with --export"), "{refused}");
    let name = folder.file_name().unwrap().to_str().unwrap();
    let line = format!("import stories out --data three --export {name}");
    let refused = scene.refused(&line);
    assert!(refused.contains("say with --table"), "{refused}");
    let refused = scene.refused("import storyhub nothing --data three");
    assert!(refused.contains("nothing"), "{refused}");

    // A byte that changed is found before anything is written.
    let mut bytes = fs::read(&data).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&data, bytes).unwrap();
    let refused = scene.refused("import storyhub out --data three");
    assert!(refused.contains("checksum"), "{refused}");
    assert!(!scene.0.path().join("three").exists());
}

/// Which of several exports is meant is not for the command to say.
#[test]
fn of_several_exports_none_is_taken_unasked() {
    let scene = Scene(tempfile::tempdir().unwrap());
    scene.said("demo stories --data one");
    let first = scene.json("export items stories --data one --to out --format json");
    let name = |export: &Json| {
        let folder = PathBuf::from(export["folder"].as_str().unwrap());
        folder.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let moment = name(&first[0])[..14].to_owned();
    assert!(name(&first[1]).starts_with(&moment), "{first}");
    let second = scene.json("export items stories --data one --to out --format json");
    let refused = scene.refused("import stories out --data two");
    for export in [&first[0], &first[1], &second[0], &second[1]] {
        assert!(refused.contains(&name(export)), "{refused}");
    }
    assert!(refused.contains("say with --export"), "{refused}");
    assert!(!scene.0.path().join("two").exists());
    // One of each run, which are of two moments, is refused as well.
    let out = scene.0.path().join("out/AWSDynamoDB");
    fs::rename(out.join(name(&first[1])), scene.0.path().join("aside")).unwrap();
    fs::rename(out.join(name(&second[0])), scene.0.path().join("aside-too")).unwrap();
    let refused = scene.refused("import stories out --data two");
    assert!(refused.contains("of several moments"), "{refused}");
    fs::rename(scene.0.path().join("aside"), out.join(name(&first[1]))).unwrap();
    fs::rename(scene.0.path().join("aside-too"), out.join(name(&second[0]))).unwrap();
    // One that has no end is named, and does not matter to those that are.
    let cut = out.join(name(&second[1])).join("manifest-summary.json");
    fs::remove_file(cut).unwrap();
    let refused = scene.refused("import stories out --data two");
    assert!(refused.contains("was begun and not ended"), "{refused}");
    let refused = scene.refused("import stories out --data two --export 1999");
    assert!(refused.contains("1999"), "{refused}");
    let line = format!("import stories out --data two --export {moment} --format json");
    let imported = scene.json(&line);
    assert_eq!(imported.as_array().unwrap().len(), 2, "{imported}");
    assert_eq!(imported[0]["items"], first[0]["items"]);
    let server = Server::start(&scene.0.path().join("two"), &["stories"]);
    server.kill();
}

/// AWS's own linter, with every rule that it has, on what each shipped design exports.
#[test]
fn templates_pass_the_linter() {
    let scene = Scene(tempfile::tempdir().unwrap());
    let refused = scene.refused("export cloudformation storyhub");
    assert!(refused.contains("--set"), "{refused}");
    let key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
    let mut files = Vec::new();
    let mut write = |name: &str, template: &str| {
        let path = scene.0.path().join(format!("{name}.template.json"));
        fs::write(&path, template).unwrap();
        files.push(path);
    };
    for design in shipped::all() {
        let line = format!(
            "export cloudformation {} --set SharedKeyArn={key}",
            design.name
        );
        write(design.name, &scene.said(&line));
    }
    fs::write(scene.0.path().join("mine.toml"), MINE).unwrap();
    let mine = scene.said("export cloudformation mine.toml");
    write("mine", &mine);
    let template: Json = serde_json::from_str(&mine).unwrap();
    let table = &template["Resources"]["Table"]["Properties"];
    assert_eq!(table["DeletionProtectionEnabled"], true);
    assert_eq!(table["Tags"][0]["Key"], "team");
    assert_eq!(table["SSESpecification"]["SSEEnabled"], true);
    assert_eq!(table["BillingMode"], "PROVISIONED");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/clients");
    let lint = |files: &[PathBuf]| {
        Command::new(&script)
            .arg("cloudformation")
            .args(files)
            .output()
    };
    let output = lint(&files).unwrap();
    if output.status.code() == Some(MISSING) && std::env::var_os("CI").is_none() {
        let said = String::from_utf8_lossy(&output.stderr);
        let _ = writeln!(std::io::stderr(), "skipped: {}", said.trim());
        return;
    }
    assert!(output.status.success(), "{output:#?}");
    // A planted mistake: an attribute that no key has.
    let wrong = mine.replacen("\"AttributeName\": \"PK\"", "\"AttributeName\": \"PQ\"", 1);
    let path = scene.0.path().join("wrong.template.json");
    fs::write(&path, wrong).unwrap();
    assert!(!lint(&[path]).unwrap().status.success());
}

/// What three of the pages say of their tables and buckets, and what is a variable there.
#[test]
fn tables_and_buckets_are_as_the_pages_say() {
    let scene = Scene(tempfile::tempdir().unwrap());
    let table = |line: &str| {
        let template = scene.json(&format!("export cloudformation {line}"));
        template["Resources"]["Table"]["Properties"].clone()
    };
    let key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
    let stories = table(&format!(
        "storyhub --set Stage=prod --set SharedKeyArn={key}"
    ));
    assert_eq!(stories["TableName"], "nlmonorepo-tsh-datatable-prod");
    assert_eq!(stories["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(stories["SSESpecification"]["SSEType"], "KMS");
    assert_eq!(stories["SSESpecification"]["KMSMasterKeyId"], key);
    let recovery = &stories["PointInTimeRecoverySpecification"];
    assert_eq!(recovery["PointInTimeRecoveryEnabled"], true);
    let stream = &stories["StreamSpecification"]["StreamViewType"];
    assert_eq!(stream, "NEW_AND_OLD_IMAGES");

    assert_eq!(table("holdthatthought")["TableName"], "HoldThatThought");
    let ours = table("holdthatthought --set TABLE_NAME=Ours");
    assert_eq!(ours["TableName"], "Ours");
    assert_eq!(ours["TimeToLiveSpecification"]["AttributeName"], "TTL");

    let figures = table("figureforge");
    assert_eq!(figures["TableName"], "figureforge");
    assert_eq!(figures["KeySchema"][0]["AttributeName"], "pk");
    assert_eq!(figures["KeySchema"][1]["AttributeName"], "sk");

    for (design, variable, usual) in [
        (
            "holdthatthought",
            "ARCHIVE_BUCKET",
            "holdthatthought-archive",
        ),
        ("figureforge", "Environment", "figureforge-prod"),
        ("mediahub", "MEDIA_BUCKET", "mediahub-media"),
    ] {
        let source = shipped::find(design).unwrap().source;
        let name = |value: Option<&str>| {
            let set = |name: &str| value.filter(|_| name == variable).map(str::to_owned);
            let design = partita_design::check(source, &set).0.unwrap();
            design.buckets[0].bucket.clone()
        };
        assert_eq!(name(None), usual);
        assert!(name(Some("mine")).ends_with("mine"), "{design}");
    }
}

const MINE: &str = r#"
design = "mine"
[table]
name = "mine"
key = ["PK", "SK"]
ttl = "expires"
billing = "provisioned"
encryption = "kms"
stream = "keys-only"
point-in-time-recovery = true
deletion-protection = true
[table.tags]
team = "archive"
[index.byTitle]
key = ["title", "SK"]
projection = ["PK", "text"]
[entity.Note]
PK = "NOTE#{noteId}"
SK = "NOTE"
[entity.Note.attributes]
noteId = "ulid, generated"
title = "string 1..100"
text = "string ..1000"
[entity.Note.allow]
"*" = "public"
[pattern.note]
get = "PK = 'NOTE#{noteId}' AND SK = 'NOTE'"
"#;

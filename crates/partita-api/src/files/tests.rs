use super::*;

#[test]
fn the_name_of_a_file_is_made_of_whole_steps() {
    let whole = |parts: &[&str]| {
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        whole_name(&parts)
    };
    assert_eq!(whole(&["files", "a", "b"]).as_deref(), Some("a/b"));
    assert_eq!(whole(&["files", "a/b"]), None, "one part already");
    assert_eq!(whole(&["Story", "a", "b"]), None);
    assert!(check_name("a/b c/ä.jpg").is_ok());
    for hostile in [
        "",
        "/",
        "/etc/passwd",
        "a//b",
        "a/",
        "../secret",
        "a/../b",
        "a/.",
        "a/..",
        "a/..\\b",
        "a/b\0.jpg",
        "a/b\n",
    ] {
        assert!(check_name(hostile).is_err(), "{hostile:?}");
    }
}

#[test]
fn a_type_is_given_or_told_by_the_name() {
    let asked = |json: serde_json::Value| {
        let map = json.as_object().unwrap().clone();
        let asked = UploadWish::read(&partita_core::plain::map_from_json(map).unwrap());
        asked.ok().map(|asked| (asked.media_type, asked.bytes))
    };
    let jpeg = "image/jpeg".to_owned();
    assert_eq!(
        asked(json!({"contentType": "image/jpeg", "size": 12})),
        Some((jpeg.clone(), Some(12)))
    );
    assert_eq!(asked(json!({"fileName": "a.JPG"})), Some((jpeg, None)));
    for nonsense in [
        json!({}),
        json!({"fileName": "a"}),
        json!({"contentType": 1}),
        json!({"contentType": "a/b", "size": -1}),
        json!({"contentType": "a/b", "size": "1"}),
        json!({"contentType": "a/b", "key": "x"}),
    ] {
        assert_eq!(asked(nonsense.clone()), None, "{nonsense}");
    }
}

#[tokio::test]
async fn nothing_escapes_the_directory() {
    let root = tempfile::tempdir().unwrap();
    let outside = root.path().join("outside.jpg");
    std::fs::write(&outside, b"secret").unwrap();
    let source = partita_design::shipped::find("holdthatthought")
        .unwrap()
        .source;
    let design = partita_design::check(source, &|_| None).0.unwrap();
    let place = Place::Directory(root.path().join("files"));
    let buckets = place.open([&design]).unwrap();
    let bucket = root.path().join("files").join("holdthatthought-archive");
    assert!(bucket.is_dir());
    let store = buckets.store("holdthatthought", "archive").unwrap();

    for name in [
        "../../outside.jpg",
        "messages/../../../outside.jpg",
        "/etc/passwd",
        "messages//x.jpg",
        "./x.jpg",
        "messages/x.jpg/..",
        "messages/x\0.jpg",
        "..\\..\\outside.jpg",
        "C:\\x.jpg",
    ] {
        let found = store.find(name).await;
        assert!(!matches!(found, Ok(Some(_))), "{name:?}: {found:?}");
        // What is written, if anything, is written inside.
        if let Ok(mut upload) = store.begin(name, "image/jpeg").await {
            let part = upload.put_part(axum::body::Bytes::from_static(b"x").into());
            if part.await.is_ok() {
                upload.complete().await.ok();
            }
        }
        let left = std::fs::read_dir(root.path()).unwrap().count();
        assert_eq!(left, 2, "{name:?}");
        assert_eq!(std::fs::read(&outside).unwrap(), b"secret", "{name:?}");
    }
    #[cfg(unix)]
    {
        std::fs::create_dir_all(bucket.join("messages")).unwrap();
        std::os::unix::fs::symlink(&outside, bucket.join("messages/link.jpg")).unwrap();
        std::os::unix::fs::symlink(root.path(), bucket.join("up")).unwrap();
        for name in ["messages/link.jpg", "up/outside.jpg"] {
            assert!(store.find(name).await.unwrap().is_none(), "{name}");
        }
    }
}

#[test]
fn what_a_crash_has_cut_off_is_removed_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let source = partita_design::shipped::find("holdthatthought")
        .unwrap()
        .source;
    let design = partita_design::check(source, &|_| None).0.unwrap();
    let place = Place::Directory(root.path().to_owned());
    place.tidy([&design], None).unwrap();
    let temp = root.path().join("holdthatthought-archive/temp");
    std::fs::create_dir_all(&temp).unwrap();
    for name in [
        "01A.jpg",
        "01B.jpg#1",
        "01C.jpg#12",
        "01D#x.jpg",
        "01E#",
        "01F#1#1",
    ] {
        std::fs::write(temp.join(name), b"x").unwrap();
    }
    place.tidy([&design], Some(std::time::UNIX_EPOCH)).unwrap();
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 6, "all are new");
    place.tidy([&design], None).unwrap();
    let mut left: Vec<String> = std::fs::read_dir(&temp)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["01A.jpg", "01D#x.jpg", "01E#", "01F#1#1"]);
}

/// Everything below a directory that is no directory.
fn files_below(directory: &std::path::Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            let below = files_below(&path).into_iter();
            files.extend(below.map(|file| format!("{name}/{file}")));
        } else {
            files.push(name.to_owned());
        }
    }
    files.sort();
    files
}

#[tokio::test]
async fn a_copy_that_is_made_again_leaves_one_file() {
    let root = tempfile::tempdir().unwrap();
    let source = partita_design::shipped::find("holdthatthought")
        .unwrap()
        .source;
    let design = partita_design::check(source, &|_| None).0.unwrap();
    let place = Place::Directory(root.path().to_owned());
    let objects = place.open([&design]).unwrap().of_design("holdthatthought");
    let bucket = root.path().join("holdthatthought-archive");
    let (upload, file) = ("temp/01A.jpg", "messages/m/01A.jpg");
    std::fs::create_dir_all(bucket.join("temp")).unwrap();
    std::fs::write(bucket.join(upload), b"ann's").unwrap();

    for _ in 0..3 {
        let copies = (0..8).map(|_| objects.copy("archive", upload, file));
        for is_copied in futures::future::join_all(copies).await {
            assert_eq!(is_copied, Ok(partita_plan::Copied::Done));
        }
        assert_eq!(files_below(&bucket), [file, upload]);
    }
    // Over something else too, and only where there is something to copy.
    let other = "temp/01B.jpg";
    std::fs::write(bucket.join(other), b"bob's").unwrap();
    for _ in 0..100 {
        let names = [upload, other].into_iter().cycle().take(8);
        let copies = names.map(|name| objects.copy("archive", name, file));
        for is_copied in futures::future::join_all(copies).await {
            assert_eq!(is_copied, Ok(partita_plan::Copied::Done));
        }
    }
    let is_copied = objects.copy("archive", other, file).await;
    assert_eq!(is_copied, Ok(partita_plan::Copied::Done));
    assert_eq!(std::fs::read(bucket.join(file)).unwrap(), b"bob's");
    assert_eq!(std::fs::read(bucket.join(upload)).unwrap(), b"ann's");
    for name in [upload, other] {
        objects.remove("archive", name).await.unwrap();
        let is_copied = objects.copy("archive", name, file).await;
        assert_eq!(is_copied, Ok(partita_plan::Copied::Missing));
    }
    assert_eq!(files_below(&bucket), [file]);
    objects.remove("archive", file).await.unwrap();
    assert!(files_below(&bucket).is_empty());
}

/// While a backup wants them, removed files go where it finds them; uploads that no item has taken over
/// do not.
#[tokio::test]
async fn removed_files_are_kept_for_a_backup() {
    let root = tempfile::tempdir().unwrap();
    let source = partita_design::shipped::find("holdthatthought")
        .unwrap()
        .source;
    let design = partita_design::check(source, &|_| None).0.unwrap();
    let place = Place::Directory(root.path().join("files"));
    let buckets = place.open([&design]).unwrap();
    let objects = buckets.of_design("holdthatthought");
    let at = |folder: &str, name: &str| {
        let bucket = root.path().join(folder).join("holdthatthought-archive");
        bucket.join(name)
    };
    let names = ["messages/a/b.txt", "temp/c.txt"];
    for is_kept in [false, true] {
        for name in names {
            let file = at("files", name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, name).unwrap();
            objects.remove("archive", name).await.unwrap();
            objects.remove("archive", name).await.unwrap();
            assert!(!file.exists());
            let was_kept = is_kept && name.starts_with("messages");
            assert_eq!(at(KEPT, name).exists(), was_kept, "{name}");
        }
        if !is_kept {
            assert!(!root.path().join(KEPT).exists());
            std::fs::create_dir(root.path().join(KEPT)).unwrap();
        }
    }
    // Another file of the same name is not put over it.
    std::fs::write(at("files", names[0]), "other").unwrap();
    objects.remove("archive", names[0]).await.unwrap();
    let both = [names[0], "messages/a/b.txt#1"];
    let both = both.map(|name| std::fs::read_to_string(at(KEPT, name)).unwrap());
    assert_eq!(both, [names[0], "other"]);
}

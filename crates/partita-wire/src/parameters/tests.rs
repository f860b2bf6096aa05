use super::*;

#[test]
fn tables_have_names_and_arns() {
    for text in [
        "notes",
        "arn:aws:dynamodb:us-east-1:000000000000:table/notes",
        "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/notes",
    ] {
        assert_eq!(
            named_table("tableName", text).unwrap().as_str(),
            "notes",
            "{text}"
        );
    }
    let table = "notes".parse().unwrap();
    assert_eq!(named_table("tableName", &arn(&table)), Ok(table));
}

#[test]
fn what_is_neither_is_refused() {
    for text in [
        "",
        "ab",
        "no way",
        "arn:aws:s3:us-east-1:000000000000:table/notes",
        "arn:aws:dynamodb:us-east-1:000000000000:notes",
        "arn:aws:dynamodb:us-east-1:000000000000:table/",
        "arn:aws:dynamodb:table/notes",
        "é".repeat(100).as_str(),
        "a".repeat(256).as_str(),
    ] {
        assert!(named_table("tableName", text).is_err(), "{text}");
    }
    // A new table cannot be in another's account.
    assert!(new_table("tableName", "arn:aws:dynamodb:a:b:table/notes").is_err());
}

use partita_core::Value;

use super::*;

#[test]
fn what_there_was_no_room_for_can_be_sent_again() {
    let key = Item::from([("pk".to_owned(), Value::from("a"))]);
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/notes";
    let notes: TableName = "notes".parse().unwrap();
    let called = Called::from([(notes.clone(), arn.to_owned())]);
    let unprocessed = vec![
        BatchWrite::Put {
            table: notes.clone(),
            item: key.clone(),
        },
        BatchWrite::Delete(ItemAddress { table: notes, key }),
    ];
    let output = Output {
        unprocessed_items: super::unprocessed(&called, unprocessed.clone()),
        ..Output::default()
    };
    let answer = json::write(&output);
    let json: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    let writes = &json["UnprocessedItems"][arn];
    assert_eq!(writes[0]["PutRequest"]["Item"]["pk"]["S"], "a");
    assert_eq!(writes[1]["DeleteRequest"]["Key"]["pk"]["S"], "a");
    let again = serde_json::json!({ "RequestItems": json["UnprocessedItems"] });
    let (request, ..) = decode(again.to_string().as_bytes()).unwrap();
    assert_eq!(request.writes, unprocessed);
}

//! Answers in a form in which they can be compared.

use serde_json::Value as Json;

use super::Request;

/// A status and a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Json,
}

/// Whether the order of an answer's items is DynamoDB's to define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Fixed,
    Free,
}

impl Order {
    /// Partitions come in any order, and so do items with the same keys of an index.
    pub(super) fn of(request: &Request) -> Order {
        let index = request.body["IndexName"].as_str().unwrap_or_default();
        match request.operation {
            "Scan" => Order::Free,
            "Query" if !index.is_empty() => Order::Free,
            "ExecuteStatement" if !request.body.to_string().contains("ORDER BY") => Order::Free,
            _ => Order::Fixed,
        }
    }
}

impl Answer {
    pub(super) fn new(status: u16, body: &[u8]) -> Self {
        let mut body: Json = serde_json::from_slice(body).unwrap_or(Json::Null);
        // DynamoDB Local spells the name of the message in another way, and the type at length.
        if let Some(map) = body.as_object_mut() {
            if let Some(message) = map.remove("Message") {
                map.insert("message".into(), message);
            }
            if let Some(Json::String(kind)) = map.get_mut("__type") {
                *kind = kind.rsplit('#').next().unwrap_or_default().to_owned();
            }
        }
        Answer { status, body }
    }

    /// The type of the error, if it is one.
    pub(super) fn kind(&self) -> Option<&str> {
        self.body["__type"].as_str()
    }

    /// The words of an error, apart from the rest.
    pub(super) fn split(mut self) -> (Answer, Vec<String>) {
        let mut words = Vec::new();
        let mut take = |json: &mut Json, name: &str| {
            let map = json.as_object_mut();
            if let Some(Json::String(text)) = map.and_then(|map| map.remove(name)) {
                words.push(text);
            }
        };
        if self.status != 200 {
            take(&mut self.body, "message");
            let reasons = self.body["CancellationReasons"].as_array_mut();
            for reason in reasons.into_iter().flatten() {
                take(reason, "Message");
            }
        }
        (self, words)
    }

    /// The parameter of the next page, with its value.
    pub(super) fn take_next(&mut self) -> Option<(&'static str, Json)> {
        let body = self.body.as_object_mut()?;
        let pairs = [
            ("LastEvaluatedKey", "ExclusiveStartKey"),
            ("NextToken", "NextToken"),
        ];
        let mut pairs = pairs.into_iter();
        pairs.find_map(|(answered, asked)| Some((asked, body.remove(answered)?)))
    }

    /// Adds the next page.
    pub(super) fn append(&mut self, mut page: Answer) {
        assert_eq!(page.status, 200, "a cursor must be taken back: {page:?}");
        if let (Some(items), Some(more)) = (
            self.body["Items"].as_array_mut(),
            page.body["Items"].as_array_mut(),
        ) {
            items.append(more);
        }
        for name in ["Count", "ScannedCount"] {
            if let Some((one, two)) = self.body[name].as_u64().zip(page.body[name].as_u64()) {
                self.body[name] = (one + two).into();
            }
        }
        for name in ["LastEvaluatedKey", "NextToken"] {
            if let Some(next) = page.body.as_object_mut().and_then(|it| it.remove(name)) {
                self.body[name] = next;
            }
        }
    }

    /// Without the order of sets, and of items where there is none.
    pub(super) fn normal(mut self, order: Order) -> Self {
        sort_sets(&mut self.body);
        if order == Order::Free {
            sort(&mut self.body["Items"]);
        }
        if let Some(tables) = self.body["Responses"].as_object_mut() {
            tables.values_mut().for_each(sort);
        }
        for absent in ["Items", "Responses"] {
            if let Some(map) = self.body.as_object_mut()
                && map.get(absent) == Some(&Json::Null)
            {
                map.remove(absent);
            }
        }
        self
    }
}

fn sort(list: &mut Json) {
    if let Some(list) = list.as_array_mut() {
        list.sort_by_cached_key(Json::to_string);
    }
}

fn sort_sets(json: &mut Json) {
    match json {
        Json::Object(map) => {
            for (name, inner) in map {
                if matches!(name.as_str(), "SS" | "NS" | "BS") {
                    sort(inner);
                }
                sort_sets(inner);
            }
        }
        Json::Array(list) => list.iter_mut().for_each(sort_sets),
        _ => {}
    }
}

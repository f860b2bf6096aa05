//! Rules know where they stand.

use partita_design::design::Access;
use partita_design::shipped;

#[test]
fn every_rule_of_a_shipped_design_stands_where_it_says() {
    for shipped in shipped::all() {
        let (design, _) = partita_design::check(shipped.source, &|_| None);
        let design = design.unwrap();
        let lines: Vec<&str> = shipped.source.lines().collect();
        for rules in design.records.iter().map(|record| &record.rules) {
            for line in &rules.lines {
                let text = lines[line.line - 1];
                let words = text.split('=').next().unwrap().trim().trim_matches('"');
                assert_eq!(words, line.words, "{}:{}", shipped.name, line.line);
            }
            for (access, rule) in &rules.by_access {
                let line = rules.line(access.word()).unwrap();
                assert!(lines[line.line - 1].contains(rule.text()), "{line:?}");
            }
            for (action, rule) in &rules.by_action {
                let line = rules.line(&design[*action].name).unwrap();
                assert!(lines[line.line - 1].contains(rule.text()), "{line:?}");
            }
            for rule in &rules.by_attribute {
                let line = rules.line(&rule.words).unwrap();
                assert!(lines[line.line - 1].contains(rule.rule.text()), "{line:?}");
            }
            let is_unspoken = rules.by_access.iter().all(|(of, _)| *of != Access::Delete);
            assert_eq!(rules.line("delete").is_none(), is_unspoken);
        }
    }
}

//! The matrix as a Markdown page.

use std::fmt::Write as _;

use partita_design::Design;

use super::{Outcome, Persona, Row, matrix};
use crate::routes::Routes;

/// The page of a design.
pub fn page(design: &Design, routes: &Routes) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write(design, routes, &mut page);
    page
}

fn write(design: &Design, routes: &Routes, page: &mut String) -> std::fmt::Result {
    let name = &design.name;
    writeln!(page, "# Who may do what in `{name}`\n")?;
    writeln!(page, "{INTRODUCTION}")?;
    if let Some(closed) = closed(design) {
        writeln!(page, "{closed}\n")?;
    }
    write!(page, "| request, below `/{name}` | rule |")?;
    for persona in Persona::ALL {
        write!(page, " {} |", persona.word())?;
    }
    writeln!(page, "\n|---|---|---|---|---|---|---|---|")?;
    for row in matrix(design, routes) {
        write_row(&row, page)?;
    }
    Ok(())
}

const INTRODUCTION: &str = "\
Every request that the design answers, and what six callers are told: *yes*, *no*, or the condition
on the item under which it is yes. The owner is whoever the rule compares `caller` with; the
administrator has the role and the group `admin`, and is a stranger otherwise. Of a list, the
condition is asked of every row, and rows that the caller may not read are left out.

*No* is 401 with a token that is not good, and without one where a token could help. Otherwise it is
403, or 404 where a refusal would tell that there is such an item. This page is made from the rules
by `partita access`.
";

/// What is said to somebody whose account is closed, in a design with accounts.
fn closed(design: &Design) -> Option<String> {
    let accounts = design.accounts.as_ref()?;
    let inactive = accounts.active.as_ref().map(|mark| {
        let attribute = &design[accounts.entity].attributes[mark.attribute.index()].name;
        format!(", or not active as `{attribute}` says,")
    });
    let inactive = inactive.unwrap_or_default();
    Some(format!(
        "Somebody whose account is gone{inactive} reads and writes nothing with a token, also where the\n\
         rule is `public`: 401 `account-closed`. Without a token they are nobody."
    ))
}

fn write_row(row: &Row<'_>, page: &mut String) -> std::fmt::Result {
    let rules: Vec<String> = row.rules.iter().map(|rule| code(rule)).collect();
    let route = row.route;
    let request = code(&format!("{} /{}", route.method, route.path));
    write!(page, "| {request} | {} |", rules.join("<br>"))?;
    for outcome in &row.outcomes {
        match outcome {
            Outcome::Yes => write!(page, " yes |")?,
            Outcome::No => write!(page, " no |")?,
            Outcome::If(condition) => write!(page, " if {} |", code(condition))?,
        }
    }
    writeln!(page)
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

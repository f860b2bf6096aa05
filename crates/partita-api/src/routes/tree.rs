//! Paths, part by part: from a request to the routes at its path, or to what was probably meant.

use std::collections::BTreeMap;

use partita_core::excerpt;
use partita_design::design::{PathTemplate, Segment};
use partita_design::spelling;

use super::Route;

/// Paths that share their beginnings.
#[derive(Debug, Default)]
pub(super) struct Tree {
    root: RouteNode,
}

/// What is known of the paths that begin in one way.
#[derive(Debug, Default)]
struct RouteNode {
    /// How they go on with a part that is always the same.
    literals: BTreeMap<String, RouteNode>,
    /// How they go on with a value.
    value: Option<Box<RouteNode>>,
    /// The routes whose path ends here, by their places in the table.
    routes: Vec<usize>,
    /// The path of one of them.
    path: Option<PathTemplate>,
}

/// The routes at one path, and the values in it.
pub(super) type Match<'t, 'p> = (&'t [usize], Vec<&'p str>);

/// How many paths are shown to somebody who is lost.
const SHOWN_MAX: usize = 3;

impl Tree {
    pub(super) fn of(routes: &[Route]) -> Self {
        let mut tree = Tree::default();
        for (at, route) in routes.iter().enumerate() {
            let mut node = &mut tree.root;
            for segment in &route.path.segments {
                node = match segment {
                    Segment::Literal(text) => node.literals.entry(text.clone()).or_default(),
                    Segment::Parameter(_) => node.value.get_or_insert_default(),
                };
            }
            node.routes.push(at);
            node.path.get_or_insert_with(|| route.path.clone());
        }
        tree
    }

    /// All routes that a path fits. There is more than one place only where methods differ: no
    /// two routes answer the same request.
    pub(super) fn matches<'t, 'p>(&'t self, path: &[&'p str]) -> Vec<Match<'t, 'p>> {
        let mut found = Vec::new();
        self.root.matches(path, &mut Vec::new(), &mut found);
        found
    }

    /// A sentence about a path that no route fits: how far it is known, and how it could go on.
    pub(super) fn missing(&self, path: &[&str]) -> String {
        let mut node = &self.root;
        let mut depth = 0;
        for part in path {
            let Some(next) = node.next(part) else { break };
            node = next;
            depth += 1;
        }
        let whole = path.join("/");
        let sentence = format!("there is nothing at `{}`", excerpt::name(&whole));
        let literals = node.literals.keys().map(String::as_str);
        let near = path
            .get(depth)
            .and_then(|part| spelling::nearest(part, literals));
        if let Some(near) = near {
            let meant = [&path[..depth], &[near], &path[depth + 1..]].concat();
            let meant = meant.join("/");
            return format!("{sentence}; did you mean `{}`?", excerpt::name(&meant));
        }
        // At the top the list would be the whole design.
        let mut others = Vec::new();
        if depth > 0 {
            node.paths(&mut others);
        }
        if others.is_empty() {
            sentence
        } else {
            format!("{sentence}; there is {}", spelling::list(&others))
        }
    }
}

impl RouteNode {
    fn matches<'t, 'p>(
        &'t self,
        path: &[&'p str],
        values: &mut Vec<&'p str>,
        found: &mut Vec<Match<'t, 'p>>,
    ) {
        let Some((part, rest)) = path.split_first() else {
            if !self.routes.is_empty() {
                found.push((&self.routes, values.clone()));
            }
            return;
        };
        if let Some(next) = self.literals.get(*part) {
            next.matches(rest, values, found);
        }
        if let Some(next) = self.value_for(part) {
            values.push(part);
            next.matches(rest, values, found);
            values.pop();
        }
    }

    fn next(&self, part: &str) -> Option<&RouteNode> {
        self.literals.get(part).or_else(|| self.value_for(part))
    }

    /// No value is empty: nothing can be called so.
    fn value_for(&self, part: &str) -> Option<&RouteNode> {
        self.value.as_deref().filter(|_| !part.is_empty())
    }

    /// The first paths from here, as they are written.
    fn paths(&self, found: &mut Vec<String>) {
        if found.len() == SHOWN_MAX {
            return;
        }
        found.extend(self.path.as_ref().map(PathTemplate::to_string));
        let next = self.literals.values().chain(self.value.as_deref());
        for next in next {
            next.paths(found);
        }
    }
}

//! The designs that ship with Partita, embedded.

/// A shipped design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name, by which commands find it.
    pub name: &'static str,
    /// Its file.
    pub source: &'static str,
    /// What `partita demo` fills it with.
    pub demo: &'static str,
}

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Shipped {
            name: $name,
            source: include_str!(concat!("../../../designs/", $name, "/", $name, ".toml")),
            demo: include_str!(concat!("../../../designs/", $name, "/", $name, ".demo")),
        }),*]
    };
}

const SHIPPED: &[Shipped] =
    shipped! { "stories" "storyhub" "mediahub" "holdthatthought" "figureforge" };

/// All shipped designs.
pub fn all() -> &'static [Shipped] {
    SHIPPED
}

/// The shipped design of that name.
pub fn find(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|design| design.name == name)
}

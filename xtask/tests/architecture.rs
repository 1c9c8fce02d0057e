//! Dependencies point inwards. Every crate names its layer in its manifest.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// Layers that the shipped code of a layer may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("domain", &["kernel"]),
    ("adapter", &["kernel", "domain"]),
    ("delivery", &["kernel", "domain"]),
    ("composition", &["kernel", "domain", "adapter", "delivery"]),
    ("tooling", &["kernel", "domain", "adapter", "delivery", "composition", "tooling"]),
];

/// Crates that one layer shares: their users, and themselves.
const SHARED: &[(&str, &str)] = &[
    ("pia-storage-", "pia-storage"),
    ("pia-http", "pia-web"),
    ("pia-server", "pia-settings"),
    ("pia-console", "pia-web"),
    ("pia-console", "pia-http"),
    ("pia-mcp", "pia-web"),
    ("pia-scim", "pia-web"),
    ("pia-uplink", "pia-web"),
];

/// Domains that `pia-web` may use: those of its gates. Errors of other domains
/// are translated by the surface that serves them.
const DOMAINS_OF_WEB: &[&str] = &["pia-identity", "pia-policy"];

/// Crates that must not be linked into a domain, however indirectly.
const NOT_IN_DOMAINS: &[&str] = &[
    "actix-web",
    "async-openai",
    "diesel",
    "figment",
    "hyper",
    "libsqlite3-sys",
    "qdrant-client",
    "reqwest",
    "tokio",
    "tokio-postgres",
];

#[test]
fn dependencies_point_inwards() {
    let metadata = load_metadata();
    let layers: BTreeMap<&str, &str> = metadata
        .workspace_packages()
        .into_iter()
        .map(|it| (it.name.as_str(), layer_of(it)))
        .collect();
    let rules: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();

    let mut violations = Vec::new();
    for package in metadata.workspace_packages() {
        let layer = layers[package.name.as_str()];
        let allowed = rules.get(layer).unwrap_or_else(|| panic!("no such layer: {layer}"));
        for dependency in &package.dependencies {
            let Some(used) = layers.get(dependency.name.as_str()) else { continue };
            let is_shared = SHARED
                .iter()
                .any(|(user, what)| package.name.starts_with(user) && dependency.name == **what);
            let is_shipped = dependency.kind != DependencyKind::Development;
            if is_shipped && !is_shared && !allowed.contains(used) {
                violations
                    .push(format!("{} ({layer}) -> {} ({used})", package.name, dependency.name));
            }
        }
    }
    assert!(violations.is_empty(), "dependencies that point outwards:\n{}", violations.join("\n"));
}

#[test]
fn web_depends_on_the_domains_of_its_gates_only() {
    let metadata = load_metadata();
    let packages = metadata.workspace_packages();
    let domains: BTreeSet<&str> =
        packages.iter().filter(|it| layer_of(it) == "domain").map(|it| it.name.as_str()).collect();
    let web = packages.iter().find(|it| it.name == "pia-web").expect("pia-web");
    let used_domains: BTreeSet<&str> = web
        .dependencies
        .iter()
        .map(|it| it.name.as_str())
        .filter(|it| domains.contains(it))
        .collect();

    assert_eq!(used_domains, DOMAINS_OF_WEB.iter().copied().collect());
}

#[test]
fn domains_stay_free_of_infrastructure() {
    let metadata = load_metadata();
    let mut violations = Vec::new();
    for package in metadata.workspace_packages() {
        if ["kernel", "domain"].contains(&layer_of(package)) {
            let linked = linked_into(&metadata, &package.id);
            let refused = NOT_IN_DOMAINS.iter().filter(|name| linked.contains(**name));
            violations.extend(refused.map(|name| format!("{} links {name}", package.name)));
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

fn load_metadata() -> Metadata {
    MetadataCommand::new().exec().expect("cargo metadata")
}

fn layer_of(package: &Package) -> &str {
    package.metadata["architecture"]["layer"].as_str().unwrap_or_else(|| {
        panic!("{} names no [package.metadata.architecture] layer", package.name)
    })
}

/// Returns the names of all packages shipped with a package, itself included.
fn linked_into(metadata: &Metadata, root: &PackageId) -> BTreeSet<String> {
    let nodes: BTreeMap<_, _> =
        metadata.resolve.iter().flat_map(|it| &it.nodes).map(|node| (&node.id, node)).collect();
    let mut todo = vec![root];
    let mut visited = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if !visited.insert(id) {
            continue;
        }
        let dependencies = nodes[id].deps.iter();
        let shipped = dependencies
            .filter(|dep| dep.dep_kinds.iter().any(|it| it.kind == DependencyKind::Normal));
        todo.extend(shipped.map(|dep| &dep.pkg));
    }
    visited.into_iter().map(|id| metadata[id].name.to_string()).collect()
}

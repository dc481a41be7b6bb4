//! The pages of `docs/`: whole configurations on them are good, and every setting stands on one of them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use credgate_support::{deployment::Deployment, pki::Leaf, process::Process};

use crate::refusal::{BOUND, Sample, on};

#[test]
fn every_whole_configuration_on_a_page_is_good() {
    let mut checked = 0;
    for page in pages() {
        for block in blocks(&fs::read_to_string(&page).unwrap()) {
            if block.trim_start().starts_with("[lookup]") {
                accepted(&page, &block);
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "there is none on any page");
}

/// `check-config` has nothing to say of it, in a folder that has the files it names.
fn accepted(page: &Path, block: &str) {
    let deployment = Deployment::mtls();
    let registrar = deployment.ca.issue(&Leaf::client().dns("registrar.credgate.test"));
    registrar.write(deployment.dir(), "registrar");
    let path = deployment.path("credgate.toml");
    fs::write(&path, block).unwrap();
    let ended = Process::run(on(&path, "check-config"), BOUND);
    assert_eq!((ended.exit.code, ended.stderr.as_str()), (Some(0), ""), "{}:\n{block}", page.display());
}

#[test]
fn every_setting_stands_on_the_page_of_all_settings() {
    let text = fs::read_to_string(docs().join("configuration.md")).unwrap();
    let block = blocks(&text).into_iter().find(|block| block.starts_with("[lookup]")).unwrap();
    let documented: toml::Table = block.parse().unwrap();
    let sample = Sample::new();
    for table in known(&sample, "") {
        let shown = &documented[&table];
        let shown = shown.as_array().map_or(shown, |list| &list[0]).as_table().unwrap();
        for key in known(&sample, &table) {
            // The table of a kind is one of several; it has a page of its own.
            if table == "provider" && ["csv", "sql", "python"].contains(&key.as_str()) {
                continue;
            }
            let value = shown.get(&key).unwrap_or_else(|| panic!("{table}.{key} is not in docs/configuration.md"));
            if let Some(inner) = value.as_table() {
                for inner_key in known(&sample, &format!("{table}.{key}")) {
                    assert!(
                        inner.contains_key(&inner_key),
                        "{table}.{key}.{inner_key} is not in docs/configuration.md"
                    );
                }
            }
        }
        let unknown: Vec<&String> = shown.keys().filter(|key| !known(&sample, &table).contains(*key)).collect();
        assert!(unknown.is_empty(), "{table} has no {unknown:?}");
    }
}

#[test]
fn every_setting_of_a_store_stands_on_its_page() {
    let sample = Sample::new();
    for kind in known(&sample, "provider").iter().filter(|key| !["kind", "open_timeout"].contains(&key.as_str())) {
        let page =
            fs::read_to_string(docs().join(format!("{kind}.md"))).unwrap_or_else(|error| panic!("{kind}: {error}"));
        for key in known(&sample, &format!("provider.{kind}")) {
            assert!(
                [format!("`{key}`"), format!("{key} = ")].iter().any(|word| page.contains(word)),
                "provider.{kind}.{key} is not in docs/{kind}.md"
            );
        }
    }
}

#[test]
fn every_table_has_a_page_that_names_its_settings() {
    let sample = Sample::new();
    let text: String = pages()
        .iter()
        .filter(|page| !page.ends_with("configuration.md"))
        .map(|page| fs::read_to_string(page).unwrap())
        .collect();
    for table in known(&sample, "").iter().filter(|table| *table != "provider") {
        for key in known(&sample, table) {
            let word = [format!("`{key}`"), format!("`{key}."), format!("`{key} "), format!("`[{table}] {key}")];
            assert!(word.iter().any(|word| text.contains(word)), "{table}.{key} stands on no page");
        }
    }
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap();
            if !file.is_empty() && !file.contains("://") {
                assert!(page.with_file_name(file).exists(), "{} links to {target}", page.display());
            }
        }
    }
}

/// The settings that the code knows in a table, learned from what it answers to one that is like no other.
fn known(sample: &Sample, table: &str) -> BTreeSet<String> {
    let odd = "zzzzzzzzzzzzzzzzzzzz";
    let text = match table {
        "" => format!("{odd} = 1\n"),
        "identity" => format!("[[identity]]\n{odd} = 1\n"),
        table if table.starts_with("provider.") => {
            format!("[provider]\nkind = \"{}\"\n[{table}]\n{odd} = 1\n", &table[9..])
        }
        table => format!("[{table}]\n{odd} = 1\n"),
    };
    let said = sample.run("check-config", &text).stderr;
    let line = said.lines().find(|line| line.contains(&format!("{odd}: is not a setting; known here: ")));
    let line = line.unwrap_or_else(|| panic!("{table}: {said}"));
    line.split("known here: ").nth(1).unwrap().split(", ").map(str::to_owned).collect()
}

/// The ```toml blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

fn pages() -> Vec<PathBuf> {
    let pages = fs::read_dir(docs()).unwrap().map(|entry| entry.unwrap().path());
    let readme = docs().join("../README.md");
    pages
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .chain([readme].into_iter().filter(|path| path.exists()))
        .collect()
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

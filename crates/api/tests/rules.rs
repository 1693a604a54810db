//! Every validation rule takes a good object and refuses a bad one, with the sentence its users will read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod examples;

use std::collections::BTreeSet;

use examples::{Kind, examples};
use kube_cel::Validator;
use quorate_api::Rule;
use serde_json::Value;

fn schema_of(kind: Kind) -> Value {
    let crd = match kind {
        Kind::FoundationDBCluster => quorate_api::foundationdb_crd(),
        Kind::LogSet => quorate_api::logset_crd(),
    };
    let mut schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    double_underscores(&mut schema);
    schema
}

/// kube-cel 0.8 knows a field `a_b` as `a__b`, the API server knows it as `a_b`: tell it what it expects to hear.
fn double_underscores(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for key in ["rule", "messageExpression"] {
                if let Some(Value::String(text)) = map.get_mut(key) {
                    *text = text.replace("redundancy_mode", "redundancy__mode");
                }
            }
            map.values_mut().for_each(double_underscores);
        }
        Value::Array(items) => items.iter_mut().for_each(double_underscores),
        _ => {}
    }
}

fn rules_of(kind: Kind) -> Vec<Rule> {
    match kind {
        Kind::FoundationDBCluster => quorate_api::foundationdb::rules(),
        Kind::LogSet => quorate_api::logset::rules(),
    }
}

fn complaints(schema: &Value, object: &Value, before: Option<&Value>) -> Vec<String> {
    match Validator::new().validate(schema, object, before) {
        Ok(()) => vec![],
        Err(errors) => errors.iter().map(|error| error.message.clone()).collect(),
    }
}

#[test]
fn a_good_object_passes_and_a_bad_one_fails_with_the_message() {
    for kind in Kind::ALL {
        let schema = schema_of(kind);
        for example in examples(kind) {
            let before = example.before();
            if let Some(before) = &before {
                assert_eq!(complaints(&schema, before, None), Vec::<String>::new(), "{}: before", example.rule);
            }
            assert_eq!(complaints(&schema, &example.good(), before.as_ref()), Vec::<String>::new(), "{}: good", example.rule);
            let complaints = complaints(&schema, &example.bad(), before.as_ref());
            assert!(complaints.contains(&example.says), "{}: bad\nexpected {}\ngot {complaints:#?}", example.rule, example.says);
        }
    }
}

#[test]
fn every_rule_has_an_example_and_every_example_a_rule() {
    for kind in Kind::ALL {
        let shown: BTreeSet<_> = examples(kind).into_iter().map(|example| example.rule).collect();
        let rules: BTreeSet<_> = rules_of(kind).iter().map(|rule| rule.name.to_owned()).collect();
        assert_eq!(shown, rules, "{kind:?}");
    }
}

#[test]
fn the_table_in_the_docs_is_made_from_these_examples() {
    let mut page = String::from(
        "# What is refused, and what it says\n\n\
         Every rule below is part of the CRDs, so the API server itself refuses the object, with the sentence in the last column; nothing\n\
         is changed by a refused request. The examples are those of the tests: each was refused by a real kube-apiserver.\n",
    );
    for kind in Kind::ALL {
        page.push_str(&format!("\n## {}\n\n| rule | where | refused | message |\n|---|---|---|---|\n", kind.name()));
        let rules = rules_of(kind);
        for example in examples(kind) {
            let rule = rules.iter().find(|rule| rule.name == example.rule).unwrap();
            let place = if rule.at.is_empty() { "the object" } else { &rule.at };
            let escaped = |text: &str| text.replace('|', "\\|");
            page.push_str(&format!(
                "| {} | `{place}` | {} | {} |\n",
                rule.name,
                escaped(&example.shown()),
                escaped(&example.says)
            ));
        }
    }
    page.push_str("\nGenerated from `crates/api/tests/rules/`; run the tests with `QUORATE_UPDATE=1` to write it anew.\n");
    examples::assert_generated("docs/validation.md", &page);
}

//! Fields that a schema does not know: they are removed, and reported.

use std::collections::BTreeMap;

use serde_json::Value;

use super::path::Path;

/// What a schema says of which fields there are. It is taken out of the schema once, for every write is held against it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownFields {
    named: BTreeMap<String, KnownFields>,
    /// What is under any other name.
    others: Option<Box<KnownFields>>,
    items: Option<Box<KnownFields>>,
    preserves_others: bool,
    is_embedded_resource: bool,
}

/// Of what a schema says nothing about.
static NONE: KnownFields =
    KnownFields { named: BTreeMap::new(), others: None, items: None, preserves_others: false, is_embedded_resource: false };

impl KnownFields {
    pub(crate) fn of(schema: &Value) -> Self {
        let additional = schema.get("additionalProperties").filter(|additional| **additional != Value::Bool(false));
        let properties = schema["properties"].as_object().into_iter().flatten();
        Self {
            named: properties.map(|(name, child)| (name.clone(), Self::of(child))).collect(),
            others: additional.map(|child| Box::new(Self::of(child))),
            items: schema.get("items").map(|child| Box::new(Self::of(child))),
            preserves_others: schema["x-kubernetes-preserve-unknown-fields"] == true,
            is_embedded_resource: schema["x-kubernetes-embedded-resource"] == true,
        }
    }

    /// Removes what is not known and says where it was. The root's own `metadata` is not the schema's business.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut found = vec![];
        self.prune_at(object, Path::Root, true, &mut found);
        found
    }

    fn prune_at(&self, value: &mut Value, path: Path<'_>, is_resource: bool, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                let is_not_ours = |name: &str| is_resource && ["apiVersion", "kind", "metadata"].contains(&name);
                let child = |name: &str| self.named.get(name).or(self.others.as_deref());
                let before = found.len();
                for (name, value) in map.iter_mut().filter(|(name, _)| !is_not_ours(name)) {
                    if let Some(child) = child(name) {
                        child.prune_at(value, path.field(name), child.is_embedded_resource, found);
                    } else if !self.preserves_others {
                        found.push(path.field(name).into());
                    }
                }
                // Hardly ever is there anything to remove, and looking for it takes longer than finding it out.
                if found.len() > before && !self.preserves_others {
                    map.retain(|name, _| is_not_ours(name) || child(name).is_some());
                }
            }
            Value::Array(items) => {
                let child = self.items.as_deref().unwrap_or(&NONE);
                for (index, item) in items.iter_mut().enumerate() {
                    child.prune_at(item, path.item(index), child.is_embedded_resource, found);
                }
            }
            _ => {}
        }
    }
}

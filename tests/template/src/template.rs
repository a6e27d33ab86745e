//! The template as data: YAML with CloudFormation's short forms written out (`!Ref x` is `{"Ref": "x"}`).

use std::path::PathBuf;

use saphyr::{LoadableYamlNode as _, ScalarOwned, YamlOwned};
use serde_json::{Map, Number, Value, json};

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template(Value);

impl Template {
    /// The text of the one that is deployed.
    ///
    /// # Panics
    /// When it is not there.
    #[must_use]
    pub fn text() -> String {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../infra/template.yaml");
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The one that is deployed.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn deployed() -> Self {
        Self::parse(&Self::text())
    }

    /// # Panics
    /// When it is no YAML.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let documents = YamlOwned::load_from_str(text).unwrap_or_else(|error| panic!("no YAML: {error}"));
        Self(written_out(&documents[0]))
    }

    /// What stands at a JSON pointer; null when nothing does.
    #[must_use]
    pub fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// Every resource of a type, with its name and its properties.
    #[must_use]
    pub fn resources(&self, kind: &str) -> Vec<(&str, &Value)> {
        let all = self.0["Resources"].as_object().into_iter().flatten();
        all.filter(|(_, resource)| resource["Type"] == kind)
            .map(|(name, resource)| (name.as_str(), &resource["Properties"]))
            .collect()
    }

    /// The properties of one resource; null when there is none of this name.
    #[must_use]
    pub fn properties(&self, name: &str) -> &Value {
        self.at(&format!("/Resources/{name}/Properties"))
    }

    /// The same template without one resource.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut template = self.clone();
        if let Some(resources) = template.0["Resources"].as_object_mut() {
            resources.remove(name);
        }
        template
    }

    /// A number as it is deployed when nobody says otherwise: itself, or its parameter's default.
    #[must_use]
    pub fn number(&self, value: &Value) -> Option<u64> {
        match value.get("Ref").and_then(Value::as_str) {
            Some(parameter) => self.at(&format!("/Parameters/{parameter}/Default")).as_u64(),
            None => value.as_u64(),
        }
    }

    /// A text with parameters' defaults, names of resources and pseudo parameters filled in, for settings that a test
    /// starts an executable with.
    #[must_use]
    pub fn filled(&self, value: &Value) -> Option<String> {
        if let Some(text) = value.as_str() {
            return Some(text.to_owned());
        }
        if let Some(number) = value.as_u64() {
            return Some(number.to_string());
        }
        if let Some(name) = value.get("Ref").and_then(Value::as_str) {
            return match name {
                "AWS::NoValue" => None,
                _ => {
                    let default = self.at(&format!("/Parameters/{name}/Default"));
                    if default.is_null() { Some(name.to_owned()) } else { self.filled(default) }
                }
            };
        }
        let text = value.get("Fn::Sub").and_then(Value::as_str)?;
        let mut filled = text.to_owned();
        for name in placeholders(text) {
            let inner = self.filled(&json!({"Ref": name})).unwrap_or_default();
            filled = filled.replace(&format!("${{{name}}}"), &inner);
        }
        Some(filled)
    }
}

/// The names in `${…}`.
#[must_use]
pub fn placeholders(text: &str) -> Vec<&str> {
    text.split("${").skip(1).filter_map(|rest| rest.split('}').next()).collect()
}

/// `!GetAtt A.Arn` and `!Sub ${A.Arn}/…` name A; `!Ref A` too.
#[must_use]
pub fn names_resource(value: &Value) -> Option<&str> {
    if let Some(name) = value.get("Ref").and_then(Value::as_str) {
        return Some(name);
    }
    if let Some(path) = value.get("Fn::GetAtt").and_then(Value::as_str) {
        return path.split('.').next();
    }
    let text = value.get("Fn::Sub").and_then(Value::as_str)?;
    placeholders(text)
        .into_iter()
        .find(|name| !name.starts_with("AWS::"))
        .and_then(|name| name.split('.').next())
}

fn written_out(node: &YamlOwned) -> Value {
    match node {
        YamlOwned::Tagged(tag, inner) => {
            let name = match tag.suffix.as_str() {
                "Ref" => "Ref".to_owned(),
                "Condition" => "Condition".to_owned(),
                other => format!("Fn::{other}"),
            };
            json!({name: written_out(inner)})
        }
        YamlOwned::Mapping(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| (key_of(key), written_out(value)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
        YamlOwned::Sequence(items) => items.iter().map(written_out).collect(),
        YamlOwned::Value(scalar) => match scalar {
            ScalarOwned::Null => Value::Null,
            ScalarOwned::Boolean(value) => json!(value),
            ScalarOwned::Integer(value) => json!(value),
            ScalarOwned::FloatingPoint(value) => Number::from_f64(value.0).map_or(Value::Null, Value::Number),
            ScalarOwned::String(text) => json!(text),
        },
        YamlOwned::Representation(..) | YamlOwned::Alias(_) | YamlOwned::BadValue => {
            panic!("the parser left something unread: {node:?}")
        }
    }
}

fn key_of(key: &YamlOwned) -> String {
    let key = written_out(key);
    key.as_str().map_or_else(|| key.to_string(), str::to_owned)
}

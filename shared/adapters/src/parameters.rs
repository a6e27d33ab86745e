//! Settings that live in SSM parameters: read all in one call, never written to the environment.

use aws_sdk_ssm::Client;
use aws_sdk_ssm::types::Parameter;

use crate::aws;
use crate::config::{ConfigError, Environment};
use crate::rotation::Settings;

/// The settings of a function: its environment, and what stands in parameters that the environment names.
pub struct InParameters {
    environment: Environment,
    used: &'static [&'static str],
    client: Client,
}

impl InParameters {
    /// `used` are the settings of this function that may stand in a parameter.
    #[must_use]
    pub fn new(environment: Environment, used: &'static [&'static str], client: Client) -> Self {
        Self { environment, used, client }
    }
}

impl Settings for InParameters {
    fn may_change(&self) -> bool {
        self.environment.parameters(self.used).is_ok_and(|wanted| !wanted.is_empty())
    }

    async fn read(&self) -> Result<Environment, ConfigError> {
        Ok(resolve(self.environment.clone(), self.used, &self.client).await?)
    }
}

/// The parameter of this name; a setting may give it by its ARN as well.
#[must_use]
pub fn called<'a>(found: &'a [Parameter], name: &str) -> Option<&'a Parameter> {
    found.iter().find(|parameter| parameter.name() == Some(name) || parameter.arn() == Some(name))
}

/// Why a setting could not be filled in; the text names it.
#[derive(Debug, thiserror::Error)]
pub enum Unresolved {
    /// It is given twice, or by the name of no parameter.
    #[error(transparent)]
    Wrong(#[from] ConfigError),
    /// SSM gave no answer, or a refusal.
    #[error(transparent)]
    NotRead(ConfigError),
}

impl From<Unresolved> for ConfigError {
    fn from(unresolved: Unresolved) -> Self {
        match unresolved {
            Unresolved::Wrong(error) | Unresolved::NotRead(error) => error,
        }
    }
}

/// Fills in every setting of `used` that is given by a parameter's name.
///
/// # Errors
/// A parameter that does not exist, is empty or cannot be read, named by its setting.
pub async fn resolve(
    environment: Environment,
    used: &[&str],
    client: &Client,
) -> Result<Environment, Unresolved> {
    let wanted = environment.parameters(used)?;
    if wanted.is_empty() {
        return Ok(environment);
    }
    let names: Vec<String> = wanted.iter().map(|(_, parameter)| parameter.clone()).collect();
    let answer = client.get_parameters().set_names(Some(names)).with_decryption(true).send().await.map_err(
        |error| {
            let settings: Vec<String> = wanted.iter().map(|(name, _)| format!("{name}_PARAMETER")).collect();
            let cause = aws::cause(&error);
            Unresolved::NotRead(ConfigError::of(
                &settings.join(", "),
                format!("could not be read from SSM: {cause}"),
            ))
        },
    )?;
    let mut filled = environment;
    for (name, parameter) in wanted {
        let value = called(answer.parameters(), &parameter)
            .and_then(|found| found.value())
            .ok_or_else(|| ConfigError::of(&format!("{name}_PARAMETER"), "names no SSM parameter"))?;
        filled = filled.with(&name, value);
    }
    Ok(filled)
}

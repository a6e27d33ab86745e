//! Settings that live in SSM parameters: read all in one call, never written to the environment.

use aws_sdk_ssm::Client;
use aws_sdk_ssm::types::Parameter;
use docket_domain::status::Cause;

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
        resolve(self.environment.clone(), self.used, &self.client).await
    }
}

/// What SSM holds for one setting.
#[derive(Debug)]
pub struct Found {
    /// `WEBHOOK_SECRET`, say.
    pub setting: String,
    /// The name that the setting gives; it may be an ARN as well.
    pub name: String,
    /// None: there is none of this name.
    pub parameter: Option<Parameter>,
}

/// SSM gave no answer, or a refusal.
#[derive(Debug, thiserror::Error)]
#[error("{settings} could not be read from SSM: {cause}")]
pub struct NotRead {
    pub settings: String,
    pub cause: Cause,
}

impl From<NotRead> for ConfigError {
    fn from(error: NotRead) -> Self {
        Self::of(&error.settings, format!("could not be read from SSM: {}", error.cause))
    }
}

/// Reads the parameters of these settings, each with the parameter's name, all in one call.
///
/// # Errors
/// None of them could be read.
pub async fn read(wanted: Vec<(String, String)>, client: &Client) -> Result<Vec<Found>, NotRead> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = wanted.iter().map(|(_, name)| name.clone()).collect();
    let call = client.get_parameters().set_names(Some(names)).with_decryption(true);
    let answer = call.send().await.map_err(|error| {
        let settings: Vec<String> =
            wanted.iter().map(|(setting, _)| format!("{setting}_PARAMETER")).collect();
        NotRead { settings: settings.join(", "), cause: aws::cause(&error) }
    })?;
    let of = |name: &str| {
        let is = |parameter: &&Parameter| parameter.name() == Some(name) || parameter.arn() == Some(name);
        answer.parameters().iter().find(is).cloned()
    };
    Ok(wanted.into_iter().map(|(setting, name)| Found { parameter: of(&name), setting, name }).collect())
}

/// The environment with what was found.
///
/// # Errors
/// A setting that names no parameter.
pub fn fill(environment: Environment, found: &[Found]) -> Result<Environment, ConfigError> {
    found.iter().try_fold(environment, |filled, found| {
        let value = found.parameter.as_ref().and_then(Parameter::value);
        let value = value.ok_or_else(|| {
            ConfigError::of(&format!("{}_PARAMETER", found.setting), "names no SSM parameter")
        })?;
        Ok(filled.with(&found.setting, value))
    })
}

/// Fills in every setting of `used` that is given by a parameter's name.
///
/// # Errors
/// A parameter that does not exist, is empty or cannot be read, named by its setting.
pub async fn resolve(
    environment: Environment,
    used: &[&str],
    client: &Client,
) -> Result<Environment, ConfigError> {
    let found = read(environment.parameters(used)?, client).await?;
    fill(environment, &found)
}

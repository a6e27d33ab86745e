//! Settings that live in SSM parameters: read once at start, all in one call, never written to the environment.

use aws_sdk_ssm::Client;

use crate::config::{ConfigError, Environment};

/// Fills in every setting of `used` that is given by a parameter's name.
///
/// # Errors
/// A parameter that does not exist, is empty or cannot be read, named by its setting.
pub async fn resolve(
    environment: Environment,
    used: &[&str],
    client: &Client,
) -> Result<Environment, ConfigError> {
    let wanted = environment.parameters(used)?;
    if wanted.is_empty() {
        return Ok(environment);
    }
    let names: Vec<String> = wanted.iter().map(|(_, parameter)| parameter.clone()).collect();
    let answer =
        client.get_parameters().set_names(Some(names)).with_decryption(true).send().await.map_err(|_| {
            let settings: Vec<String> = wanted.iter().map(|(name, _)| format!("{name}_PARAMETER")).collect();
            ConfigError::of(&settings.join(", "), "could not be read from SSM")
        })?;
    let mut filled = environment;
    for (name, parameter) in wanted {
        let value = answer
            .parameters()
            .iter()
            .find(|found| found.name() == Some(parameter.as_str()) || found.arn() == Some(parameter.as_str()))
            .and_then(|found| found.value())
            .ok_or_else(|| ConfigError::of(&format!("{name}_PARAMETER"), "names no SSM parameter"))?;
        filled = filled.with(&name, value);
    }
    Ok(filled)
}

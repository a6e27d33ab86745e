//! Tables that outlive the stack, functions of which each has its own binary and log, one door, and roles without a star.

use serde_json::{Value, json};

use crate::sources::FUNCTIONS;
use crate::template::{Template, names_resource};

const SCHEDULE_ROLE: &str = "ScheduleRole";

/// Keys, indexes, expiry, recovery, encryption, and what keeps a table from being lost.
#[must_use]
pub fn tables(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, key, kind) in [("SubmissionsTable", "reference", "S"), ("ConversationsTable", "chat_id", "N")]
    {
        let table = template.properties(name);
        let mut must = |holds: bool, what: &str| {
            if !holds {
                found.push(format!("{name} {what}"));
            }
        };
        for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
            must(
                template.at(&format!("/Resources/{name}/{policy}")) == "Retain",
                "may be deleted with the stack",
            );
        }
        must(table["KeySchema"] == json!([{"AttributeName": key, "KeyType": "HASH"}]), "has another key");
        must(kind_of(table, key) == kind, "has a key of another type");
        must(table["BillingMode"] == "PAY_PER_REQUEST", "is not on demand");
        must(
            table["TimeToLiveSpecification"] == json!({"AttributeName": "expires_at", "Enabled": true}),
            "never forgets",
        );
        must(
            table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] == true,
            "cannot be recovered",
        );
        must(table["SSESpecification"]["SSEEnabled"] == true, "is not encrypted");
        must(table["DeletionProtectionEnabled"]["Ref"] == "DeletionProtection", "can be deleted by a slip");
        // A named table cannot be replaced unnoticed: a changed key is refused.
        must(table["TableName"].is_object(), "has no name, so that a changed key would replace it");
    }
    must_have_index(template, "due", ("due_shard", "S"), ("due_at", "N"), &mut found);
    must_have_index(template, "reviews", ("review", "S"), ("review_since", "N"), &mut found);
    found
}

fn kind_of<'t>(table: &'t Value, attribute: &str) -> &'t str {
    let all = table["AttributeDefinitions"].as_array().into_iter().flatten();
    let found = all.into_iter().find(|one| one["AttributeName"] == attribute);
    found.and_then(|one| one["AttributeType"].as_str()).unwrap_or_default()
}

fn must_have_index(
    template: &Template,
    name: &str,
    partition: (&str, &str),
    sort: (&str, &str),
    found: &mut Vec<String>,
) {
    let table = template.properties("SubmissionsTable");
    let all = table["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
    let index = all.into_iter().find(|index| index["IndexName"] == name);
    let keys = json!([
        {"AttributeName": partition.0, "KeyType": "HASH"},
        {"AttributeName": sort.0, "KeyType": "RANGE"},
    ]);
    let fits = index.is_some_and(|index| index["KeySchema"] == keys)
        && kind_of(table, partition.0) == partition.1
        && kind_of(table, sort.0) == sort.1;
    if !fits {
        found.push(format!("the index {name} is missing or has other keys"));
    }
}

/// Each function has a binary, a log group with an end, a role and a runtime of its own.
#[must_use]
pub fn functions(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let levels = template.at("/Parameters/LogLevel/AllowedValues");
    if levels.as_array().is_none_or(|all| all.iter().any(|level| level == "WARN" || level == "ERROR")) {
        found.push("a log level at which Lambda drops metrics may be chosen".into());
    }
    if template.at("/Globals/Function/Runtime") != "provided.al2023"
        || template.at("/Globals/Function/Handler") != "bootstrap"
    {
        found.push("the functions have another runtime".into());
    }
    for function in FUNCTIONS {
        let properties = template.properties(function);
        let binary = function.to_lowercase();
        let mut must = |holds: bool, what: &str| {
            if !holds {
                found.push(format!("{function} {what}"));
            }
        };
        let metadata = template.at(&format!("/Resources/{function}/Metadata"));
        must(metadata["BuildProperties"]["Binary"] == binary.as_str(), "is built from another binary");
        must(properties["CodeUri"] == format!("../functions/{binary}"), "has another folder's code");
        must(
            properties["Role"]["Fn::GetAtt"] == format!("{function}Role.Arn"),
            "has another function's role",
        );
        let logging = &properties["LoggingConfig"];
        must(logging["LogFormat"] == "JSON", "does not log JSON");
        must(logging["ApplicationLogLevel"]["Ref"] == "LogLevel", "has its own log level");
        // At WARN Lambda would not write the report lines that say a function ran out of time.
        must(logging["SystemLogLevel"] == "INFO", "does not report its runs");
        must(logging["LogGroup"]["Ref"] == format!("{function}Logs"), "logs into another group");
        let group = template.properties(&format!("{function}Logs"));
        must(group["RetentionInDays"]["Ref"] == "LogRetentionDays", "keeps its logs for ever");
        must(
            group["LogGroupName"]["Fn::Sub"] == format!("/aws/lambda/${{AWS::StackName}}-{binary}"),
            "has a log group of another name",
        );
        must(
            properties["FunctionName"]["Fn::Sub"] == format!("${{AWS::StackName}}-{binary}"),
            "has another name",
        );
    }
    found
}

/// One route, throttled, and only API Gateway may call through it.
#[must_use]
pub fn door(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("the door {what}"));
        }
    };
    let routes = template.resources("AWS::ApiGatewayV2::Route");
    must(
        matches!(routes.as_slice(), [(_, route)] if route["RouteKey"] == "POST /telegram"),
        "has another route",
    );
    let integration = template.properties("ApiIntegration");
    must(integration["PayloadFormatVersion"] == "2.0", "speaks another version");
    must(names_resource(&integration["IntegrationUri"]) == Some("Webhook"), "leads elsewhere");
    let throttling = &template.properties("ApiStage")["DefaultRouteSettings"];
    must(throttling["ThrottlingRateLimit"].as_u64().is_some(), "is not throttled");
    must(throttling["ThrottlingBurstLimit"].as_u64().is_some(), "is not throttled in bursts");
    let permission = template.properties("ApiMayInvokeWebhook");
    must(permission["Principal"] == "apigateway.amazonaws.com", "is not API Gateway's");
    must(permission["Action"] == "lambda:InvokeFunction", "cannot be gone through");
    must(
        permission["SourceArn"]["Fn::Sub"].as_str().is_some_and(|arn| arn.contains("${Api}")),
        "is open to any API",
    );
    found
}

/// Every log ends, the door's too.
#[must_use]
pub fn logs(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, group) in template.resources("AWS::Logs::LogGroup") {
        if group["RetentionInDays"]["Ref"] != "LogRetentionDays" {
            found.push(format!("{name} keeps what it has for ever"));
        }
    }
    for (name, stage) in template.resources("AWS::ApiGatewayV2::Stage") {
        let written = names_resource(&stage["AccessLogSettings"]["DestinationArn"]).unwrap_or_default();
        if template.properties(written).is_null() {
            found.push(format!("{name} writes its access log into a group without an end"));
        }
        // What a request or an answer says is a customer's.
        let line = stage["AccessLogSettings"]["Format"].as_str().unwrap_or_default();
        if line.contains("$context.authorizer") || line.contains("body") || line.contains("sourceIp") {
            found.push(format!("{name} logs more than how a request went"));
        }
    }
    found
}

/// No role has a star, and each is assumed by its service alone.
#[must_use]
pub fn policies(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, role) in template.resources("AWS::IAM::Role") {
        if role.get("ManagedPolicyArns").is_some() {
            found.push(format!("{name} has a policy that somebody else may widen"));
        }
        let service = if name == SCHEDULE_ROLE { "scheduler.amazonaws.com" } else { "lambda.amazonaws.com" };
        let assumed = &role["AssumeRolePolicyDocument"]["Statement"];
        if assumed.as_array().is_none_or(|all| all.len() != 1)
            || assumed[0]["Principal"] != json!({"Service": service})
        {
            found.push(format!("{name} may be assumed by others than {service}"));
        }
        for (action, resource) in allowed_by(role) {
            if action.contains('*') || resource.contains('*') || resource.is_empty() {
                found.push(format!("{name} may {action} on {resource}"));
            }
        }
    }
    found
}

/// The sweeper's schedule: it acts by a role that may start the sweeper and do nothing else.
#[must_use]
pub fn schedule(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let sweeper = template.properties("Sweeper");
    let clock = &sweeper["Events"]["EveryMinute"]["Properties"];
    if clock["RoleArn"]["Fn::GetAtt"] != format!("{SCHEDULE_ROLE}.Arn") {
        found.push("the schedule acts by another role".to_owned());
    }
    let name = sweeper["FunctionName"]["Fn::Sub"].as_str().unwrap_or_default();
    let wanted =
        format!("arn:${{AWS::Partition}}:lambda:${{AWS::Region}}:${{AWS::AccountId}}:function:{name}");
    let policies = &template.properties(SCHEDULE_ROLE)["Policies"];
    let statements = &policies[0]["PolicyDocument"]["Statement"];
    let one = policies.as_array().is_some_and(|all| all.len() == 1)
        && statements.as_array().is_some_and(|all| all.len() == 1);
    let statement = &statements[0];
    if !one
        || statement["Effect"] != "Allow"
        || statement["Action"] != "lambda:InvokeFunction"
        || statement["Resource"]["Fn::Sub"] != wanted
    {
        found.push("the schedule may do something else than start the sweeper".to_owned());
    }
    found
}

/// What a function's role allows, as (action, resource): of a table, queue or log group its name in the template (an index
/// after a slash), of a parameter its ARN's end.
#[must_use]
pub fn allowed(template: &Template, function: &str) -> Vec<(String, String)> {
    allowed_by(template.properties(&format!("{function}Role")))
}

fn allowed_by(role: &Value) -> Vec<(String, String)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let mut allowed = Vec::new();
    for policy in role["Policies"].as_array().into_iter().flatten() {
        for statement in list(&policy["PolicyDocument"]["Statement"]) {
            for action in list(&statement["Action"]) {
                for resource in list(&statement["Resource"]) {
                    let action = action.as_str().unwrap_or("*").to_owned();
                    allowed.push((action, resource_name(&resource)));
                }
            }
        }
    }
    allowed
}

fn resource_name(resource: &Value) -> String {
    if let Some(chosen) = resource["Fn::If"].as_array() {
        return chosen.get(1).map(resource_name).unwrap_or_default();
    }
    match resource["Fn::Sub"].as_str() {
        Some(text) if text.contains(":parameter") => {
            text.rsplit(":parameter").next().unwrap_or_default().to_owned()
        }
        Some(text) if text.contains("/index/") => {
            let name = names_resource(resource).unwrap_or_default();
            format!("{name}/{}", text.rsplit("/index/").next().unwrap_or_default())
        }
        Some(text) if text.contains(":function:") => "Sweeper".to_owned(),
        Some(_) | None => {
            resource.as_str().or_else(|| names_resource(resource)).unwrap_or_default().to_owned()
        }
    }
}

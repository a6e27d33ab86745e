//! The deployed template, and that a slip in it does not go unnoticed.

use docket_template::firing::MUST;
use docket_template::log_filter::{Raises, lines, matches};
use docket_template::{Template, findings};

#[test]
fn the_template_fits_the_code_that_it_deploys() {
    assert_eq!(findings(&Template::deployed()), Vec::<String>::new());
}

/// A slip: what is written, what is written in its place, and a word of the finding.
const SLIPS: &[(&str, &str, &str)] = &[
    // Event sources.
    ("            FunctionResponseTypes: [ReportBatchItemFailures]\n", "", "does not listen"),
    ("            ScalingConfig: {MaximumConcurrency: 2}\n", "", "without a bound"),
    ("MaximumConcurrency: 2", "MaximumConcurrency: 1", "without a bound"),
    (
        "AcknowledgeQueue.Arn\n            BatchSize: 10\n            FunctionResponseTypes: [ReportBatchItemFailures]\n            \
         ScalingConfig: {MaximumConcurrency: 2}",
        "AcknowledgeQueue.Arn\n            BatchSize: 10\n            FunctionResponseTypes: [ReportBatchItemFailures]\n            \
         ScalingConfig: {MaximumConcurrency: 3}",
        "meant for 2 at once",
    ),
    ("BatchSize: 10", "BatchSize: 100", "batches of 100"),
    ("Queue: !GetAtt WriteQueue.Arn", "Queue: !GetAtt AcknowledgeQueue.Arn", "nothing wakes the Writer"),
    ("rate(1 minute)", "rate(5 minutes)", "every minute"),
    (
        "      Timeout: !Ref WorkerTimeoutSeconds\n",
        "      Timeout: !Ref WorkerTimeoutSeconds\n      ReservedConcurrentExecutions: 1\n",
        "Writer starves",
    ),
    // A function that rings its own queue.
    (
        "                Action: sqs:SendMessage\n                Resource: !GetAtt AcknowledgeQueue.Arn",
        "                Action: sqs:SendMessage\n                Resource: !GetAtt WriteQueue.Arn",
        "wakes itself",
    ),
    // Times.
    ("    Default: 540\n", "    Default: 360\n", "VisibilitySeconds"),
    (
        "      VisibilityTimeout: !Ref VisibilitySeconds\n",
        "      VisibilityTimeout: 90\n",
        "hides a message for 90 s",
    ),
    (
        "            Queue: !GetAtt AcknowledgeQueue.Arn\n",
        "            Queue: !GetAtt AcknowledgeQueue.Arn\n            MaximumBatchingWindowInSeconds: 5\n",
        "after 5 s of gathering",
    ),
    (
        "            Queue: !GetAtt WriteQueue.Arn\n",
        "            Queue: !GetAtt WriteQueue.Arn\n            MaximumBatchingWindowInSeconds: 5\n",
        "gathers no batches",
    ),
    ("    Default: 90\n    MaxValue: 900", "    Default: 130\n    MaxValue: 900", "outlive its own lease"),
    ("    Default: 25000", "    Default: 95000", "AppendTimeoutMs"),
    ("    Default: 300\n    MinValue: 1", "    Default: 120\n    MinValue: 1", "SettleSeconds"),
    ("maxReceiveCount: 10", "maxReceiveCount: 3", "after 3 tries"),
    ("      Timeout: 28", "      Timeout: 60", "its door closes"),
    ("      Timeout: 50", "      Timeout: 90", "into the next one"),
    // Queues.
    (
        "deadLetterTargetArn: !GetAtt WriteDeadLetters.Arn",
        "deadLetterTargetArn: !GetAtt AcknowledgeDeadLetters.Arn",
        "of its own kind",
    ),
    ("      MessageRetentionPeriod: 1209600\n", "      MessageRetentionPeriod: 86400\n", "14 days"),
    ("      SqsManagedSseEnabled: true\n", "", "not encrypted"),
    // Tables.
    ("    DeletionPolicy: Retain\n", "", "deleted with the stack"),
    ("    UpdateReplacePolicy: Retain\n", "", "deleted with the stack"),
    (
        "      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}\n",
        "",
        "cannot be recovered",
    ),
    (
        "{AttributeName: expires_at, Enabled: true}",
        "{AttributeName: expire_at, Enabled: true}",
        "never forgets",
    ),
    (
        "{AttributeName: due_at, AttributeType: N}",
        "{AttributeName: due_at, AttributeType: S}",
        "the index due",
    ),
    ("IndexName: reviews", "IndexName: review", "the index reviews"),
    (
        "{AttributeName: reference, KeyType: HASH}",
        "{AttributeName: review, KeyType: HASH}",
        "has another key",
    ),
    ("      DeletionProtectionEnabled: !Ref DeletionProtection\n", "", "by a slip"),
    ("      SSESpecification: {SSEEnabled: true}\n", "", "is not encrypted"),
    // Alarms on our own metrics.
    ("      MetricName: OpenReviews\n", "      MetricName: OpenReview\n", "nobody emits"),
    (
        "        - {Name: Function, Value: !Ref Sweeper}",
        "        - {Name: function, Value: !Ref Sweeper}",
        "ours is Function alone",
    ),
    (
        "        - {Name: Function, Value: !Ref Sweeper}",
        "        - {Name: Function, Value: !Ref Webhook}",
        "never emits",
    ),
    ("      Namespace: Docket\n", "      Namespace: docket\n", "into which nobody writes"),
    ("      Statistic: Maximum\n", "      Statistic: SampleCount\n", "is watched by"),
    (
        "      TreatMissingData: breaching\n",
        "      TreatMissingData: notBreaching\n",
        "treats what is missing",
    ),
    (
        "      ComparisonOperator: LessThanThreshold\n",
        "      ComparisonOperator: GreaterThanThreshold\n",
        "compares by",
    ),
    ("      Threshold: 1\n", "      Threshold: 0\n", "never crosses"),
    ("      AlarmActions: [!Ref Alarms]\n", "      AlarmActions: []\n", "reach nobody"),
    (
        "        - {Protocol: email, Endpoint: !Ref AlarmEmail}",
        "        - {Protocol: sms, Endpoint: !Ref AlarmEmail}",
        "by e-mail",
    ),
    // Alarms that cannot go off, or that CloudWatch does not take.
    (
        "      TreatMissingData: ignore\n",
        "      TreatMissingData: ignore\n      ActionsEnabled: false\n",
        "is switched off",
    ),
    ("      Threshold: 1\n", "      Threshold: 5\n", "waits for 5 of OpenReviews"),
    ("      Threshold: 86400\n", "      Threshold: 86401\n", "waits for 86401 of OldestReviewAge"),
    ("      Threshold: 600\n", "      Threshold: 60000\n", "waits for 60000 of OldestDueAge"),
    ("      Threshold: 1200\n", "      Threshold: 345600\n", "waits for 345600 of Approximate"),
    ("      Threshold: 20\n", "      Threshold: 200000\n", "waits for 200000 of WrongSecret"),
    (
        "      Threshold: 1\n      ComparisonOperator: LessThan",
        "      Threshold: 2\n      ComparisonOperator: LessThan",
        "waits for 2 of Sweeps",
    ),
    ("      Threshold: 20\n", "      Threshold: 0.5\n", "has the threshold 0.5"),
    ("      Threshold: 20\n", "", "has the threshold null"),
    (
        "      Period: 900\n      EvaluationPeriods: 4\n",
        "      Period: 900\n      EvaluationPeriods: 97\n",
        "looks back 87300 s",
    ),
    (
        "      Period: 60\n      EvaluationPeriods: 5\n      DatapointsToAlarm: 5\n",
        "      Period: 60\n      EvaluationPeriods: 5\n      DatapointsToAlarm: 6\n",
        "wants 6 datapoints of 5",
    ),
    (
        "      EvaluationPeriods: 3\n      DatapointsToAlarm: 2\n",
        "      EvaluationPeriods: 3\n      DatapointsToAlarm: 0\n",
        "wants 0 datapoints of 3",
    ),
    ("      Period: 900\n", "      Period: 90\n", "is no whole minute"),
    ("      Period: 900\n", "      Period: 10\n", "is no whole minute"),
    // Alarms on AWS's metrics.
    ("ApproximateNumberOfMessagesVisible\n", "NumberOfMessagesSent\n", "does not say that something waits"),
    ("Value: !GetAtt WriteDeadLetters.QueueName", "Value: !Ref WriteDeadLetters", "its URL, not its name"),
    (
        "Value: !GetAtt WriteDeadLetters.QueueName",
        "Value: !GetAtt WriteQueue.QueueName",
        "of WriteDeadLetters",
    ),
    ("      MetricName: Throttles\n", "      MetricName: Throttle\n", "Throttle"),
    (
        "{Name: FunctionName, Value: !Ref Writer}",
        "{Name: Function, Value: !Ref Writer}",
        "no dimension FunctionName",
    ),
    // The dashboard.
    (r#"["Docket", "Replayed", "#, r#"["Docket", "Replays", "#, "nobody emits"),
    (
        r#"            ["Docket", "Ignored", "Function", "${Webhook}", {"stat": "Sum", "label": "Ignored"}],"#,
        "",
        "in no alarm and on no dashboard",
    ),
    // Log filters.
    ("platform.report", "platform.reports", "ran out of time"),
    (r#"($.record.status = "timeout")"#, r#"($.record.status != "success")"#, "not understood"),
    (
        "      LogGroupName: !Ref SweeperLogs",
        "      LogGroupName: !Ref WriterLogs",
        "nobody looks for a Sweeper",
    ),
    (
        "      EvaluationPeriods: 3\n      DatapointsToAlarm: 2\n      Threshold: 1\n",
        "      EvaluationPeriods: 3\n      DatapointsToAlarm: 2\n      Threshold: 5\n",
        "want of memory of the Webhook raises no alarm",
    ),
    ("          MetricName: Timeouts\n", "          MetricName: TimeOuts\n", "no alarm watches"),
    // Functions.
    ("BuildProperties: {Binary: writer}", "BuildProperties: {Binary: webhook}", "another binary"),
    ("CodeUri: ../functions/writer", "CodeUri: ../functions/webhook", "another folder"),
    ("      Role: !GetAtt WriterRole.Arn", "      Role: !GetAtt WebhookRole.Arn", "another function's role"),
    ("        LogFormat: JSON\n", "        LogFormat: Text\n", "does not log JSON"),
    (
        "    AllowedValues: [TRACE, DEBUG, INFO]",
        "    AllowedValues: [TRACE, DEBUG, INFO, WARN]",
        "drops metrics",
    ),
    (", RetentionInDays: !Ref LogRetentionDays}", "}", "for ever"),
    // Environments.
    ("          SPREADSHEET_ID: !Ref SpreadsheetId\n", "", "Writer does not start without SPREADSHEET_ID"),
    (
        "SPREADSHEET_ID: !Ref SpreadsheetId",
        "SPREAD_SHEET_ID: !Ref SpreadsheetId",
        "Writer never reads SPREAD_SHEET_ID",
    ),
    (
        "        SUBMISSIONS_TABLE: !Ref SubmissionsTable\n",
        "        TABLE: !Ref SubmissionsTable\n",
        "Sweeper does not start without SUBMISSIONS_TABLE",
    ),
    ("          SETTLE_SECONDS: !Ref SettleSeconds\n", "", "SETTLE_SECONDS of Writer cannot be changed"),
    (
        "          SEND_TIMEOUT_MS: !Ref SendTimeoutMs\n",
        "          SEND_TIMEOUT_MS: !Ref AppendTimeoutMs\n",
        "SEND_TIMEOUT_MS of Acknowledger is",
    ),
    (
        "          WRITE_QUEUE_URL: !Ref WriteQueue\n",
        "          WRITE_QUEUE_URL: !Ref AcknowledgeQueue\n",
        "WRITE_QUEUE_URL of Webhook is",
    ),
    (
        "          BOT_TOKEN_PARAMETER: !Sub ${ParameterPrefix}/bot-token\n",
        "          BOT_TOKEN: !Sub ${ParameterPrefix}/bot-token\n",
        "BOT_TOKEN of Acknowledger can be read",
    ),
    (
        "          WEBHOOK_SECRET_PARAMETER: ",
        "          WEBHOOK_SECRET: ",
        "WEBHOOK_SECRET of Webhook can be read",
    ),
    (
        "          GOOGLE_CREDENTIALS_PARAMETER: ",
        "          GOOGLE_CREDENTIALS: ",
        "GOOGLE_CREDENTIALS of Writer can be read",
    ),
    (
        "${ParameterPrefix}/google-credentials\n",
        "${ParameterPrefix}/bot-token\n",
        "GOOGLE_CREDENTIALS_PARAMETER of Writer is",
    ),
    (
        "          SHEET_NAME: !Ref SheetName\n",
        "          SHEET_NAME_PARAMETER: !Sub ${ParameterPrefix}/sheet-name\n",
        "Writer reads no parameter SHEET_NAME_PARAMETER",
    ),
    (
        "          TELEGRAM_BOT: !Ref TelegramBot\n",
        "          TELEGRAM_BOT: !If [HasCatalog, !Ref TelegramBot, !Ref AWS::NoValue]\n",
        "Webhook does not always get TELEGRAM_BOT",
    ),
    (
        "CATALOG_PARAMETER: !If [HasCatalog, !Ref CatalogParameter, !Ref AWS::NoValue]",
        "CATALOG_PARAMETER: !Ref CatalogParameter",
        "CATALOG_PARAMETER of Webhook is",
    ),
    (
        "          OPERATOR_CHAT: !If [HasOperatorChat, !Ref OperatorChat, !Ref AWS::NoValue]\n",
        "",
        "OPERATOR_CHAT of Acknowledger cannot be changed",
    ),
    (
        "        Read on: infra/runbook.md, part 1, \"the write queue is stuck\".\n",
        "        Read on: infra/runbook.md, part 1, \"the writer fails\".\n",
        "WriteQueueAgeAlarm does not end with where to read on",
    ),
    // What the stack gives out.
    ("        SETTLE_SECONDS=${SettleSeconds}\n", "", "the stack does not give out SETTLE_SECONDS"),
    ("        ACKNOWLEDGE_QUEUE_URL=${AcknowledgeQueue}\n", "", "does not give out ACKNOWLEDGE_QUEUE_URL"),
    ("        BOT_TOKEN_PARAMETER=", "        BOT_TOKEN=", "gives out BOT_TOKEN, which"),
    ("        WEBHOOK_URL=", "        WEBHOOK=", "the command never reads WEBHOOK"),
    ("SETTLE_SECONDS=${SettleSeconds}", "SETTLE_SECONDS=${LeaseSeconds}", "as SETTLE_SECONDS"),
    // The door's log.
    (
        "apigateway/${AWS::StackName}\", RetentionInDays: !Ref LogRetentionDays}",
        "apigateway/${AWS::StackName}\"}",
        "ApiLogs keeps what it has for ever",
    ),
    (
        "DestinationArn: !GetAtt ApiLogs.Arn",
        "DestinationArn: !Sub arn:${AWS::Partition}:logs:elsewhere",
        "into a group without an end",
    ),
    ("$context.routeKey", "$context.identity.sourceIp", "logs more than how a request went"),
    // The schedule's role.
    (
        "            RoleArn: !GetAtt ScheduleRole.Arn\n",
        "            RoleArn: !GetAtt SweeperRole.Arn\n",
        "acts by another role",
    ),
    (
        "                Action: lambda:InvokeFunction\n",
        "                Action: lambda:InvokeAsync\n",
        "something else than start the sweeper",
    ),
    (
        "function:${AWS::StackName}-sweeper",
        "function:${AWS::StackName}-writer",
        "something else than start the sweeper",
    ),
    (
        "Principal: {Service: scheduler.amazonaws.com}",
        "Principal: {Service: events.amazonaws.com}",
        "ScheduleRole may be assumed by others",
    ),
    (
        "Principal: {Service: lambda.amazonaws.com}",
        "Principal: {AWS: \"*\"}",
        "WebhookRole may be assumed by others",
    ),
    // The door.
    ("      RouteKey: POST /telegram", "      RouteKey: $default", "another route"),
    ("        ThrottlingRateLimit: 50\n", "", "not throttled"),
    ("      PayloadFormatVersion: \"2.0\"", "      PayloadFormatVersion: \"1.0\"", "another version"),
    ("${Api}/*/POST/telegram", "*", "open to any API"),
    // Roles.
    ("                Action: dynamodb:Query\n", "                Action: dynamodb:*\n", "may dynamodb:*"),
    ("                Resource: !GetAtt WriterLogs.Arn", "                Resource: \"*\"", "may logs:"),
];

#[test]
fn each_slip_is_found_by_name() {
    let text = Template::text();
    let mut unnoticed = Vec::new();
    for (written, slip, word) in SLIPS {
        assert!(text.contains(written), "the template has no longer: {written}");
        // The first place is enough: each must be found wherever it is.
        let found = findings(&Template::parse(&text.replacen(written, slip, 1)));
        if !found.iter().any(|finding| finding.contains(word)) {
            unnoticed.push(format!("{written} -> {slip}: {found:?}"));
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new());
}

#[test]
fn the_runbook_has_every_alarm_by_its_name_and_no_other() {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../infra/runbook.md");
    let runbook = std::fs::read_to_string(path).expect("infra/runbook.md");
    let part = runbook.split("\n## ").find(|part| part.starts_with("1. ")).expect("a part about alarms");
    let mut told: Vec<&str> = part.split("**`").skip(1).filter_map(|rest| rest.split("`**").next()).collect();
    let template = Template::deployed();
    let alarms = template.resources("AWS::CloudWatch::Alarm");
    let mut named: Vec<&str> = alarms
        .iter()
        .filter_map(|(_, alarm)| alarm["AlarmName"]["Fn::Sub"].as_str()?.strip_prefix("${AWS::StackName}: "))
        .collect();
    told.sort_unstable();
    named.sort_unstable();
    assert!(named.len() > 20 && named.len() == alarms.len(), "{named:?}");
    assert_eq!(told, named);
}

#[test]
fn no_alarm_can_be_taken_out_unnoticed() {
    let template = Template::deployed();
    let alarms = template.resources("AWS::CloudWatch::Alarm");
    let found_without = |alarm: &str| findings(&template.without(alarm));
    for (name, alarm) in &alarms {
        let found = found_without(name);
        assert!(
            found.iter().any(|finding| finding.contains("no alarm")),
            "{name} is missed by nobody: {found:?}"
        );
        let of_ours = MUST.iter().find(|(function, metric)| {
            alarm["MetricName"] == metric.name() && alarm["Dimensions"][0]["Value"]["Ref"] == *function
        });
        if let Some((function, metric)) = of_ours {
            let missed = format!("no alarm watches {} of {function}", metric.name());
            assert!(found.contains(&missed), "{missed}: {found:?}");
        }
    }
    let ours = alarms.iter().filter(|(_, alarm)| alarm["Namespace"] == "Docket").count();
    assert_eq!(ours, MUST.len(), "each alarm on a metric of ours stands in the list");
}

/// What a profile of SAM's says about a parameter that the template does not have, it says to nobody.
#[test]
fn every_profile_of_sam_names_parameters_that_the_template_has() {
    let template = Template::deployed();
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../infra/samconfig.toml");
    let text = std::fs::read_to_string(path).expect("infra/samconfig.toml");
    let profiles: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(".deploy.parameters]")).collect();
    assert_eq!(profiles, ["default", "production"]);
    let overrides: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("parameter_overrides = ")).collect();
    assert_eq!(overrides.len(), profiles.len());
    for (profile, overrides) in profiles.iter().zip(overrides) {
        let pairs: Vec<(&str, &str)> =
            overrides.trim_matches('"').split(' ').filter_map(|pair| pair.split_once('=')).collect();
        assert!(pairs.len() > 2, "{profile}: {overrides}");
        for (name, value) in pairs {
            let parameter = template.at(&format!("/Parameters/{name}"));
            assert!(!parameter.is_null(), "{profile}: the template has no parameter {name}");
            let allowed = parameter["AllowedValues"].as_array();
            let fits = |one: &serde_json::Value| {
                one == value || one.as_u64().is_some_and(|number| number.to_string() == value)
            };
            assert!(allowed.is_none_or(|all| all.iter().any(fits)), "{profile}: {name} may not be {value}");
        }
    }
}

/// SAM's cache compares the folder of each function, and most of what is deployed stands in `shared/`.
#[test]
fn sam_builds_every_function_anew_whatever_changed() {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../infra/samconfig.toml");
    let text = std::fs::read_to_string(path).expect("infra/samconfig.toml");
    let said: Vec<&str> = text.lines().filter(|line| line.starts_with("cached")).collect();
    assert_eq!(said, ["cached = false"; 2]);
}

#[test]
fn a_reserve_that_covers_what_the_queue_hands_out_and_a_window_that_is_waited_for_are_no_slips() {
    let text = Template::text();
    for (written, instead) in [
        (
            "      Timeout: !Ref WorkerTimeoutSeconds\n",
            "      Timeout: !Ref WorkerTimeoutSeconds\n      ReservedConcurrentExecutions: 2\n",
        ),
        (
            "      QueueName: !Sub ${AWS::StackName}-acknowledge\n      VisibilityTimeout: !Ref VisibilitySeconds\n",
            "      QueueName: !Sub ${AWS::StackName}-acknowledge\n      VisibilityTimeout: 545\n",
        ),
    ] {
        assert!(text.contains(written), "the template has no longer: {written}");
        let mut text = text.replacen(written, instead, 1);
        if instead.contains("545") {
            let queue = "            Queue: !GetAtt AcknowledgeQueue.Arn\n";
            text =
                text.replacen(queue, &format!("{queue}            MaximumBatchingWindowInSeconds: 5\n"), 1);
        }
        assert_eq!(findings(&Template::parse(&text)), Vec::<String>::new(), "{instead}");
    }
}

#[test]
fn a_filter_tells_a_function_that_ran_out_of_time_from_everything_else() {
    let pattern = r#"{ ($.type = "platform.report") && ($.record.status = "timeout") }"#;
    for (what, line, raises) in lines() {
        assert_eq!(matches(pattern, &line), Ok(raises == Raises::Timeouts), "{what}");
    }
    for (raises, times) in [(Raises::Timeouts, 1), (Raises::Errors, 5)] {
        assert_eq!(lines().iter().filter(|(.., of)| *of == raises).count(), times, "{raises:?}");
    }
    for misunderstood in
        ["ERROR", r#"{ $.level != "INFO" }"#, r#"{ $.a = "x" || $.b = "y" }"#, "{ $.level = 7 }"]
    {
        assert!(matches(misunderstood, "{}").is_err(), "{misunderstood}");
    }
}

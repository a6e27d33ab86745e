//! The two endpoints that lend a token to an AWS role, and what they refuse.

use docket_world::exchange::Request;
use docket_world::sheets::{
    AUDIENCE, Behaviour, CLIENT_EMAIL, FakeToken, Kind, On, SPREADSHEETS_SCOPE, exchange_form,
};
use serde_json::{Value, json};

use super::{NOW_MS, Sheet, assert_refused, at_once, reply, sheet};

const PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";

fn exchange_request(form: String) -> Request {
    Request {
        method: "POST".to_owned(),
        path: "/v1/token".to_owned(),
        query: String::new(),
        headers: vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())],
        body: form.into_bytes(),
    }
}

fn lending_request(account: &str, token: &str, body: &Value) -> Request {
    Request {
        method: "POST".to_owned(),
        path: format!("/v1/projects/-/serviceAccounts/{account}:generateAccessToken"),
        query: String::new(),
        headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("authorization".to_owned(), format!("Bearer {token}")),
        ],
        body: body.to_string().into_bytes(),
    }
}

fn lending() -> Value {
    json!({"scope": [SPREADSHEETS_SCOPE], "lifetime": "3600s"})
}

fn federated(token: &FakeToken, scope: &str) -> String {
    let form = exchange_form(NOW_MS, |_, fields| set(fields, "scope", scope));
    let (status, answer) = reply(at_once(token, exchange_request(form)));
    assert_eq!(status, 200, "{answer}");
    answer["access_token"].as_str().unwrap().to_owned()
}

fn set(fields: &mut [(String, String)], name: &str, value: &str) {
    let field = fields.iter_mut().find(|(known, _)| known == name).unwrap();
    value.clone_into(&mut field.1);
}

fn set_header(request: &mut Value, name: &str, value: &str) {
    let headers = request["headers"].as_array_mut().unwrap();
    headers.iter_mut().find(|header| header["key"] == name).unwrap()["value"] = json!(value);
}

fn drop_header(request: &mut Value, name: &str) {
    request["headers"].as_array_mut().unwrap().retain(|header| header["key"] != name);
}

/// What a signed request that was changed afterwards, or signed at another time, is answered.
fn spoilt(signed_at_ms: i64, change: impl FnOnce(&mut Value)) -> Value {
    let form = exchange_form(signed_at_ms, |request, _| change(request));
    let (status, body) = reply(at_once(&sheet().sheets.token(), exchange_request(form)));
    if status == 200 { json!("granted") } else { body["error"].clone() }
}

#[test]
fn a_signed_aws_request_gets_a_federated_token_and_that_one_a_token_that_opens_the_sheet() {
    let mut sheet = sheet();
    let token = sheet.sheets.token();
    let form = exchange_form(NOW_MS, |_, _| {});
    let (status, answer) = reply(at_once(&token, exchange_request(form)));
    assert_eq!((status, &answer["expires_in"], &answer["token_type"]), (200, &json!(3599), &json!("Bearer")));
    assert_eq!(answer["issued_token_type"], "urn:ietf:params:oauth:token-type:access_token");
    let federated = answer["access_token"].as_str().unwrap();
    let (status, answer) = reply(at_once(&token, lending_request(CLIENT_EMAIL, federated, &lending())));
    assert_eq!((status, &answer["expireTime"]), (200, &json!("2026-01-02T04:04:05Z")));
    answer["accessToken"].as_str().unwrap().clone_into(&mut sheet.token);
    assert_eq!(sheet.append_row().0, 200);
    sheet.clock.turn(3_599_999);
    assert_eq!(sheet.append_row().0, 200);
    sheet.clock.turn(1);
    assert_refused(sheet.append_row(), 401, "UNAUTHENTICATED", "");
    let kinds: Vec<Kind> = token.requests().iter().map(|seen| seen.kind).collect();
    assert_eq!(kinds, [Kind::Federation, Kind::Impersonation]);
}

#[test]
fn a_federated_token_opens_the_sheet_only_where_it_was_asked_for_that() {
    let Sheet { sheets, .. } = sheet();
    for (scope, status) in [(PLATFORM, 403), (SPREADSHEETS_SCOPE, 200)] {
        let mut sheet = sheet();
        sheet.token = federated(&sheet.sheets.token(), scope);
        assert_eq!(sheet.append_row().0, status, "{scope}");
    }
    // And it borrows nothing where it was asked for the sheet.
    let token = sheets.token();
    let request = lending_request(CLIENT_EMAIL, &federated(&token, SPREADSHEETS_SCOPE), &lending());
    assert_refused(reply(at_once(&token, request)), 403, "PERMISSION_DENIED", "scopes");
}

#[test]
fn the_signature_covers_all_that_was_written_down() {
    let refused = json!("invalid_grant");
    let with_header =
        |name: &'static str, value: &'static str| move |request: &mut Value| set_header(request, name, value);
    assert_eq!(spoilt(NOW_MS, |_| {}), "granted");
    assert_eq!(spoilt(NOW_MS, with_header("host", "sts.eu-west-1.amazonaws.com")), refused);
    assert_eq!(spoilt(NOW_MS, with_header("x-amz-date", "20260102T030406Z")), refused);
    assert_eq!(spoilt(NOW_MS, with_header("x-amz-security-token", "another")), refused);
    assert_eq!(spoilt(NOW_MS, |request| drop_header(request, "x-amz-security-token")), refused);
    for (from, to) in
        [("Signature=", "Signature=0"), ("ASIATESTROLE", "ASIAOTHER"), (";x-goog-cloud-target-resource", "")]
    {
        let change = |request: &mut Value| {
            let headers = request["headers"].as_array().unwrap();
            let signed = headers.iter().find(|header| header["key"] == "Authorization").unwrap();
            let changed = signed["value"].as_str().unwrap().replace(from, to);
            set_header(request, "Authorization", &changed);
        };
        assert_eq!(spoilt(NOW_MS, change), refused, "{from}");
    }
    for url in [
        "https://sts.eu-west-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
        "https://sts.us-east-1.amazonaws.com?Action=GetSessionToken&Version=2011-06-15",
        "https://sts.us-east-1.amazonaws.com.example.org?Action=GetCallerIdentity&Version=2011-06-15",
    ] {
        assert_eq!(spoilt(NOW_MS, |request| request["url"] = json!(url)), refused, "{url}");
    }
    // An unsigned header beside the signed ones.
    let more = |request: &mut Value| {
        request["headers"].as_array_mut().unwrap().push(json!({"key": "x-more", "value": "1"}));
    };
    assert_eq!(spoilt(NOW_MS, more), refused);
}

#[test]
fn a_signature_is_believed_for_a_quarter_of_an_hour() {
    for (seconds, granted) in [(-900, true), (900, true), (-901, false), (901, false), (-3_600, false)] {
        let answered = spoilt(NOW_MS + seconds * 1_000, |_| {});
        assert_eq!(answered, if granted { "granted" } else { "invalid_grant" }, "{seconds}");
    }
}

#[test]
fn what_is_no_written_request_is_an_invalid_request() {
    let refused = json!("invalid_request");
    assert_eq!(spoilt(NOW_MS, |request| request["method"] = json!("GET")), refused);
    assert_eq!(spoilt(NOW_MS, |request| request["body"] = json!("x")), refused);
    assert_eq!(
        spoilt(NOW_MS, |request| request["url"] = json!("http://sts.us-east-1.amazonaws.com")),
        refused
    );
    assert_eq!(spoilt(NOW_MS, |request| request["headers"] = json!({"host": "x"})), refused);
    assert_eq!(
        spoilt(NOW_MS, |request| set_header(request, "x-goog-cloud-target-resource", "//other")),
        refused
    );
    for name in ["Authorization", "host", "x-amz-date", "x-goog-cloud-target-resource"] {
        assert_eq!(spoilt(NOW_MS, |request| drop_header(request, name)), refused, "{name}");
    }
    // Encoded for the form only.
    let form = exchange_form(NOW_MS, |_, _| {}).replace("%25", "%");
    let (status, body) = reply(at_once(&sheet().sheets.token(), exchange_request(form)));
    assert_eq!((status, &body["error"]), (400, &refused));
}

#[test]
fn each_field_of_an_exchange_is_checked() {
    let token = sheet().sheets.token();
    for (field, wrong, error) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "unsupported_grant_type"),
        ("audience", "//iam.googleapis.com/projects/1/other", "invalid_target"),
        ("scope", "", "invalid_scope"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id_token", "invalid_request"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt", "invalid_request"),
    ] {
        let form = exchange_form(NOW_MS, |_, fields| set(fields, field, wrong));
        let (status, body) = reply(at_once(&token, exchange_request(form)));
        assert_eq!((status, &body["error"]), (400, &json!(error)), "{field}");
    }
    let good = exchange_request(exchange_form(NOW_MS, |_, _| {}));
    let json_typed =
        Request { headers: vec![("content-type".to_owned(), "application/json".to_owned())], ..good.clone() };
    let mut authorized = good.clone();
    authorized.headers.push(("authorization".to_owned(), "Bearer x".to_owned()));
    for request in [json_typed, authorized] {
        assert_eq!(reply(at_once(&token, request)).1["error"], "invalid_request");
    }
    assert_eq!(reply(at_once(&token, good)).0, 200);
}

#[test]
fn a_token_is_lent_to_who_may_borrow_that_account_and_for_an_hour_at_most() {
    let token = sheet().sheets.token();
    let federated = federated(&token, PLATFORM);
    let ask = |account: &str, bearer: &str, body: &Value| {
        reply(at_once(&token, lending_request(account, bearer, body)))
    };
    assert_refused(ask(CLIENT_EMAIL, "ya29.never-issued", &lending()), 401, "UNAUTHENTICATED", "");
    let denied = ask("somebody@else.iam.gserviceaccount.com", &federated, &lending());
    assert_refused(denied, 403, "PERMISSION_DENIED", "iam.serviceAccounts.getAccessToken");
    for (scope, lifetime) in [
        (json!([]), json!("3600s")),
        (json!([SPREADSHEETS_SCOPE]), json!("3601s")),
        (json!([SPREADSHEETS_SCOPE]), json!("3600")),
        (json!([SPREADSHEETS_SCOPE]), json!(3600)),
    ] {
        let body = json!({"scope": scope, "lifetime": lifetime});
        assert_refused(ask(CLIENT_EMAIL, &federated, &body), 400, "INVALID_ARGUMENT", "");
    }
    let (status, answer) =
        ask(CLIENT_EMAIL, &federated, &json!({"scope": [SPREADSHEETS_SCOPE], "lifetime": "600s"}));
    assert_eq!((status, &answer["expireTime"]), (200, &json!("2026-01-02T03:14:05Z")));
}

#[test]
fn a_configuration_looks_like_gclouds() {
    let file: Value =
        serde_json::from_str(&sheet().sheets.token().external_account_json("http://127.0.0.1:1")).unwrap();
    assert_eq!((&file["type"], &file["audience"]), (&json!("external_account"), &json!(AUDIENCE)));
    assert_eq!(file["token_url"], "http://127.0.0.1:1/v1/token");
    assert_eq!(
        file["credential_source"]["regional_cred_verification_url"],
        "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"
    );
}

#[test]
fn either_endpoint_can_refuse_alone() {
    let sheet = sheet();
    let token = sheet.sheets.token();
    let exchange = || reply(at_once(&token, exchange_request(exchange_form(NOW_MS, |_, _| {}))));
    sheet.sheets.next(On::Federations, Behaviour::rejected_by_the_attribute_condition());
    sheet.sheets.next(On::Impersonations, Behaviour::lending_denied());
    let (status, body) = exchange();
    assert_eq!((status, &body["error"]), (401, &json!("unauthorized_client")));
    let (status, answer) = exchange();
    assert_eq!(status, 200);
    let federated = answer["access_token"].as_str().unwrap();
    let lend = || reply(at_once(&token, lending_request(CLIENT_EMAIL, federated, &lending())));
    assert_refused(lend(), 403, "PERMISSION_DENIED", "getAccessToken");
    assert_eq!(lend().0, 200);
}

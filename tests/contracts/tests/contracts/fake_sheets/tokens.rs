//! The token endpoint, and what its tokens open.

use docket_world::exchange::{Answer, Request};
use docket_world::sheets::{
    Behaviour, CLIENT_EMAIL, ExpiresIn, FailureBody, FakeToken, Kind, SPREADSHEETS_SCOPE, signed_assertion,
};
use serde_json::{Value, json};

use super::{ANCHOR, NOW_MS, RAW_INSERT, ROW, assert_refused, at_once, parts, reply, sheet};

fn claims() -> Value {
    let now = NOW_MS / 1000;
    json!({"iss": CLIENT_EMAIL, "scope": SPREADSHEETS_SCOPE, "aud": "https://oauth2.googleapis.com/token", "iat": now, "exp": now + 3600})
}

fn token_request(assertion: &str) -> Request {
    let form =
        format!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}");
    Request {
        method: "POST".to_owned(),
        path: "/token".to_owned(),
        query: String::new(),
        headers: vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())],
        body: form.into_bytes(),
    }
}

fn exchange(token: &FakeToken, claims: &Value) -> (u16, Value) {
    reply(at_once(token, token_request(&signed_assertion(claims))))
}

#[test]
fn a_signed_assertion_gets_a_token_that_opens_the_sheet() {
    let mut sheet = sheet();
    let (status, answer) = exchange(&sheet.sheets.token(), &claims());
    assert_eq!((status, &answer["expires_in"], &answer["token_type"]), (200, &json!(3599), &json!("Bearer")));
    answer["access_token"].as_str().unwrap().clone_into(&mut sheet.token);
    assert_eq!(sheet.append_row().0, 200);
    assert_eq!(sheet.sheets.token().requests()[0].kind, Kind::Token);
}

#[test]
fn requests_without_a_good_token_are_unauthenticated_and_write_nothing() {
    let mut sheet = sheet();
    let good = sheet.token.clone();
    for wrong in ["", "ya29.never-issued"] {
        wrong.clone_into(&mut sheet.token);
        assert_refused(sheet.append_row(), 401, "UNAUTHENTICATED", "");
    }
    let mut bare = sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW]));
    bare.headers.clear();
    assert_refused(reply(sheet.ask(bare)), 401, "UNAUTHENTICATED", "");
    sheet.token = good;
    sheet.clock.turn(3_598_999);
    assert_eq!(sheet.append_row().0, 200);
    sheet.clock.turn(1);
    assert_refused(sheet.append_row(), 401, "UNAUTHENTICATED", "");
    assert_eq!(sheet.rows().len(), 2);
}

#[test]
fn revoked_tokens_stop_working_and_new_ones_work() {
    let mut sheet = sheet();
    sheet.sheets.token().revoke_all();
    assert_refused(sheet.append_row(), 401, "UNAUTHENTICATED", "");
    sheet.token = sheet.sheets.token().grant();
    assert_eq!(sheet.append_row().0, 200);
}

#[test]
fn a_token_of_another_scope_is_denied() {
    let mut sheet = sheet();
    let mut claims = claims();
    claims["scope"] = json!("https://www.googleapis.com/auth/drive.metadata");
    let (_, answer) = exchange(&sheet.sheets.token(), &claims);
    answer["access_token"].as_str().unwrap().clone_into(&mut sheet.token);
    assert_refused(sheet.append_row(), 403, "PERMISSION_DENIED", "insufficient authentication scopes");
}

#[test]
fn the_life_of_a_token_is_told_as_number_string_nothing_or_zero() {
    let sheets = sheet().sheets;
    for (told, shown) in [
        (ExpiresIn::Number(60), Some(json!(60))),
        (ExpiresIn::Number(0), Some(json!(0))),
        (ExpiresIn::Text(3599), Some(json!("3599"))),
        (ExpiresIn::Missing, None),
    ] {
        sheets.token().tell_expires_in(told);
        assert_eq!(exchange(&sheets.token(), &claims()).1.get("expires_in").cloned(), shown);
    }
}

#[test]
fn skewed_clocks_and_long_lives_are_an_invalid_grant() {
    let now = NOW_MS / 1000;
    let token = sheet().sheets.token();
    for (issued, expires, status) in [
        (now, now + 3600, 200),
        (now - 299, now + 600, 200),
        (now + 299, now + 600, 200),
        (now, now + 3601, 400),
        (now + 301, now + 3600, 400),
        (now - 301, now + 600, 400),
        (now - 100, now - 1, 400),
    ] {
        let mut claims = claims();
        (claims["iat"], claims["exp"]) = (json!(issued), json!(expires));
        let (answered, body) = exchange(&token, &claims);
        assert_eq!(answered, status, "{issued} {expires}");
        assert!(answered == 200 || body["error"] == "invalid_grant");
    }
}

#[test]
fn each_claim_of_an_assertion_is_checked() {
    let token = sheet().sheets.token();
    for (claim, wrong, error) in [
        ("iss", json!("somebody@else.test"), "invalid_grant"),
        ("aud", json!("https://else.test/token"), "invalid_grant"),
        ("iat", Value::Null, "invalid_grant"),
        ("exp", json!("soon"), "invalid_grant"),
        ("scope", json!(""), "invalid_scope"),
    ] {
        let mut claims = claims();
        claims[claim] = wrong;
        let (status, body) = exchange(&token, &claims);
        assert_eq!((status, &body["error"]), (400, &json!(error)), "{claim}");
    }
}

#[test]
fn the_signature_of_an_assertion_is_verified() {
    let token = sheet().sheets.token();
    let good = signed_assertion(&claims());
    let mut other = claims();
    other["exp"] = json!(NOW_MS / 1000 + 60);
    let (signed, _) = good.rsplit_once('.').unwrap();
    let signature_of_other = signed_assertion(&other);
    let swapped = format!("{signed}.{}", signature_of_other.rsplit_once('.').unwrap().1);
    for assertion in [swapped.as_str(), signed, "", "a.b.c", &good[..good.len() - 4]] {
        let (status, body) = reply(at_once(&token, token_request(assertion)));
        assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")), "{assertion}");
    }
    assert_eq!(reply(at_once(&token, token_request(&good))).0, 200);
}

#[test]
fn the_token_endpoint_wants_a_form_with_the_jwt_bearer_grant() {
    let token = sheet().sheets.token();
    let good = token_request(&signed_assertion(&claims()));
    let json_typed =
        Request { headers: vec![("content-type".to_owned(), "application/json".to_owned())], ..good.clone() };
    let no_assertion =
        Request { body: b"grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer".to_vec(), ..good.clone() };
    let other_grant = Request { body: b"grant_type=refresh_token&assertion=a.b.c".to_vec(), ..good.clone() };
    for (request, error) in [
        (json_typed, "invalid_request"),
        (no_assertion, "invalid_request"),
        (other_grant, "unsupported_grant_type"),
    ] {
        let (status, body) = reply(at_once(&token, request));
        assert_eq!((status, &body["error"]), (400, &json!(error)));
    }
}

#[test]
fn a_key_file_looks_like_googles_and_names_the_audience() {
    let token = sheet().sheets.token();
    let file: Value = serde_json::from_str(&token.service_account_json("http://127.0.0.1:1/token")).unwrap();
    assert_eq!((&file["type"], &file["client_email"]), (&json!("service_account"), &json!(CLIENT_EMAIL)));
    assert!(file["private_key"].as_str().unwrap().starts_with("-----BEGIN PRIVATE KEY-----\n"));
    let mut claims = claims();
    assert_eq!(exchange(&token, &claims).0, 400);
    claims["aud"] = file["token_uri"].clone();
    assert_eq!(exchange(&token, &claims).0, 200);
}

#[test]
fn the_token_endpoint_can_refuse_fail_and_show_pages() {
    let sheet = sheet();
    let token = sheet.sheets.token();
    token.next(Behaviour::invalid_grant());
    token.next(Behaviour::fails(500, FailureBody::Json));
    token.next(Behaviour::fails(502, FailureBody::Html));
    token.next(Behaviour::hangs_up());
    let ask = || at_once(&token, token_request(&signed_assertion(&claims())));
    assert_eq!(
        reply(ask()),
        (400, json!({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}))
    );
    assert_eq!(parts(ask()).0, 500);
    assert!(parts(ask()).2.starts_with("<!DOCTYPE html>"));
    assert!(matches!(ask(), Answer::HangUp));
    assert_eq!(parts(ask()).0, 200);
    token.from_now_on(Behaviour::invalid_grant());
    assert_eq!((parts(ask()).0, parts(ask()).0, sheet.append_row().0), (400, 400, 200));
    sheet.sheets.heal();
    assert_eq!(parts(ask()).0, 200);
}

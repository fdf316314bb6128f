//! Budgets that are shared or apart, and layers inside each other.

use super::*;
use http_body_util::Empty;
use http_retry::policy::Decimal;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryOverride, ServiceBudgets, StopReason};
use hyper_util::rt::TokioExecutor;
use reqwest::Response;
use tower::{Layer, ServiceExt};

fn tokens(count: u32) -> RetryBudget {
    RetryBudget::builder().capacity(count).build().unwrap()
}

/// A call on a plain hyper client under the tower layer.
async fn by_hyper(server: &MockServer, budget: &RetryBudget, max_retries: u32) -> RetryReport {
    let plain = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
    let layer = RetryLayer::new(every_second(max_retries))
        .runtime(ManualRuntime::new())
        .budget(budget.clone());
    let body = Empty::<bytes::Bytes>::new();
    let request = http::Request::get(server.uri()).body(body).unwrap();
    let response = layer.layer(plain).oneshot(request).await.unwrap();
    response.extensions().get::<RetryReport>().unwrap().clone()
}

#[tokio::test]
async fn one_budget_serves_reqwest_and_hyper() {
    let server = answering_statuses([503]).await;
    let budget = tokens(3);
    let first = by_hyper(&server, &budget, 1).await;
    assert_eq!(first.stop, StopReason::AttemptsExhausted);
    assert_eq!(first.tokens_left, Some(Decimal::from(2)));

    let client = client(retries(4).budget(budget.clone()));
    let second = report_of(&client.get(server.uri()).send().await.unwrap());
    assert_eq!(second.stop, StopReason::BudgetExhausted);
    assert_eq!(
        (second.retries(), second.tokens_left),
        (2, Some(Decimal::from(0)))
    );

    let third = by_hyper(&server, &budget, 4).await;
    assert_eq!(
        (third.retries(), third.stop),
        (0, StopReason::BudgetExhausted)
    );
}

#[tokio::test]
async fn a_success_on_one_stack_pays_for_a_retry_on_the_other() {
    let healthy = answering_statuses([200]).await;
    let sick = answering_statuses([503]).await;
    let earning = RetryBudget::builder().initial(0).per_success(1);
    let budget = earning.build().unwrap();
    let client = client(retries(4).budget(budget.clone()));
    client.get(healthy.uri()).send().await.unwrap();
    assert_eq!(by_hyper(&sick, &budget, 4).await.retries(), 1);
}

#[tokio::test]
async fn a_sick_host_spends_only_its_own_tokens() {
    let sick = answering_statuses([503]).await;
    let other = answering_statuses([503, 503, 200]).await;
    let each = RetryBudget::builder().capacity(2);
    let client = client(retries(4).budgets(ServiceBudgets::new(each).unwrap()));
    for tries in [2, 0, 0] {
        let report = report_of(&client.get(sick.uri()).send().await.unwrap());
        assert_eq!(
            (report.retries(), report.stop),
            (tries, StopReason::BudgetExhausted)
        );
    }
    let saved = client.get(other.uri()).send().await.unwrap();
    assert_eq!(saved.status(), 200);
    assert_eq!(report_of(&saved).retries(), 2);
}

#[tokio::test]
async fn a_service_has_one_budget_on_all_of_its_hosts() {
    let (one, two) = (
        answering_statuses([503]).await,
        answering_statuses([503]).await,
    );
    let budgets = ServiceBudgets::default().service("orders", tokens(2));
    let client = client(retries(4).budgets(budgets));
    let orders = RetryOverride::new().service("orders");
    let mut retries = Vec::new();
    for server in [&one, &two] {
        let request = client.get(server.uri()).with_extension(orders.clone());
        retries.push(report_of(&request.send().await.unwrap()).retries());
    }
    assert_eq!(retries, [2, 0]);
}

#[tokio::test]
async fn calls_at_the_same_time_do_not_count_each_others_attempts() {
    let server = answering_statuses([503]).await;
    let client = client(retries(2).budget(RetryBudget::unlimited()));
    let calls = (0..10).map(|_| client.get(server.uri()).send());
    for last in futures_util::future::join_all(calls).await {
        assert_eq!(report_of(&last.unwrap()).attempt_count, 3);
    }
    assert_eq!(requests(&server).await.len(), 30);
}

async fn through_two_layers(server: &MockServer, own: RetryOverride) -> Response {
    let client = stack(retries(2)).with(retries(2)).build();
    let request = client.get(server.uri()).with_extension(own);
    request.send().await.unwrap()
}

#[tokio::test]
async fn two_layers_in_one_client_do_not_multiply() {
    let server = answering_statuses([503]).await;
    let client = stack(retries(2)).with(retries(2)).build();
    let last = client.get(server.uri()).send().await.unwrap();
    assert_eq!(requests(&server).await.len(), 3);
    assert_eq!(report_of(&last).attempt_count, 3);
    assert_eq!(report_of(&last).stop, StopReason::AttemptsExhausted);

    let saved = answering_statuses([503, 503, 200]).await;
    assert_eq!(client.get(saved.uri()).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn two_layers_multiply_where_the_request_says_so() {
    let server = answering_statuses([503]).await;
    let last = through_two_layers(&server, RetryOverride::new().retry_when_nested()).await;
    assert_eq!(last.status(), 503);
    assert_eq!(requests(&server).await.len(), 9);
}

#[tokio::test]
async fn a_success_through_two_layers_pays_into_their_budget_once() {
    let server = answering_statuses([200]).await;
    let earning = RetryBudget::builder().initial(0).per_success(1);
    let budget = earning.build().unwrap();
    let layer = || retries(2).budget(budget.clone());
    let client = stack(layer()).with(layer()).build();
    client.get(server.uri()).send().await.unwrap();
    assert_eq!(budget.available(Duration::ZERO), 1);
}

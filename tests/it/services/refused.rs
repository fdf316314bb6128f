//! Services that cannot do what they say.

use super::{Service, ServiceRoute, Services, retries};
use allocation_counter::measure;
use http::Method;
use http_retry::RetryPolicy;
use http_retry::rules::{Failover, OnExhausted};
use http_retry::services::ServicesBuilder;

fn failing_over(to: &str) -> RetryPolicy {
    let to = OnExhausted::failover(Failover::to(to));
    RetryPolicy::builder().on_exhausted(to).build().unwrap()
}

fn at(name: &str, policy: RetryPolicy) -> Service {
    Service::new(name, policy).base_url(format!("http://{name}.test"))
}

/// What `build` says of these services.
fn refused(services: impl IntoIterator<Item = Service>) -> String {
    let builder = Services::builder(retries(0));
    let all = services.into_iter().fold(builder, ServicesBuilder::service);
    all.build().unwrap_err().to_string()
}

fn one(name: &str) -> Service {
    Service::new(name, retries(1))
}

fn mistakes_of_services() -> Vec<(Vec<Service>, &'static str)> {
    vec![
        (
            vec![one("a"), one("a")],
            "services: a is not allowed: duplicate name",
        ),
        (vec![one("")], "services..name"),
        (vec![one(&"x".repeat(129))], "must have 1 to 128 bytes"),
        (
            vec![one("a").host("https://x.test/")],
            "services.a.host: https://x.test/ is not allowed: a host",
        ),
        (
            vec![one("a").scheme("ftp")],
            "services.a.scheme: ftp is not allowed",
        ),
        (
            vec![one("a").path("x?y")],
            "services.a.path: x?y is not allowed",
        ),
        (
            vec![one("a").base_url("http://u:hunter2@x.test")],
            "services.a.base_url: this URL is not allowed",
        ),
        (
            vec![one("a").host("x.test"), one("b").host("X.test")],
            "no request would match it: a has the same match",
        ),
    ]
}

fn mistakes_of_routes() -> Vec<(Vec<Service>, &'static str)> {
    let twice = || ServiceRoute::new("r", retries(1)).path("/a");
    vec![
        (
            vec![one("a").route(ServiceRoute::new("r", retries(1)))],
            "matches nothing in particular",
        ),
        (
            vec![one("a").route(twice()).route(twice())],
            "services.a.routes.r: r is not allowed: duplicate name",
        ),
        (
            vec![
                one("a")
                    .route(twice())
                    .route(ServiceRoute::new("s", retries(1)).path("/a")),
            ],
            "no request would match it: r has the same match",
        ),
        (
            vec![
                one("a").route(
                    ServiceRoute::new("r", retries(1))
                        .method(Method::GET)
                        .path("b"),
                ),
            ],
            "services.a.routes.r.path",
        ),
    ]
}

#[test]
fn each_mistake_is_named_with_its_service() {
    for (services, wanted) in mistakes_of_services()
        .into_iter()
        .chain(mistakes_of_routes())
    {
        let said = refused(services);
        assert!(said.contains(wanted), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_name_that_is_not_there_lists_few_of_those_that_are() {
    let services = (0..1_000).map(|n| at(&format!("s{n:03}"), failing_over("typo")));
    let builder = services.fold(Services::builder(retries(0)), ServicesBuilder::service);
    let errors = builder.build_or_all().unwrap_err();
    let first =
        "services.s000.failover: typo is not allowed: is no service: there are s000, s001, ";
    let said = errors[0].to_string();
    assert!(
        said.starts_with(first) && said.ends_with(", s009, 990 more"),
        "{said}"
    );
    let bytes: usize = errors.iter().map(|error| error.to_string().len()).sum();
    assert!(errors.len() == 1_000 && bytes < 300_000, "{bytes}");
}

#[test]
fn twice_the_routes_are_checked_with_twice_the_work() {
    let allocations = |routes: usize| {
        let routes = (0..routes).map(|n| {
            let route = ServiceRoute::new(format!("r{n}"), retries(0));
            route.path(format!("/{n}"))
        });
        let service = routes.fold(one("a"), Service::route);
        let builder = Services::builder(retries(0)).service(service);
        measure(|| drop(builder.build().unwrap())).count_total
    };
    let (some, twice) = (allocations(500), allocations(1_000));
    assert!(twice < some * 5 / 2, "{some} and {twice}");
}

#[test]
fn a_failover_must_lead_somewhere_and_not_back() {
    let nowhere = refused([at("a", failing_over("c"))]);
    assert_eq!(
        nowhere,
        "services.a.failover: c is not allowed: is no service: there are a"
    );
    let no_url = refused([at("a", failing_over("b")), Service::new("b", retries(1))]);
    assert!(no_url.contains("has no base_url"), "{no_url}");
    let cycle = refused([at("a", failing_over("b")), at("b", failing_over("a"))]);
    assert!(cycle.contains("failover cycle: a -> b -> a"), "{cycle}");
    let chain = |length: usize| {
        let links = (1..=length).map(|n| {
            if n == length {
                at(&format!("s{n:02}"), retries(0))
            } else {
                at(&format!("s{n:02}"), failing_over(&format!("s{:02}", n + 1)))
            }
        });
        links.fold(Services::builder(retries(0)), ServicesBuilder::service)
    };
    assert!(chain(16).build().is_ok());
    let long = chain(17).build().unwrap_err().to_string();
    assert!(long.contains("more than 16 services"), "{long}");
}

#[test]
fn a_name_must_stand_for_something() {
    let again = RetryPolicy::builder()
        .budget_named("polls")
        .build()
        .unwrap();
    let lost = OnExhausted::dead_letter("lost");
    let lost = RetryPolicy::builder().on_exhausted(lost).build().unwrap();
    for (policy, wanted) in [
        (again, "services.a.budget: polls"),
        (lost, "services.a.dead_letter: lost"),
    ] {
        let said = refused([Service::new("a", policy)]);
        assert!(said.starts_with(wanted), "{said}");
    }
}

#[test]
fn services_show_names_and_no_secret() {
    let mut headers = http::HeaderMap::new();
    headers.insert("x-api-key", http::HeaderValue::from_static("hunter2"));
    let to = OnExhausted::failover_with(Failover::to("b"), headers);
    let policy = RetryPolicy::builder().on_exhausted(to).build().unwrap();
    let builder = Services::builder(retries(0))
        .service(at("a", policy.clone()))
        .service(at("b", retries(1)));
    let shown = format!(
        "{builder:?} {:?} {policy:?}",
        builder.clone().build().unwrap()
    );
    assert!(shown.contains("\"a\", \"b\""), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

use super::{BROUGHT, SHOWN, document, run, shown};

#[test]
fn the_documents_of_the_repository_are_good() {
    for name in SHOWN {
        let file = shown(name);
        let outcome = run(&[&["check", &file][..], &BROUGHT].concat());
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{name}");
        assert!(
            outcome.stdout.contains("(all others)"),
            "{name}: {}",
            outcome.stdout
        );
        let toml = file.replace(".yaml", ".toml");
        assert_eq!(
            run(&[&["check", &toml][..], &BROUGHT].concat()).code,
            0,
            "{name}"
        );
    }
}

#[test]
fn a_name_that_the_program_brings_must_be_given() {
    let outcome = run(&["check", &shown("job_store")]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome
            .stdout
            .contains("\"payment_failed\" is no dead letter observer")
    );
}

#[test]
fn every_problem_is_listed_with_its_path() {
    let file = document("broken.yaml");
    let outcome = run(&["check", &file]);
    assert_eq!(outcome.code, 1);
    let paths = [
        "retry.base: 2000 has no unit",
        "retry.jiter: ",
        "services.orders.retry.use: \"backgroud\"",
    ];
    for path in paths {
        assert!(
            outcome.stdout.lines().any(|line| line.starts_with(path)),
            "{}",
            outcome.stdout
        );
    }
    assert_eq!(outcome.stderr, format!("http-retry: {file}: 3 problems\n"));
}

#[test]
fn problems_are_json_for_programs() {
    let outcome = run(&["check", "--format", "json", &document("broken.yaml")]);
    let json = outcome.json();
    assert_eq!((outcome.code, json["count"].as_u64()), (1, Some(3)));
    assert_eq!(json["problems"][0]["path"], "retry.base");
    let good = run(&["check", "--format", "json", &document("good.yaml")]).json();
    assert_eq!(good["problems"].as_array().map(Vec::len), Some(0));
    assert_eq!(good["entries"][0]["worst_case"]["attempts"], 4);
}

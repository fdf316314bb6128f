//! The storms in short: this crate on both stacks, with even and with random arrivals, and every bound of the lab.
//!
//! The whole of them, with peers and charts: `cargo run --release --all-features --example storm`. These are
//! the package of `tests/storm/Cargo.toml`, and run by `cargo test --all-features --test storm`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

use http_retry_lab::scenarios::{ALL, DULL, FLEETS, Scenario};
use http_retry_lab::verdict::{Bound, Row};
use http_retry_lab::{Arrivals, Stack, World};
use std::collections::BTreeSet;

const WORLDS: [World; 2] = [
    World {
        seed: 1,
        arrivals: Arrivals::Even,
        stack: Stack::Tower,
        peers: false,
        short: true,
    },
    World {
        seed: 2,
        arrivals: Arrivals::Poisson,
        stack: Stack::Reqwest,
        peers: false,
        short: true,
    },
];

fn scenario(id: &str) -> Scenario {
    let named = |scenario: &&Scenario| scenario.id == id;
    let all = ALL.iter().chain(&FLEETS).chain(&DULL);
    let mut all = all.filter(named);
    *all.next().unwrap()
}

/// Plays a scenario and says which bounds do not hold.
fn weather(id: &str) {
    let scenario = scenario(id);
    let worlds = WORLDS.map(|world| {
        if scenario.worlds.contain(world) {
            world
        } else {
            World {
                arrivals: Arrivals::Even,
                ..world
            }
        }
    });
    holds(&scenario, &worlds);
}

/// The same in the first or the second world: the tasks of many processes take their time.
fn fleet_weather(id: &str, world: usize) {
    holds(&scenario(id), &WORLDS[world..=world]);
}

fn holds(scenario: &Scenario, worlds: &[World]) {
    let mut bounds = 0;
    for world in worlds {
        let rows = (scenario.play)(*world);
        let measures = rows
            .iter()
            .flat_map(|row| row.measures.iter().map(move |measure| (row, measure)));
        for (row, measure) in measures {
            let (case, name, value, bound) =
                (row.scenario, measure.name, measure.value, measure.bound);
            assert!(
                bound.holds(value),
                "{case}: {name} is {value}, not {bound:?}, in {world:?}"
            );
            bounds += usize::from(bound != Bound::None);
        }
    }
    assert!(
        bounds > 0,
        "{}: {} was not judged",
        scenario.id,
        scenario.title
    );
}

#[test]
fn everything_fails_for_a_minute() {
    weather("A");
}

#[test]
fn the_goodput_is_back_with_the_server() {
    weather("B");
}

#[test]
fn a_hundred_clients_with_budgets_leave_the_server_room() {
    weather("B2");
}

#[test]
fn a_quota_is_used_up_in_its_least_time() {
    weather("C");
}

#[test]
fn random_failures_are_saved_almost_all() {
    weather("D");
}

#[test]
fn nothing_is_spent_beyond_the_budget() {
    weather("E");
}

#[test]
fn ten_thousand_callers_come_back_spread() {
    weather("F");
}

#[test]
fn nine_services_do_not_notice_the_tenth() {
    weather("G");
}

#[test]
fn slow_answers_are_not_made_more() {
    weather("H");
}

#[test]
fn a_server_that_hung_is_not_drowned() {
    weather("I");
}

#[test]
fn an_overload_stays_what_it_was() {
    weather("J");
}

#[test]
fn a_blip_is_ridden_out() {
    weather("K");
}

#[test]
fn clients_of_few_requests_have_their_retries_too() {
    weather("L");
}

#[test]
fn a_quota_whose_delays_are_wrong_is_found_out() {
    weather("M");
}

#[test]
fn layers_around_layers_do_not_multiply() {
    weather("N");
}

#[test]
fn refusals_at_random_hold_nobody_up() {
    weather("O");
}

#[test]
fn short_windows_are_used_up() {
    weather("P");
}

#[test]
fn told_quotas_are_kept_by_all_who_are_polled() {
    weather("Q");
}

#[test]
fn a_slow_bucket_is_emptied_as_it_fills() {
    weather("R");
}

#[test]
fn calls_in_flight_are_kept_to_what_is_served() {
    weather("S");
}

#[test]
fn a_limit_that_doubles_is_found() {
    weather("T");
}

#[test]
fn two_limits_at_once_are_kept() {
    weather("U");
}

#[test]
fn a_batch_of_jobs_ends_in_time_and_spends_no_token() {
    weather("V");
}

#[test]
fn a_fleet_meets_an_outage_like_one_process() {
    fleet_weather("outage-fleet", 1);
}

#[test]
fn a_fleet_does_not_drown_a_server_that_hung() {
    fleet_weather("stall-fleet", 0);
}

#[test]
fn a_fleet_rides_out_a_blip() {
    fleet_weather("blip-fleet", 0);
}

#[test]
fn a_fleet_of_few_requests_each_has_its_retries() {
    fleet_weather("small-fleet", 1);
}

#[test]
fn programs_of_one_request_share_one_budget() {
    fleet_weather("runs-fleet", 0);
}

#[test]
fn a_store_is_asked_seldom_however_much_fails() {
    fleet_weather("flood-fleet", 0);
}

#[test]
fn a_fleet_keeps_a_quota_together() {
    fleet_weather("quota-fleet", 0);
}

#[test]
fn a_call_that_is_always_refused_comes_back_late_and_seldom() {
    weather("always");
}

#[test]
fn a_few_refused_calls_stop_no_others() {
    weather("others");
}

#[test]
fn queues_at_a_limit_are_done() {
    weather("queues");
}

#[test]
fn a_call_that_cannot_pass_in_time_does_not_wait() {
    weather("deadline");
}

#[test]
fn a_program_of_few_calls_has_its_retries() {
    weather("seldom");
}

#[test]
fn a_dead_host_spends_the_retries_of_no_other() {
    weather("two hosts");
}

#[test]
fn a_batch_outlasts_a_blip() {
    weather("blip");
}

#[test]
fn a_server_that_restarts_loses_few_calls() {
    weather("restart");
}

/// The numbers of the dull scenes under `background`, as rows of a table.
fn dull_table() -> String {
    let mut table = String::from("| scene | case | numbers |\n|---|---|---|\n");
    for scenario in &DULL {
        let rows = (scenario.play)(WORLDS[0]);
        for row in rows.iter().filter(|row| row.contender == "background") {
            let mut numbers = Vec::new();
            for measure in &row.measures {
                let value = format!("{:.2}", measure.value);
                let value = value.trim_end_matches('0').trim_end_matches('.');
                let number = format!("{}: {value}", measure.name);
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
            let numbers = numbers.join("; ");
            table += &format!("| {} | {} | {numbers} |\n", scenario.id, row.scenario);
        }
    }
    table
}

/// `UPDATE_TABLES=1` writes the table anew.
#[test]
fn the_design_page_shows_the_dull_scenes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/docs/design.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- dull -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end -->\n").unwrap();
    let table = dull_table();
    if std::env::var_os("UPDATE_TABLES").is_some() {
        let page = format!("{before}<!-- dull -->\n{table}<!-- end -->\n{after}");
        std::fs::write(path, page).unwrap();
        return;
    }
    assert_eq!(shown, table, "UPDATE_TABLES=1 writes it anew");
}

#[test]
fn the_same_world_gives_the_same_run() {
    let play = || -> Vec<Row> { (scenario("D").play)(WORLDS[1]) };
    assert_eq!(play(), play());
    let other = World {
        seed: 3,
        ..WORLDS[1]
    };
    assert_ne!(play(), (scenario("D").play)(other));
}

#[test]
fn every_scenario_is_played_here() {
    let all = ALL.iter().chain(&FLEETS).chain(&DULL);
    let ids: BTreeSet<_> = all.map(|scenario| scenario.id).collect();
    let played = include_str!("storm.rs").split("weather(\"").skip(1);
    let played: BTreeSet<_> = played.filter_map(|rest| rest.split('"').next()).collect();
    assert!(ids.is_subset(&played), "{ids:?}, {played:?}");
}

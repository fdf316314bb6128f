// The page: a document, what it means, and a storm, all by the program http-retry.

import { lines, schedule, short } from "./plot.js";
import { Program } from "./program.js";

const START = {
    document: `version: 1
retry: background
services:
  orders:
    match: {host: "orders.example"}
    retry: {max_attempts: 3, base: 200ms, deadline: 2m}
`,
    entry: "",
    fault: "outage",
    rate: 100,
    outage: 10,
    limit: 500,
    processes: 1,
    loop: 3,
    seed: 1,
};
const CONTROLS = ["fault", "rate", "outage", "limit", "processes", "loop", "seed"];
const CONTENDERS = ["none", "document", "loop"];
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const $ = (id) => document.getElementById(id);
const checker = new Program();
const stormer = new Program();
const state = { ...START, ...linked() };

/** The state in the link: JSON in base64url. */
function linked() {
    try {
        const text = atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
        const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
        const given = JSON.parse(new TextDecoder().decode(bytes));
        const known = Object.keys(START).filter((key) => typeof given[key] === typeof START[key]);
        return Object.fromEntries(known.map((key) => [key, given[key]]));
    } catch {
        return {};
    }
}

function link() {
    const bytes = new TextEncoder().encode(JSON.stringify(state));
    const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    const hash = text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    history.replaceState(null, "", `#${hash}`);
}

function node(name, text = "", attributes = {}) {
    const made = Object.assign(document.createElement(name), { textContent: text });
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
}

/** Shows the controls as the state has them. */
function show() {
    $("document").value = state.document;
    for (const name of CONTROLS) $(name).value = state[name];
    labels();
}

function labels() {
    for (const output of document.querySelectorAll("output")) output.value = $(output.htmlFor.value).value;
    $("limit").disabled = state.fault !== "limit";
}

/** A time that the program wrote, such as `1m 30s`; nothing if it is none. */
function millis(text) {
    const parts = [...(text ?? "").matchAll(/([\d.]+)(ms|s|m|h|d)/g)];
    return parts.length > 0 ? parts.reduce((sum, [, number, unit]) => sum + number * UNITS[unit], 0) : null;
}

const named = ({ service, route }) => [service, route].filter(Boolean).join("/") || "all others";

async function check() {
    const result = await checker.run(["check", "--format", "json", "-"], state.document);
    if (!result) return;
    const found = result.stdout ? JSON.parse(result.stdout) : { problems: [{ problem: result.stderr }] };
    const problems = found.problems.map((problem) => ({ ...problem, of: "problem" }));
    const warnings = (found.warnings ?? []).map((warning) => ({ ...warning, of: "warning" }));
    messages([...problems, ...warnings], found.entries);
    if (found.entries) {
        entries(found.entries);
        await storm();
    }
}

function messages(all, entries) {
    const list = node("ul");
    for (const { of, path, problem, line, column } of all) {
        const place = line ? `line ${line}: ` : "";
        // The words of a problem begin with its path, and those of a warning do not.
        const words = path && !problem.startsWith(path) ? `${path}: ${problem}` : problem;
        const button = node("button", `${place}${words}`, { type: "button" });
        button.onclick = () => go(line ?? 1, column ?? 1);
        const item = node("li", "", { class: of });
        item.append(button);
        list.append(item);
    }
    const fine = node("p", `The document is good: ${entries?.length} kinds of requests.`);
    $("messages").replaceChildren(all.length > 0 ? list : fine);
    $("document").setAttribute("aria-invalid", String(all.some(({ of }) => of === "problem")));
}

/** Puts the cursor at a place in the document. */
function go(line, column) {
    const before = $("document").value.split("\n").slice(0, line - 1);
    const at = before.reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
    $("document").focus();
    $("document").setSelectionRange(at, at);
}

function entries(all) {
    const options = all.map((entry) => node("option", named(entry), { value: named(entry) }));
    $("entry").replaceChildren(...options);
    const chosen = all.find((entry) => named(entry) === state.entry) ?? all[0];
    state.entry = named(chosen);
    state.service = chosen.service;
    $("entry").value = state.entry;
    $("entry").onchange = () => {
        state.entry = $("entry").value;
        link();
        entries(all);
        storm();
    };
    const asked = millis(chosen.fields["retry_after.max"]?.value);
    const deadline = millis(chosen.fields.deadline?.value);
    const figure = node("figure");
    const caption = node("figcaption", "Waits before each attempt ");
    const key = [`bar: own wait, ${chosen.jitter}`, asked && `dashes: up to ${short(asked)}, if the server asks`, deadline && `line: the deadline, ${short(deadline)}`];
    caption.append(node("span", `(${key.filter(Boolean).join("; ")})`, { class: "key" }));
    figure.append(caption, schedule({ waits: chosen.waits, asked, deadline }));
    $("schedule").replaceChildren(figure);
    const { attempts, refused_attempts, time_ms, backoff_ms, waits_ms } = chosen.worst_case;
    const facts = {
        Attempts: attempts ?? "no limit",
        "Attempts answered 429, more": refused_attempts || "none",
        "Time in all": short(time_ms),
        "Own waits": short(backoff_ms),
        "All waits": short(waits_ms),
        Budget: chosen.budget.tokens ? `${chosen.budget.tokens} tokens` : "one for each host",
    };
    $("worst").replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [node("dt", name), node("dd", value)]));
}

/** The arguments of the storm, but for the document. */
function storming() {
    const fault = { outage: [], stall: ["--stall"], limit: ["--limit", `${state.limit}/10s`] }[state.fault];
    return [
        "--rate", `${state.rate}/s`, "--outage", `${state.outage}s`, ...fault,
        "--processes", String(state.processes), "--loop-retries", String(state.loop), "--seed", String(state.seed),
        ...(state.service ? ["--service", state.service] : []),
    ];
}

async function storm() {
    const args = storming();
    $("progress").textContent = "The storm is played ..";
    const result = await stormer.run(["storm", "-", ...args, "--format", "json"], state.document);
    if (!result) return;
    $("command").textContent = ["http-retry storm retries.yaml", ...args].join(" ");
    if (!result.stdout) {
        $("progress").textContent = result.stderr;
        return;
    }
    $("json").textContent = result.stdout;
    const played = JSON.parse(result.stdout);
    draw(played);
    table(played.contenders);
    const problem = result.code === 1 ? ": the service does not recover under this document, and does without retries" : "";
    $("progress").textContent = `Played: ${played.storm}${problem}.`;
}

function draw(played) {
    const trouble = [played.outage_from_s, played.outage_from_s + played.outage_s];
    const each = (field) => played.contenders.map((contender, place) => ({
        name: contender.name, of: CONTENDERS[place], values: contender[field],
    }));
    const own = (field) => each(field).filter(({ of, values }) => of === "document" && values);
    const key = "(grey, dotted: no retries; blue: the document; orange, dashed: a plain loop)";
    const charts = [
        ["Attempts a second at the server", key, each("attempts_per_second")],
        ["Calls that succeed, a second", key, each("successes_per_second")],
        ["Tokens in the document's budget", "", own("budget_tokens")],
        ["Calls that wait at the document's gate", "", own("waiting_at_the_gate")],
    ];
    $("charts").replaceChildren(...charts.map(([label, key, series]) => {
        const figure = node("figure");
        const caption = node("figcaption", `${label} `);
        caption.append(node("span", key, { class: "key" }));
        figure.append(caption, lines({ label, series, trouble, seconds: played.end_s }));
        return figure;
    }));
}

function table(contenders) {
    const percent = (share) => `${(share * 100).toFixed(1)} %`;
    const rows = {
        "attempts per call in the trouble": ({ amplification }) => amplification.toFixed(2),
        "busiest second, x the rate": ({ peak }) => peak.toFixed(2),
        "well again after": ({ recovers, recovery_s }) => recovers ? short(recovery_s * 1_000) : "never",
        "calls that succeed": ({ success }) => percent(success),
        "calls of the trouble that succeed": ({ success_in_outage }) => percent(success_in_outage),
        "attempts answered 429": ({ refused }) => refused,
        "longest call": ({ longest_call_s }) => short(longest_call_s * 1_000),
    };
    const head = node("tr");
    head.append(node("td"), ...contenders.map(({ name }) => node("th", name, { scope: "col" })));
    const body = Object.entries(rows).map(([title, cell]) => {
        const row = node("tr");
        row.append(node("th", title, { scope: "row" }), ...contenders.map((contender) => node("td", cell(contender))));
        return row;
    });
    $("numbers").replaceChildren(head, ...body);
}

/** Calls a function once nothing has changed for a moment. */
function settled(act) {
    let timer;
    return () => {
        clearTimeout(timer);
        timer = setTimeout(act, 150);
    };
}

const check_soon = settled(check);
const storm_soon = settled(storm);
$("document").addEventListener("input", () => {
    state.document = $("document").value;
    link();
    check_soon();
});
$("controls").addEventListener("input", ({ target }) => {
    state[target.id] = typeof START[target.id] === "number" ? target.valueAsNumber || 0 : target.value;
    labels();
    link();
    storm_soon();
});
$("controls").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => {
    Object.assign(state, START, linked());
    show();
    check();
});
show();
check();

// Plots, as SVG. Each has a text for those who do not see it.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, text = "") {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
}

function canvas(width, height, label) {
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    return { svg, add: (...more) => svg.append(element(...more)) };
}

/** The width of a plot, so that its words are no smaller on a narrow screen. */
const width_of = (most) => Math.max(260, Math.min(most, innerWidth - 70));

/** A time in the units of documents. */
export function short(millis) {
    if (millis === null || millis === undefined) return "no limit";
    if (millis === 0) return "0s";
    if (millis < 1_000) return `${Math.round(millis)}ms`;
    const seconds = millis / 1_000;
    if (seconds < 120) return `${Number(seconds.toFixed(2))}s`;
    const minutes = seconds / 60;
    return minutes < 120 ? `${Number(minutes.toFixed(1))}m` : `${Number((minutes / 60).toFixed(1))}h`;
}

/** The waits before each retry: from the least to the most, and up to what a server may ask for. */
export function schedule({ waits, asked, deadline }) {
    const [width, left, row] = [width_of(560), 70, 26];
    const top = 24;
    const height = top + row * waits.length + 34;
    const longest = Math.max(1_000, asked ?? 0, deadline ?? 0, ...waits.map((wait) => wait.most_ms));
    // From 0 on, and by factors of ten further out: waits of milliseconds and of an hour fit beside each other.
    const x = (millis) => left + (width - left - 16) * Math.log1p(millis / 50) / Math.log1p(longest / 50);
    const spoken = waits.map((wait) => `before attempt ${wait.retry + 1}: ${short(wait.least_ms)} to ${short(wait.most_ms)}`);
    const { svg, add } = canvas(width, height, `Own waits ${spoken.join(", ") || "none"}`);
    let last = -Infinity;
    for (const tick of [0, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000].filter((tick) => tick <= longest)) {
        if (x(tick) < last + 42) continue;
        last = x(tick);
        add("line", { class: "axis", x1: x(tick), x2: x(tick), y1: top - 6, y2: height - 28 });
        add("text", { x: x(tick), y: height - 12, "text-anchor": "middle" }, short(tick));
    }
    waits.forEach((wait, place) => {
        const y = top + row * place;
        add("text", { x: 0, y: y + 13 }, `attempt ${wait.retry + 1}`);
        const [from, to] = [x(wait.least_ms), x(wait.most_ms)];
        if (asked) add("line", { class: "asked", x1: to, x2: Math.max(to, x(asked)), y1: y + 9, y2: y + 9 });
        add("rect", { class: "band", x: from, y: y + 3, width: Math.max(3, to - from), height: 12, rx: 2 });
    });
    if (deadline) add("line", { class: "deadline", x1: x(deadline), x2: x(deadline), y1: 8, y2: height - 28 });
    return svg;
}

/** Lines over the seconds of a storm. */
export function lines({ label, series, trouble, seconds }) {
    const [width, height, left, top] = [width_of(520), 190, 46, 10];
    const [right, bottom] = [width - 16, height - 24];
    const highest = Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
    const x = (second) => left + (right - left) * second / Math.max(1, seconds);
    const y = (value) => bottom - (bottom - top) * value / highest;
    const peaks = series.map(({ name, values }) => `${name} at most ${Number(Math.max(0, ...values.map((value) => value ?? 0)).toFixed(1))}`);
    const { svg, add } = canvas(width, height, `${label}: ${peaks.join(", ")}`);
    add("rect", { class: "trouble", x: x(trouble[0]), y: top, width: x(trouble[1]) - x(trouble[0]), height: bottom - top });
    add("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom });
    for (const value of [0, highest / 2, highest]) {
        add("line", { class: "axis", x1: left - 4, x2: left, y1: y(value), y2: y(value) });
        add("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, String(Number(value.toPrecision(3))));
    }
    const step = seconds > 300 ? 60 : seconds > 60 ? 20 : 10;
    for (let second = 0; second <= seconds; second += step) {
        add("text", { x: x(second), y: height - 8, "text-anchor": "middle" }, `${second}s`);
    }
    for (const { of, values } of series) {
        const points = values.flatMap((value, second) => value === null ? [] : [`${x(second + 0.5).toFixed(1)},${y(value).toFixed(1)}`]);
        add("polyline", { class: of, points: points.join(" ") });
    }
    return svg;
}

// What the server has counted, read from the text that it has for Prometheus.

/** Every sample: its name, labels and value. */
export function samples(text) {
  const found = [];
  for (const line of text.split("\n")) {
    const parts = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([-+\w.]+)$/.exec(line);
    if (!parts) continue;
    const labels = {};
    for (const [, name, value] of (parts[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    found.push({ name: parts[1], labels, value: Number(parts[3]) });
  }
  return found;
}

/** Requests of a design by operation, with their counts, refusals and latencies. */
export function operations(found, design) {
  const byName = new Map();
  const of = (labels) => {
    const key = labels.operation ?? "";
    if (!byName.has(key)) byName.set(key, { name: key, count: 0, refused: 0, failed: 0, buckets: [] });
    return byName.get(key);
  };
  for (const { name, labels, value } of found) {
    if (labels.design !== design) continue;
    if (/requests_total$/.test(name)) {
      const one = of(labels);
      one.count += value;
      if (/^4/.test(labels.status)) one.refused += value;
      if (/^5/.test(labels.status)) one.failed += value;
    } else if (/request.*_bucket$/.test(name)) {
      of(labels).buckets.push({ most: labels.le === "+Inf" ? Infinity : Number(labels.le), count: value });
    }
  }
  return [...byName.values()].filter((one) => one.count > 0 && one.name).sort((one, other) => other.count - one.count);
}

/** The time that a part of the requests took at most, in seconds; null where there is none. */
export function quantile(buckets, part) {
  const ordered = merged(buckets);
  const total = ordered.at(-1)?.count ?? 0;
  if (total === 0) return null;
  const found = ordered.find((one) => one.count >= total * part);
  return found?.most ?? null;
}

function merged(buckets) {
  const sums = new Map();
  for (const one of buckets) sums.set(one.most, (sums.get(one.most) ?? 0) + one.count);
  return [...sums].map(([most, count]) => ({ most, count })).sort((one, other) => one.most - other.most);
}

export function millis(seconds) {
  if (seconds === null) return "—";
  if (seconds === Infinity) return "longer";
  const value = seconds * 1000;
  return value < 1 ? `${value.toFixed(1)} ms` : `${Math.round(value).toLocaleString("en")} ms`;
}

/** How many requests took how long: heights of the bars of a small plot. */
export function heights(buckets) {
  const ordered = merged(buckets);
  const each = ordered.map((one, at) => one.count - (ordered[at - 1]?.count ?? 0));
  const most = Math.max(1, ...each);
  return each.map((one, at) => ({ height: one / most, most: ordered[at].most, count: one }));
}

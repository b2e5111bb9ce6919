/** Label values by label name. They are escaped when they are printed. */
export type MetricLabels = Readonly<Record<string, string>>;

/** The content type of the text format. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** In seconds, from fractions of a millisecond to a minute. */
const defaultBuckets = [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];

export class Counter {
  value = 0;

  increment(by = 1): void {
    this.value += by;
  }
}

export class Histogram {
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
  /** Observations per bucket, not cumulative. Larger values are only in `count`. */
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(buckets: readonly number[]) {
    this.buckets = buckets;
    this.counts = buckets.map(() => 0);
  }

  observe(value: number): void {
    this.sum += value;
    this.count++;
    const at = this.buckets.findIndex((bound) => value <= bound);
    if (at !== -1) this.counts[at]!++;
  }
}

/** One number for each value of a label. */
export interface LabelledNumbers {
  readonly label: string;
  readonly numbers: ReadonlyMap<string, number>;
}

export interface GaugeOptions {
  readonly labels?: MetricLabels;
  /** `counter` for a number that only grows and is counted elsewhere. */
  readonly type?: 'gauge' | 'counter';
  /** Called each time the metrics are printed. */
  readonly read: () => number | LabelledNumbers;
}

export interface HistogramOptions {
  readonly labels?: MetricLabels;
  /** Upper bounds, ascending; seconds from 0.0001 to 60 by default. */
  readonly buckets?: readonly number[];
}

interface Family {
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** By printed labels. */
  readonly series: Map<string, Series>;
}

type Series = Counter | Histogram | GaugeOptions;

/**
 * The metrics of a process, printed in the text format of Prometheus. Asking twice for the same name and labels returns the same counter or histogram, so
 * callers need not share it; on a hot path they should keep it.
 */
export class Metrics {
  readonly #families = new Map<string, Family>();

  counter(name: string, help: string, labels: MetricLabels = {}): Counter {
    const { series } = this.#family(name, { help, type: 'counter' });
    return obtain(series, printLabels(labels), () => new Counter()) as Counter;
  }

  /** Registering a gauge again replaces the earlier one: the thing that it reads may have been created anew. */
  gauge(name: string, help: string, options: GaugeOptions): void {
    const { labels = {}, type = 'gauge' } = options;
    this.#family(name, { help, type }).series.set(printLabels(labels), options);
  }

  histogram(name: string, help: string, { labels = {}, buckets = defaultBuckets }: HistogramOptions = {}): Histogram {
    const { series } = this.#family(name, { help, type: 'histogram' });
    return obtain(series, printLabels(labels), () => new Histogram(buckets)) as Histogram;
  }

  text(): string {
    const lines: string[] = [];
    for (const [name, { help, type, series }] of this.#families) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      for (const [labels, one] of series) lines.push(...printSeries(name, labels, one));
    }
    return [...lines, ''].join('\n');
  }

  #family(name: string, { help, type }: Pick<Family, 'help' | 'type'>): Family {
    const known = this.#families.get(name);
    if (known === undefined) {
      const made = { help, type, series: new Map<string, Series>() };
      this.#families.set(name, made);
      return made;
    }
    if (known.type !== type) throw new TypeError(`the metric ${name} is a ${known.type}, so it cannot be a ${type}; use another name`);
    return known;
  }
}

function obtain(series: Map<string, Series>, labels: string, make: () => Series): Series {
  let found = series.get(labels);
  if (found === undefined) series.set(labels, (found = make()));
  return found;
}

function printSeries(name: string, labels: string, one: Series): string[] {
  if (one instanceof Counter) return [`${name}${braced(labels)} ${one.value}`];
  if (one instanceof Histogram) return printHistogram(name, labels, one);
  const now = readGauge(one);
  if (typeof now === 'number') return [`${name}${braced(labels)} ${now}`];
  return [...now.numbers].map(([value, number]) => `${name}${braced(joined(labels, printLabels({ [now.label]: value })))} ${number}`);
}

/** A gauge that cannot be read, such as the memory of a process without free file descriptors, does not take the other metrics with it. */
function readGauge({ read }: GaugeOptions): number | LabelledNumbers {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
}

function printHistogram(name: string, labels: string, { buckets, counts, count, sum }: Histogram): string[] {
  let below = 0;
  return [
    ...buckets.map((bound, index) => `${name}_bucket${braced(joined(labels, `le="${bound}"`))} ${(below += counts[index]!)}`),
    `${name}_bucket${braced(joined(labels, 'le="+Inf"'))} ${count}`,
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${count}`,
  ];
}

function printLabels(labels: MetricLabels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`)
    .join(',');
}

const joined = (labels: string, more: string): string => (labels === '' ? more : `${labels},${more}`);
const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`);

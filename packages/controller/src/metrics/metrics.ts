/** Label values by label name. */
export type Labels = Readonly<Record<string, string>>;

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  lines(): string[];
}

/** Seconds, from fractions of a millisecond to minutes. */
const defaultBuckets = [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];

export class Counter {
  value = 0;

  increment(by = 1): void {
    this.value += by;
  }
}

export class Histogram {
  readonly buckets: readonly number[];
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
    const at = this.buckets.findIndex((limit) => value <= limit);
    if (at !== -1) this.counts[at]!++;
  }
}

export interface GaugeOptions {
  readonly labels?: Labels;
  /** `counter` for what only grows and is counted elsewhere. */
  readonly type?: 'gauge' | 'counter';
  readonly read: () => number;
}

/** Numbers about a program, in the text form that Prometheus reads. */
export class Metrics {
  readonly #families = new Map<string, Family>();
  readonly #series = new Map<string, Map<string, unknown>>();

  counter(name: string, help: string, labels: Labels = {}): Counter {
    return this.#one(
      { name, help, type: 'counter', labels },
      () => new Counter(),
      (counter, text) => [`${name}${text} ${counter.value}`],
    );
  }

  /** Read when somebody asks. Given again it replaces the one before: what it reads may have been made anew. */
  gauge(name: string, help: string, { labels = {}, type = 'gauge', read }: GaugeOptions): void {
    this.#one(
      { name, help, type, labels },
      () => read,
      (one, text) => [`${name}${text} ${one()}`],
    );
    this.#series.get(name)?.set(printLabels(labels), read);
  }

  histogram(name: string, help: string, labels: Labels = {}): Histogram {
    return this.#one(
      { name, help, type: 'histogram', labels },
      () => new Histogram(defaultBuckets),
      (histogram, text) => {
        const inner = text === '' ? '' : `${text.slice(1, -1)},`;
        let below = 0;
        return [
          ...histogram.buckets.map((limit, index) => `${name}_bucket{${inner}le="${limit}"} ${(below += histogram.counts[index]!)}`),
          `${name}_bucket{${inner}le="+Inf"} ${histogram.count}`,
          `${name}_sum${text} ${histogram.sum}`,
          `${name}_count${text} ${histogram.count}`,
        ];
      },
    );
  }

  text(): string {
    return [...this.#families.values()]
      .flatMap((family) => [`# HELP ${family.name} ${family.help}`, `# TYPE ${family.name} ${family.type}`, ...family.lines()])
      .concat('')
      .join('\n');
  }

  #one<T>(
    { name, help, type, labels }: { name: string; help: string; type: Family['type']; labels: Labels },
    make: () => T,
    print: (one: T, labels: string) => string[],
  ): T {
    const series = (this.#series.get(name) as Map<string, T> | undefined) ?? new Map<string, T>();
    if (!this.#families.has(name)) {
      this.#series.set(name, series);
      this.#families.set(name, { name, help, type, lines: () => [...series].flatMap(([text, one]) => print(one, text)) });
    }
    const text = printLabels(labels);
    const known = series.get(text);
    if (known !== undefined) return known;
    const made = make();
    series.set(text, made);
    return made;
  }
}

function printLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

import { getHeapStatistics } from 'node:v8';
import { residentMemory } from '../upkeep/memory.ts';

/** The Prometheus text format. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** Upper bounds in seconds of the request duration histogram. */
const bounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

interface Series {
  readonly labels: string;
  /** The labels for successful lists, which the watch cache serves; undefined for other requests. */
  readonly listLabels: string | undefined;
  count: number;
  sum: number;
  readonly buckets: number[];
}

/** How many kinds that are not built in get series of their own. Tenants can define any number of kinds; the rest are counted together. */
const maxNames = 100;

/** Verbs of resources, and HTTP methods in lower case. HTTP/2 allows clients to send any word as a method. */
const verbs = new Set([
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'post',
  'put',
  'head',
  'options',
  'connect',
  'trace',
  '',
]);

/** The labels of everything without series of its own. */
const others = { group: 'other', resource: 'other', subresource: '' };

export interface Observed {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

export interface Gauge {
  readonly name: string;
  readonly help: string;
  /** One value, or one per value of a label. */
  readonly value: () => number | Labelled;
  readonly type?: 'gauge' | 'counter';
}

export interface Labelled {
  readonly label: string;
  /** Label values are object names, which need no quoting. */
  readonly numbers: ReadonlyMap<string, number>;
}

/**
 * Counts requests and reports on the process in the Prometheus text format. Labels are few: workspaces are never a label, and
 * names that clients can choose are labels only up to a limit.
 */
export class Metrics {
  readonly #requests = new Map<string, Series>();
  readonly #gauges: Gauge[] = [];
  readonly #names = new Set<string>();
  readonly #isBuiltin: (group: string, resource: string) => boolean;

  /** Built-in kinds always have series of their own. */
  constructor(isBuiltin: (group: string, resource: string) => boolean) {
    this.#isBuiltin = isBuiltin;
  }

  gauge(gauge: Gauge): void {
    this.#gauges.push(gauge);
  }

  observe(request: Observed, code: number, seconds: number): void {
    const series = this.#requests.get(keyOf(request, code)) ?? this.#seriesOf(this.#known(request, code), code);
    series.count++;
    series.sum += seconds;
    for (let at = bounds.length - 1; at >= 0 && seconds <= bounds[at]!; at--) series.buckets[at]!++;
  }

  /** The request with everything that a client could have invented replaced. */
  #known(request: Observed, code: number): Observed {
    const named = this.#isNamed(request, code) ? request : { ...request, ...others };
    return verbs.has(named.verb) ? named : { ...named, verb: others.resource };
  }

  #seriesOf(request: Observed, code: number): Series {
    const key = keyOf(request, code);
    let series = this.#requests.get(key);
    if (series === undefined) {
      const { verb, group, resource, subresource } = request;
      series = {
        labels: `verb="${verb.toUpperCase()}",group="${group}",resource="${resource}",subresource="${subresource}",code="${code}"`,
        listLabels: verb === 'list' && code === 200 ? `group="${group}",index="",resource="${resource}"` : undefined,
        count: 0,
        sum: 0,
        buckets: bounds.map(() => 0),
      };
      this.#requests.set(key, series);
    }
    return series;
  }

  /** A kind that is not built in gets its own series after its first successful request: until then, the client may have invented it. */
  #isNamed({ group, resource, subresource }: Observed, code: number): boolean {
    if (subresource === '' && (resource === '' || this.#isBuiltin(group, resource))) return true;
    const name = `${group}/${resource}/${subresource}`;
    if (this.#names.has(name)) return true;
    if (code >= 400 || this.#names.size >= maxNames) return false;
    this.#names.add(name);
    return true;
  }

  text(): string {
    const lines: string[] = [];
    lines.push('# HELP apiserver_request_total Requests by verb, resource and code.', '# TYPE apiserver_request_total counter');
    for (const { labels, count } of this.#requests.values()) lines.push(`apiserver_request_total{${labels}} ${count}`);
    lines.push(
      '# HELP apiserver_request_duration_seconds Time from the first byte of a request to its response, without watches.',
      '# TYPE apiserver_request_duration_seconds histogram',
    );
    for (const { labels, count, sum, buckets } of this.#requests.values()) {
      for (const [at, bound] of bounds.entries())
        lines.push(`apiserver_request_duration_seconds_bucket{${labels},le="${bound}"} ${buckets[at]}`);
      lines.push(`apiserver_request_duration_seconds_bucket{${labels},le="+Inf"} ${count}`);
      lines.push(
        `apiserver_request_duration_seconds_sum{${labels}} ${sum}`,
        `apiserver_request_duration_seconds_count{${labels}} ${count}`,
      );
    }
    lines.push('# HELP apiserver_cache_list_total Lists from the watch cache.', '# TYPE apiserver_cache_list_total counter');
    for (const { listLabels, count } of this.#requests.values())
      if (listLabels !== undefined) lines.push(`apiserver_cache_list_total{${listLabels}} ${count}`);
    for (const { name, help, type, value } of this.#gauges) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type ?? 'gauge'}`);
      const now = value();
      if (typeof now === 'number') lines.push(`${name} ${now}`);
      else for (const [of, number] of now.numbers) lines.push(`${name}{${now.label}="${of}"} ${number}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

const keyOf = ({ verb, group, resource, subresource }: Observed, code: number): string =>
  `${verb}|${group}|${resource}|${subresource}|${code}`;

export function processGauges(): Gauge[] {
  return [
    { name: 'process_resident_memory_bytes', help: 'Resident memory.', value: () => residentMemory() ?? Number.NaN },
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time, user and system.',
      type: 'counter',
      value: () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
    },
    {
      name: 'process_start_time_seconds',
      help: 'When the process started.',
      value: () => Math.round(Date.now() / 1000 - process.uptime()),
    },
    { name: 'nodejs_heap_size_used_bytes', help: 'Heap in use.', value: () => getHeapStatistics().used_heap_size },
  ];
}

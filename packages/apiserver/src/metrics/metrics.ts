import { getHeapStatistics } from 'node:v8';
import { type Counter, type Histogram, type LabelledNumbers, Metrics } from '@capstan/machinery';
import { residentMemory } from '../upkeep/memory.ts';

const durationHelp = 'Time from the first byte of a request to its response, without watches.';
/** Upper bounds in seconds of the request duration histogram. */
const bounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

interface Series {
  readonly total: Counter;
  readonly duration: Histogram;
  /** Counts successful lists, which the watch cache serves; undefined for other requests. */
  readonly lists: Counter | undefined;
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
  readonly value: () => number | LabelledNumbers;
  readonly type?: 'gauge' | 'counter';
}

/**
 * Counts requests and reports on the process in the Prometheus text format. Labels are few: workspaces are never a label, and
 * names that clients can choose are labels only up to a limit.
 */
export class ServerMetrics {
  readonly #metrics = new Metrics();
  readonly #requests = new Map<string, Series>();
  readonly #names = new Set<string>();
  readonly #isBuiltin: (group: string, resource: string) => boolean;

  /** Built-in kinds always have series of their own. */
  constructor(isBuiltin: (group: string, resource: string) => boolean) {
    this.#isBuiltin = isBuiltin;
  }

  gauge({ name, help, type, value }: Gauge): void {
    this.#metrics.gauge(name, help, { ...(type !== undefined && { type }), read: value });
  }

  observe(request: Observed, code: number, seconds: number): void {
    const series = this.#requests.get(keyOf(request, code)) ?? this.#seriesOf(this.#known(request, code), code);
    series.total.increment();
    series.duration.observe(seconds);
    series.lists?.increment();
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
      const labels = { verb: verb.toUpperCase(), group, resource, subresource, code: String(code) };
      const isList = verb === 'list' && code === 200;
      series = {
        total: this.#metrics.counter('apiserver_request_total', 'Requests by verb, resource and code.', labels),
        duration: this.#metrics.histogram('apiserver_request_duration_seconds', durationHelp, { labels, buckets: bounds }),
        lists: isList
          ? this.#metrics.counter('apiserver_cache_list_total', 'Lists from the watch cache.', { group, index: '', resource })
          : undefined,
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
    return this.#metrics.text();
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

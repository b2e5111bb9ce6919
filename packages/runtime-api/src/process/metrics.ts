import type { Counter, Histogram, Metrics } from '@capstan/machinery';

/** Counts requests by operation and status. There are as many series as routes have statuses, whatever callers send. */
export class RequestMetrics {
  readonly #metrics: Metrics;
  readonly #counters = new Map<string, Counter>();
  readonly #durations = new Map<string, Histogram>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  add(operation: string, { code, seconds }: { readonly code: number; readonly seconds: number }): void {
    const key = `${operation} ${code}`;
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      counter = this.#metrics.counter('capstan_rest_requests_total', 'Requests.', { operation, code: String(code) });
      this.#counters.set(key, counter);
    }
    counter.increment();
    let duration = this.#durations.get(operation);
    if (duration === undefined) {
      duration = this.#metrics.histogram('capstan_rest_request_seconds', 'Time to answer, or length of a stream.', {
        labels: { operation },
      });
      this.#durations.set(operation, duration);
    }
    duration.observe(seconds);
  }
}

import type { RequestObserver } from '@capstan/client';
import type { Counter, Metrics } from '@capstan/machinery';

/** Counts and times a client's requests, under the names that dashboards for Kubernetes clients know. Pass it to a `Client` as `onRequest`. */
export function requestMetrics(metrics: Metrics): RequestObserver {
  const counters = new Map<string, Counter>();
  const counterOf = (method: string, code: string): Counter => {
    const key = `${method} ${code}`;
    const known =
      counters.get(key) ?? metrics.counter('rest_client_requests_total', 'Requests to API servers by method and answer.', { code, method });
    counters.set(key, known);
    return known;
  };
  return ({ method, code, milliseconds }) => {
    counterOf(method, code === undefined ? '<error>' : String(code)).increment();
    metrics
      .histogram('rest_client_request_duration_seconds', 'From sending a request to the head of its answer.', { labels: { verb: method } })
      .observe(milliseconds / 1000);
  };
}

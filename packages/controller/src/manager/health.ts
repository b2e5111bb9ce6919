import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Metrics, metricsType } from '@capstan/machinery';

export interface HealthOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

export interface HealthServer extends AsyncDisposable {
  readonly port: number;
}

/** The state that the endpoints report. */
export interface HealthSource {
  readonly metrics: Metrics;
  /** Why the process is not ready; undefined if it is. */
  notReady(): string | undefined | Promise<string | undefined>;
}

/** Serves `/livez`, `/readyz` and `/metrics`. */
export async function startHealthServer({ host, port }: HealthOptions, source: HealthSource): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const say = (code: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(code, { 'content-type': type });
      response.end(text);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'only GET is served here\n');
    if (path === '/livez' || path === '/healthz') return say(200, 'ok\n');
    if (path === '/metrics') return say(200, source.metrics.text(), metricsType);
    if (path !== '/readyz') return say(404, 'expected /livez, /readyz or /metrics\n');
    void Promise.resolve(source.notReady()).then((why) => (why === undefined ? say(200, 'ok\n') : say(503, `${why}\n`)));
    return undefined;
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

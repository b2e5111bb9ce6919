import { randomUUID } from 'node:crypto';
import { platformWorkspace } from '@capstan/api';
import { Client, type Connection, type Credentials, HttpTransport } from '@capstan/client';
import { startHealthServer } from '@capstan/controller';
import { Metrics } from '@capstan/machinery';
import { anonymousConnection, UpstreamHealth } from '@capstan/serving';
import { type JobOptions, JobWorker } from '../jobs/worker.ts';
import { type RestServerOptions, startRestServer } from './server.ts';

export interface RuntimeApiOptions extends Pick<RestServerOptions, 'host' | 'port' | 'tls' | 'log' | 'limits'> {
  /** Of the API server. Credentials in it are not used. */
  readonly connection: Connection;
  /** Where `/livez`, `/readyz` and `/metrics` are served, apart from the API. */
  /** Works on the jobs of operators with an account of its own; none are worked on without it. */
  readonly jobs?: JobsOptions;
  readonly healthAt: { readonly host: string; readonly port: number };
}

export interface JobsOptions extends Pick<JobOptions, 'every' | 'leaseFor'> {
  /** With the account of the product `operator`. */
  readonly credentials: Credentials;
}

export interface RuntimeApi extends AsyncDisposable {
  readonly port: number;
  readonly healthPort: number;
}

/** Starts the REST API: a stateless process without rights of its own, apart from those for jobs. */
export async function startRuntimeApi({ connection, healthAt, jobs, ...options }: RuntimeApiOptions): Promise<RuntimeApi> {
  await using stack = new AsyncDisposableStack();
  const anonymous = anonymousConnection(connection);
  const transport = stack.use(new HttpTransport(anonymous, { userAgent: 'capstan-runtime-api', timeouts: { response: 30_000 } }));
  const metrics = new Metrics();
  const health = new UpstreamHealth(transport);
  const healthServer = stack.use(await startHealthServer(healthAt, { metrics, notReady: () => health.problem() }));
  const rest = stack.use(await startRestServer({ ...options, transport, health, metrics }));
  if (jobs !== undefined) {
    const { credentials, ...times } = jobs;
    const client = stack.use(new Client({ ...anonymous, credentials }, { userAgent: 'capstan-runtime-api/jobs' }));
    stack.use(new JobWorker({ client: client.cluster(platformWorkspace), identity: randomUUID(), log: options.log, ...times }));
  }
  const owned = stack.move();
  return { port: rest.port, healthPort: healthServer.port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

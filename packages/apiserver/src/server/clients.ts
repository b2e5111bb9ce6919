import { ByteBudget } from '../limits/byte-budget.ts';
import { Clients } from '../limits/clients.ts';
import { ProcessorTime } from '../limits/processor-time.ts';
import { WorkQueue } from '../limits/work-queue.ts';
import type { ServerMetrics } from '../metrics/metrics.ts';
import type { ServerOptions } from './options.ts';

/** Bytes of responses that clients have not read. */
export const unsentLimits = { overall: 512 << 20, perTenant: 64 << 20 };

/** How tenants share the event loop and the memory for responses. */
export function clientsOf({ limits }: ServerOptions, metrics: ServerMetrics): Clients {
  const time = new ProcessorTime();
  const work = new WorkQueue({ time });
  const unsent = new ByteBudget({ ...unsentLimits, ...limits?.unsentBytes });
  metrics.gauge({ name: 'capstan_work_waiting', help: 'Pieces of work that wait for their turn.', value: () => work.waiting });
  metrics.gauge({
    name: 'capstan_connections_waiting',
    help: 'Connections of tenants that have used their share, which are read when it is their turn.',
    value: () => work.unread,
  });
  metrics.gauge({ name: 'capstan_unsent_bytes', help: 'Bytes of long responses that clients have not read.', value: () => unsent.total });
  const connections = { ...(limits?.connectionsPerTenant !== undefined && { people: limits.connectionsPerTenant }) };
  return new Clients({ time, work, unsent, connections, ...(limits?.largeBody !== undefined && { largeBody: limits.largeBody }) });
}

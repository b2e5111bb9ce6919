import type { AuditLog } from '../audit/log.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Connections } from '../connect/connections.ts';
import type { InFlight } from '../limits/in-flight.ts';
import { nominalSeats } from '../limits/nominal-seats.ts';
import { type Gauge, processGauges, ServerMetrics } from '../metrics/metrics.ts';
import { type Catalog, isBuiltinKind } from '../registry/catalog.ts';
import type { WatchHub } from '../watch/hub.ts';

interface Parts {
  readonly cache: WatchCache;
  readonly hub: WatchHub;
  readonly audit: AuditLog;
  readonly inFlight: InFlight;
  readonly connections: Connections;
}

/** The server's own numbers, in `/metrics`. */
export function serverMetrics(catalog: Catalog, parts: Parts): ServerMetrics {
  const metrics = new ServerMetrics((group, resource) => isBuiltinKind(catalog, group, resource));
  for (const gauge of [...processGauges(), ...gauges(parts)]) metrics.gauge(gauge);
  return metrics;
}

function gauges({ cache, hub, audit, inFlight, connections }: Parts): Gauge[] {
  return [
    { name: 'capstan_watches', help: 'Open watches.', value: () => hub.count },
    {
      name: 'capstan_streams',
      help: 'Open streams to nodes: logs, commands, port-forwards, proxied requests.',
      value: () => connections.open,
    },
    {
      name: 'capstan_connections_to_nodes',
      help: 'Open connections of streams to kubelets, pods and services.',
      value: () => connections.sockets.toNodes,
    },
    {
      name: 'capstan_audit_dropped_total',
      help: 'Audit events that could not be written.',
      type: 'counter',
      value: () => audit.dropped,
    },
    {
      name: 'capstan_audit_sink_dropped_total',
      help: 'Audit events that a webhook or the standard output did not take in time.',
      type: 'counter',
      value: () => audit.droppedBySinks,
    },
    {
      name: 'capstan_audit_aggregated_total',
      help: 'Requests that were refused and counted in the audit log instead of being recorded one by one.',
      type: 'counter',
      value: () => audit.aggregated,
    },
    { name: 'capstan_requests_waiting', help: 'Requests that wait for a place.', value: () => inFlight.state.waiting },
    {
      name: 'capstan_requests_rejected_total',
      help: 'Requests that found no place.',
      type: 'counter',
      value: () => inFlight.state.rejected,
    },
    {
      name: 'apiserver_flowcontrol_nominal_limit_seats',
      help: 'Places that a priority level has by its shares. Kubelets and node agents have places of their own; all others take turns by workspace and user, whatever their level is.',
      value: () => ({ label: 'priority_level', numbers: nominalSeats(cache, inFlight.capacity) }),
    },
    { name: 'capstan_objects', help: 'Objects in the watch cache.', value: () => cache.objectCount },
  ];
}

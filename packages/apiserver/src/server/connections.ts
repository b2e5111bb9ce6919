import type { Listener, ListenerOptions } from '../http/listener.ts';
import type { Sockets } from '../http/sockets.ts';
import type { Gauge } from '../metrics/metrics.ts';
import { unsentLimits } from './clients.ts';
import type { ServerOptions } from './options.ts';

const mostConnections = 20_000;
const mostPerAddress = 2_000;
/** Fewer than this are worth a word to those who did not choose a number. */
const few = 1_000;
/** Errors of accepting come in great numbers: one in so many milliseconds is told. */
const quietFor = 60_000;

/** How many connections the server holds, from where, and how long clients may keep it waiting. */
export function connectionOptions(
  { limits, log }: ServerOptions,
  sockets: Sockets,
): Pick<ListenerOptions, 'limits' | 'timeouts' | 'handshakes' | 'onError'> {
  const wanted = limits?.connections ?? mostConnections;
  const overall = Math.min(wanted, sockets.most);
  if (overall < (limits?.connections ?? few))
    log(`at most ${overall} connections are held instead of ${wanted}, as the process may open few files: raise its limit`);
  let quietUntil = 0;
  return {
    limits: {
      overall,
      sockets,
      perAddress: Math.min(overall, limits?.connectionsPerAddress ?? mostPerAddress),
      fromLoopback: Math.min(overall, limits?.connectionsFromLoopback ?? overall),
      unsent: limits?.unsentBytes?.overall ?? unsentLimits.overall,
      unsentPerTenant: limits?.unsentBytes?.perTenant ?? unsentLimits.perTenant,
    },
    timeouts: limits?.timeouts ?? {},
    handshakes: limits?.handshakes ?? {},
    onError: (error) => {
      if (Date.now() < quietUntil) return;
      quietUntil = Date.now() + quietFor;
      log(`a connection could not be accepted: ${error.message}`);
    },
  };
}

export function connectionGauges(listener: Listener): Gauge[] {
  return [
    { name: 'capstan_connections', help: 'Open connections.', value: () => listener.connections },
    {
      name: 'capstan_connections_ended_total',
      help: 'Connections that the server ended, by reason.',
      type: 'counter',
      value: () => ({ label: 'reason', numbers: listener.endedConnections }),
    },
  ];
}

import { type LogPartStored, largestLogPart, logStorePath } from '@capstan/api';
import { BoundedMap, StatusError, status } from '@capstan/machinery';
import { peerCertificate } from '../authn/peer-certificate.ts';
import type { Exchange } from '../http/exchange.ts';
import { agentOfRaw } from '../node-agents/agent-certificate.ts';
import type { NodeIdentities } from '../node-agents/identities.ts';
import type { Page } from '../registry/page.ts';
import type { RecentUnits } from './recent-units.ts';
import type { LogStore } from './store.ts';

export interface LogPageOptions {
  readonly identities: NodeIdentities;
  readonly logs: Pick<LogStore, 'append'>;
  readonly units: Pick<RecentUnits, 'owner'>;
  readonly now?: () => number;
}

/** Of each node: bytes in a second, and at once. */
const rate = 4 << 20;
const burst = 32 << 20;
/** Requests of a node at the same time. */
const mostAtOnce = 4;
/** The least cost of a request, in bytes. */
const cheapest = 4 << 10;

interface Allowance {
  left: number;
  at: number;
  running: number;
}

/** `/capstan/logs/`: agents send the output of units. The certificate of the connection says which node it is, and a node has a say only over its own NodeUnits. */
export function logPage({ identities, logs, units, now = () => performance.now() }: LogPageOptions): [string, Page] {
  const nodes = new BoundedMap<string, Allowance>(10_000);
  const store = async (
    { node, allowance }: { node: string; allowance: Allowance },
    exchange: Exchange,
    { path, query }: { path: string; query: Pick<URLSearchParams, 'get'> },
  ): Promise<LogPartStored> => {
    const [, nodeUnit = '', run = ''] = /^([a-z0-9][a-z0-9.-]{0,252})\/(\d{1,7})$/.exec(path.slice(logStorePath.length)) ?? [];
    const offset = query.get('offset') ?? '';
    if (nodeUnit === '' || !/^\d{1,15}$/.test(offset))
      throw status.badRequest(`expected ${logStorePath}<NodeUnit>/<incarnation>?offset=<bytes>`);
    const owner = units.owner(node, nodeUnit);
    if (owner === undefined)
      throw new StatusError({ code: 404, reason: 'NotFound', message: `the node ${node} has no NodeUnit ${nodeUnit}` });
    const bytes = await exchange.body(largestLogPart);
    allowance.left += largestLogPart - Math.max(bytes.length, cheapest);
    const place = { cluster: owner.cluster, namespace: owner.namespace, nodeUnit, node, incarnation: Number(run) };
    return { size: await logs.append(place, { offset: Number(offset), bytes, gap: query.get('gap') === 'true' }) };
  };
  return [
    logStorePath,
    async (exchange, info) => {
      const raw = peerCertificate(exchange.socket);
      const agent = raw && agentOfRaw(raw);
      if (agent === undefined || identities.problem(agent) !== undefined)
        throw status.forbidden({ group: '', resource: '' }, '', 'only node agents may send the output of units');
      if (info.method !== 'PUT') throw status.methodNotAllowed();
      const allowance = nodes.getOrCompute(agent.node, () => ({ left: burst, at: now(), running: 0 }));
      refill(allowance, now());
      if (allowance.left < 0 || allowance.running >= mostAtOnce)
        throw status.tooManyRequests(`the node ${agent.node} sends more output than is accepted; the rest must wait`, 1);
      // The length of a body is known when it is read. Until then, a request costs as much as the largest.
      allowance.left -= largestLogPart;
      allowance.running++;
      try {
        exchange.send({
          code: 200,
          type: 'application/json',
          body: JSON.stringify(await store({ node: agent.node, allowance }, exchange, info)),
        });
      } catch (error) {
        throw storeError(error);
      } finally {
        allowance.running--;
      }
    },
  ];
}

/** Adds the bytes of the time that has passed. Nothing is accepted while there are less than none left. */
export function refill(allowance: Allowance, now: number): void {
  allowance.left = Math.min(burst, allowance.left + ((now - allowance.at) / 1_000) * rate);
  allowance.at = now;
}

const full: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);

/** Errors of the disk: the agent keeps the output and tries again. */
function storeError(error: unknown): unknown {
  if (error instanceof RangeError) return status.badRequest(error.message);
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === undefined || !full.has(code)) return error;
  return status.serviceUnavailable(`the log store has no room: ${code}`);
}

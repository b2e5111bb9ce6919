import { type LogPartStored, largestLogPart, logStorePath, type UnitOwner } from '@capstan/api';
import { BoundedMap, StatusError, status } from '@capstan/machinery';
import { peerCertificate } from '../authn/peer-certificate.ts';
import type { Exchange } from '../http/exchange.ts';
import { agentOfRaw } from '../node-agents/agent-certificate.ts';
import type { NodeIdentities } from '../node-agents/identities.ts';
import type { Page } from '../registry/page.ts';
import { type LogPlace, placeOfTask, placeOfUnit } from './places.ts';
import type { RecentObjects } from './recent-objects.ts';
import type { LogStore } from './store.ts';

export interface LogPageOptions {
  readonly identities: NodeIdentities;
  readonly logs: Pick<LogStore, 'append'>;
  /** Whose the NodeUnits are. */
  readonly units: Pick<RecentObjects<UnitOwner>, 'find'>;
  /** The uids of NodeTasks. */
  readonly tasks: Pick<RecentObjects<string>, 'find'>;
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

/**
 * `/capstan/logs/`: agents send the output of units and tasks. The certificate of the connection says which node it is, and a node has a say only over its own
 * NodeUnits and NodeTasks.
 */
export function logPage({ identities, logs, units, tasks, now = () => performance.now() }: LogPageOptions): [string, Page] {
  const nodes = new BoundedMap<string, Allowance>(10_000);
  const store = async (
    { node, allowance }: { node: string; allowance: Allowance },
    exchange: Exchange,
    { path, query }: { path: string; query: Pick<URLSearchParams, 'get'> },
  ): Promise<LogPartStored> => {
    const offset = query.get('offset') ?? '';
    const place = /^\d{1,15}$/.test(offset) ? placeAt(path.slice(logStorePath.length), node, { units, tasks }) : undefined;
    if (place === undefined)
      throw status.badRequest(
        `expected ${logStorePath}<NodeUnit>/<incarnation>?offset=<bytes> or ${logStorePath}tasks/<NodeTask>/<uid>/<attempt>?offset=<bytes>`,
      );
    const bytes = await exchange.body(largestLogPart);
    allowance.left += largestLogPart - Math.max(bytes.length, cheapest);
    return { size: await logs.append(place, { offset: Number(offset), bytes, gap: query.get('gap') === 'true' }) };
  };
  return [
    logStorePath,
    async (exchange, info) => {
      const raw = peerCertificate(exchange.socket);
      const agent = raw && agentOfRaw(raw);
      if (agent === undefined || identities.problem(agent) !== undefined)
        throw status.forbidden({ group: '', resource: '' }, '', 'only node agents may send the output of units and tasks');
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

const unitPath = /^([a-z0-9][a-z0-9.-]{0,252})\/(\d{1,7})$/;
const taskPath = /^tasks\/([a-z0-9][a-z0-9.-]{0,252})\/([a-z0-9-]{1,64})\/(\d{1,7})$/;

/** Where the output that a node sends to a path is kept; undefined if the path is none. Throws if the node has no such NodeUnit or NodeTask. */
function placeAt(path: string, node: string, { units, tasks }: Pick<LogPageOptions, 'units' | 'tasks'>): LogPlace | undefined {
  const [, nodeUnit = '', incarnation = ''] = unitPath.exec(path) ?? [];
  const [, task = '', uid = '', attempt = ''] = taskPath.exec(path) ?? [];
  const missing = (what: string): StatusError =>
    new StatusError({ code: 404, reason: 'NotFound', message: `the node ${node} has no ${what}` });
  if (task !== '') {
    if (tasks.find(node, task, (known) => known === uid) === undefined) throw missing(`NodeTask ${task} with the uid ${uid}`);
    return placeOfTask({ node, task, uid, attempt: Number(attempt) });
  }
  if (nodeUnit === '') return undefined;
  const owner = units.find(node, nodeUnit);
  if (owner === undefined) throw missing(`NodeUnit ${nodeUnit}`);
  return placeOfUnit({ cluster: owner.cluster, namespace: owner.namespace, nodeUnit, node, incarnation: Number(incarnation) });
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

import { type Condition, type GPUNode, gpuNodeKind, type NodeGpu, platformWorkspace } from '@capstan/api';
import type { Client } from '@capstan/client';
import { columns } from '../columns.ts';
import { followChanges } from '../following.ts';
import { found } from '../nodes/answers.ts';
import { type Column, printList, printOne } from '../output.ts';
import type { OutputFormat } from '../output-format.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { onceInstalled } from '../workspaces/once-served.ts';

export interface InventoryFlags extends ConnectionFlags {
  readonly output?: OutputFormat;
  /** Go on and print changes. */
  readonly watch?: boolean;
}

/** A node, and whether its agent is alive. */
type NodeWithState = GPUNode & { readonly state: string };

const platformOf = (client: Client): Client => client.cluster(platformWorkspace);
const write = (line: string): void => void process.stdout.write(`${line}\n`);

const table: readonly Column<NodeWithState>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'STATE', value: ({ state }) => state },
  { name: 'POOL', value: ({ spec }) => spec?.pool },
  { name: 'GPUS', value: ({ status }) => status?.gpuSummary },
  { name: 'HEALTH', value: ({ status }) => healthOf(status?.gpus ?? []) },
  { name: 'AGENT', value: ({ status }) => status?.machine?.agentVersion },
  { name: 'CPUS', value: ({ status }) => status?.machine?.cpus, isWide: true },
  { name: 'MEMORY', value: ({ status }) => status?.machine && gibibytes(status.machine.memoryBytes), isWide: true },
  { name: 'OS', value: ({ status }) => status?.machine?.os, isWide: true },
  { name: 'GENERATION', value: ({ status }) => status?.identity?.generation, isWide: true },
  { name: 'EXPIRES', value: ({ status }) => status?.identity?.expiresAt, isWide: true },
];

const limitWords = { ProjectQuotas: 'limited by project quotas', LoopFiles: 'limited by loop files', None: 'not limited' } as const;

const details: readonly Column<NodeWithState>[] = [
  { name: 'Name', value: ({ metadata }) => metadata.name },
  { name: 'State', value: ({ state }) => state },
  { name: 'Last silence', value: ({ status }) => status?.conditions?.find(({ type }) => type === 'Reachable')?.message },
  { name: 'Clock', value: ({ status }) => problemIn(status?.conditions, 'ClockSteady') },
  { name: 'Locked', value: ({ status }) => status?.identity?.locked?.reason },
  { name: 'Clean', value: cleanOf },
  { name: 'Pool', value: ({ spec }) => spec?.pool },
  { name: 'Comment', value: ({ spec }) => spec?.comment },
  { name: 'Host name', value: ({ status }) => status?.machine?.hostname },
  {
    name: 'System',
    value: ({ status }) => status?.machine && `${status.machine.os}, kernel ${status.machine.kernel}, ${status.machine.architecture}`,
  },
  { name: 'Processors', value: ({ status }) => status?.machine?.cpus },
  { name: 'Memory', value: ({ status }) => status?.machine && gibibytes(status.machine.memoryBytes) },
  { name: 'Agent', value: ({ status }) => status?.machine?.agentVersion },
  { name: 'Agent upgrade', value: ({ status }) => problemIn(status?.conditions, 'Upgraded') },
  { name: 'Agent support', value: ({ status }) => problemIn(status?.conditions, 'AgentSupported') },
  { name: 'Addresses', value: ({ status }) => status?.addresses?.map(({ address }) => address).join(', ') },
  {
    name: 'Storage sizes',
    value: ({ status }) => {
      const { limits, message } = status?.volumes ?? {};
      return limits && [limitWords[limits], message].filter((words) => words !== undefined).join(': ');
    },
  },
  {
    name: 'Drivers',
    value: ({ status }) =>
      status?.drivers?.map(({ source, version, runtime }) => [source, version, runtime].filter(Boolean).join(' ')).join(', '),
  },
  {
    name: 'Certificate',
    value: ({ status }) => status?.identity && `generation ${status.identity.generation}, expires ${status.identity.expiresAt}`,
  },
];

/** Only if something of a former allocation remains, or may remain. */
function cleanOf({ metadata, status }: GPUNode): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'Clean');
  if (condition === undefined || condition.status === 'True') return undefined;
  if (condition.status === 'Unknown') return `unknown: ${condition.message}`;
  return `no: ${condition.message}. Try again with "capstan node clean ${metadata.name}".`;
}

/** Lists the nodes: whether their agents are alive, and the health of their GPUs. */
export async function listNodes({ output, watch, ...flags }: InventoryFlags): Promise<void> {
  using client = workspaceClient(flags);
  const resource = platformOf(client).resource<GPUNode>(gpuNodeKind);
  const { items, metadata } = await onceInstalled({ client, kind: gpuNodeKind }, () => resource.list());
  const isRaw = output === 'json' || output === 'yaml';
  const nodes = isRaw ? items : items.map(withState);
  printList(nodes as NodeWithState[], { output, table, empty: 'No nodes. Enrol a machine with "capstan node enroll <name>".' });
  if (watch !== true) return;
  const lineOf = (node: GPUNode): string => {
    const { state, status } = withState(node);
    return [state, status?.gpuSummary, healthOf(status?.gpus ?? [])].filter(Boolean).join(', ');
  };
  await followChanges(resource, {
    resourceVersion: metadata.resourceVersion,
    items,
    lineOf,
    nameOf: ({ metadata: { name = '' } }) => name,
    write,
  });
}

/** Shows a node with its GPUs. */
export async function showNode(name: string, { output, ...flags }: InventoryFlags): Promise<void> {
  using client = workspaceClient(flags);
  const node = await found(name, platformOf(client).resource<GPUNode>(gpuNodeKind).get(name));
  if (output === 'json' || output === 'yaml') return printOne(node, { output, table: [] });
  printOne(withState(node), { output, table: details });
  const gpus = node.status?.gpus ?? [];
  if (gpus.length === 0) return;
  write('');
  const rows = gpus.map(({ uuid, model = '-', memoryBytes, pciBusId = '-', linkGroup = '-', numaNode, mig, health }) => [
    uuid,
    model,
    memoryBytes === undefined ? '-' : gibibytes(memoryBytes),
    pciBusId,
    linkGroup,
    String(numaNode ?? '-'),
    mig?.mode === 'enabled' ? String(mig.devices.length) : '-',
    health.state,
    health.state === 'Healthy' ? '' : `${health.reason}: ${health.message}`,
  ]);
  for (const line of columns([['GPU', 'MODEL', 'MEMORY', 'PCI', 'LINKED', 'NUMA', 'MIG', 'HEALTH', ''], ...rows])) write(line);
}

/** The message of a condition that is not true. */
function problemIn(conditions: readonly Condition[] | undefined, name: string): string | undefined {
  const { status, message } = conditions?.find(({ type }) => type === name) ?? {};
  return status === 'True' ? undefined : message;
}

/** `8 Healthy`, or `7 Healthy, 1 Failed`. */
export function healthOf(gpus: readonly NodeGpu[]): string | undefined {
  const states = Map.groupBy(gpus, ({ health }) => health.state);
  return gpus.length === 0 ? undefined : [...states].map(([state, { length }]) => `${length} ${state}`).join(', ');
}

const gibibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 3)} GiB`;

function withState(node: GPUNode): NodeWithState {
  return { ...node, state: describeState(node, stateOf(node)) };
}

/** `Ready`, or `Ready, cordoned`: the state of the agent, and why the node gets no new allocations although it is alive. */
export function describeState({ metadata, spec }: Pick<GPUNode, 'metadata' | 'spec'>, state: string): string {
  const more = [
    metadata.deletionTimestamp !== undefined && 'being removed',
    spec?.lost === true && 'lost',
    spec?.maintenance === true && 'in maintenance',
    spec?.unschedulable === true && 'cordoned',
  ];
  return [state, ...more.filter((word) => word !== false)].join(', ');
}

/** The state of the agent, as the control plane judges it by its own clock. */
export function stateOf({ status }: Pick<GPUNode, 'status'>): 'NotEnrolled' | 'Locked' | 'Ready' | 'Unknown' {
  if (status?.identity === undefined) return 'NotEnrolled';
  if (status.identity.locked !== undefined) return 'Locked';
  return status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true ? 'Ready' : 'Unknown';
}

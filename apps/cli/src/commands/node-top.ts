import { fleetGroup, type GPUNode, type GpuNumbers, gpuNodeKind, type NodeMetrics, platformWorkspace } from '@capstan/api';
import { ApiError, type Client } from '@capstan/client';
import { columns } from '../columns.ts';
import { found } from '../nodes/answers.ts';
import { printObject } from '../output.ts';
import { refresh } from '../refreshing.ts';
import { isPassing } from '../units/units.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { onceInstalled } from '../workspaces/once-served.ts';

export interface NodeTopFlags extends ConnectionFlags {
  readonly watch?: boolean;
  readonly output?: 'json' | 'yaml';
}

/** The numbers of a node, or why there are none. */
export type NodeAnswer = NodeMetrics | { readonly node: string; readonly problem: string };

/** How many nodes are asked at the same time. */
const atOnce = 16;

/** Prints the numbers of the GPUs of a node, or of all. */
export async function topNodes(name: string | undefined, { watch, output, ...flags }: NodeTopFlags): Promise<void> {
  using client = workspaceClient(flags);
  const platform = client.cluster(platformWorkspace);
  const look = async (): Promise<NodeAnswer[]> => {
    if (name !== undefined) return [await found(name, metricsOf(platform, name))];
    const { items } = await onceInstalled({ client, kind: gpuNodeKind }, () => platform.resource<GPUNode>(gpuNodeKind).list());
    const names = items.map(({ metadata }) => metadata.name ?? '');
    const answers: NodeAnswer[] = [];
    for (let at = 0; at < names.length; at += atOnce)
      answers.push(...(await Promise.all(names.slice(at, at + atOnce).map((one) => metricsOf(platform, one)))));
    return answers;
  };
  if (output !== undefined) return printObject({ nodes: await look() }, output);
  const write = (text: string): void => void process.stdout.write(text);
  const lines = async (): Promise<string[]> => gpuLines(await look());
  if (watch === true) return refresh({ look: lines, isPassing, isTerminal: process.stdout.isTTY === true, write });
  for (const line of await lines()) write(`${line}\n`);
}

async function metricsOf(platform: Client, node: string): Promise<NodeAnswer> {
  const path = `/apis/${fleetGroup}/${gpuNodeKind.version}/${gpuNodeKind.resource}/${encodeURIComponent(node)}/metrics`;
  try {
    return await platform.json<NodeMetrics>({ method: 'GET', path });
  } catch (error) {
    // A node that is away does not hide the others.
    if (error instanceof ApiError && error.code >= 500) return { node, problem: error.message };
    throw error;
  }
}

const head = ['NODE', 'GPU', 'MODEL', 'UTILIZATION', 'MEMORY', 'TEMPERATURE', 'POWER', 'HEALTH'];

export function gpuLines(answers: readonly NodeAnswer[]): string[] {
  if (answers.length === 0) return ['No nodes. Enrol a machine with "capstan node enroll <name>".'];
  const rows = answers.flatMap((answer): string[][] => {
    if ('problem' in answer) return [[answer.node, '-', '-', '-', '-', '-', '-', 'NotConnected']];
    if (answer.gpus.length === 0) return [[answer.node, '-', '-', '-', '-', '-', '-', '-']];
    return answer.gpus.map(({ uuid, model, health, memoryBytes, latest = {} }) => [
      answer.node,
      uuid,
      model || '-',
      ...cellsOf(latest, memoryBytes),
      health,
    ]);
  });
  return columns([head, ...rows]);
}

function cellsOf({ utilizationPercent, memoryUsedBytes, temperatureCelsius, powerWatts }: GpuNumbers, memoryBytes = 0): string[] {
  const shown = (value: number | undefined, unit: string): string => (value === undefined ? '-' : `${Math.round(value)}${unit}`);
  const gibibytes = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);
  const memory = memoryUsedBytes === undefined ? '-' : `${gibibytes(memoryUsedBytes)}/${gibibytes(memoryBytes)} GiB`;
  return [shown(utilizationPercent, '%'), memory, shown(temperatureCelsius, ' °C'), shown(powerWatts, ' W')];
}

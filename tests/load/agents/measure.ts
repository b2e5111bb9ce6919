import { setTimeout as sleep } from 'node:timers/promises';
import { type NodeTask, nodeNamespace, nodeTaskKind } from '@capstan/api';
import { Child, capstanProgram } from '@capstan/testbed';
import { shared } from '../client/shared.ts';
import { Latencies } from '../measure/latencies.ts';
import { residentMegabytes } from '../measure/memory.ts';
import { processorSeconds } from '../measure/processor.ts';
import type { Measurement } from '../profiles/profile.ts';
import { ControlPlane } from './control-plane.ts';
import { now } from './generator.ts';
import { type Agents, startAgents } from './many.ts';

export interface AgentAmounts {
  /** How many agents. */
  readonly nodes?: number | undefined;
  /** How many tasks. */
  readonly count?: number | undefined;
  /** How many tasks are sent at once. */
  readonly clients?: number | undefined;
}

/** In milliseconds: how long everything is left alone before it is measured, and how long processor time is counted. */
const rest = 20_000;
const watched = 60_000;
const longestTask = 60_000;

/** Real agents in a process of their own, against one `capstan up`: how fast tasks reach them, and the cost of those that do nothing. */
export async function measureAgents({ nodes = 1_000, count = 1_000, clients = 10 }: AgentAmounts): Promise<Measurement[]> {
  await using plane = await ControlPlane.start();
  const single = await memoryOfOne(plane);
  await sleep(rest);
  const before = await shares(plane);
  const memory = residentMegabytes([plane.server]) ?? Number.NaN;
  using agents = await startAgents(plane, { count: nodes });
  await sleep(rest);
  const grown = (residentMegabytes([plane.server]) ?? Number.NaN) - memory;
  const after = await shares(plane);
  const latencies = await dispatch(plane, agents, { count, clients });
  const per100 = (which: 'server' | 'controllers'): number => ((after[which] - before[which]) / nodes) * 100;
  return [
    { what: 'memory of an agent at rest', value: single, unit: 'MB', better: 'lower' },
    { what: `agents joined, ${nodes} of them`, value: nodes / agents.seconds, unit: 'per second', better: 'higher' },
    { what: 'API server: share of a processor for 100 idle agents', value: per100('server'), unit: '%', better: 'lower' },
    { what: "platform's controllers: share of a processor for 100 idle agents", value: per100('controllers'), unit: '%', better: 'lower' },
    { what: 'API server: memory for each agent', value: (grown * 1024) / nodes, unit: 'KiB', better: 'lower' },
    { what: `tasks dispatched, ${clients} at once`, value: count / latencies.seconds, unit: 'per second', better: 'higher' },
    { what: 'from the creation of a task to Running: p50', value: latencies.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: 'from the creation of a task to Running: p99', value: latencies.quantile(0.99), unit: 'ms', better: 'lower' },
    ...Object.entries(latencies.used).map(
      ([who, seconds]): Measurement => ({
        what: `processor time for each task: ${who}`,
        value: (seconds / count) * 1000,
        unit: 'ms',
        better: 'lower',
      }),
    ),
  ];
}

/** The memory of a real `capstan node-agent` that has joined and then done nothing. */
async function memoryOfOne(plane: ControlPlane): Promise<number> {
  const [command = '', ...args] = await plane.enroll('single');
  const state = plane.directory.join('single');
  const more = ['--state-dir', state, '--gpus', plane.declaredGpus()];
  await using agent = new Child('capstan node-agent', [process.execPath, capstanProgram, command, ...args, ...more]);
  await agent.waitUntil('its tunnel is open', () => agent.output.includes('is open'));
  await sleep(2 * rest);
  return residentMegabytes([agent.pid]) ?? Number.NaN;
}

/** The share of a processor that the processes use, in percent. */
async function shares({ server, controllers }: ControlPlane): Promise<{ readonly server: number; readonly controllers: number }> {
  const used = [processorSeconds([server]), processorSeconds([controllers])] as const;
  await sleep(watched);
  const share = (pid: number, from: number): number => ((processorSeconds([pid]) - from) / (watched / 1000)) * 100;
  return { server: share(server, used[0]), controllers: share(controllers, used[1]) };
}

/** Tasks for one agent after the other, some at once. Each counts from the request that creates it to the answer to the report that it runs. */
async function dispatch(
  { platform, server, controllers }: ControlPlane,
  agents: Agents,
  { count, clients }: { readonly count: number; readonly clients: number },
): Promise<Latencies & { readonly seconds: number; readonly used: Readonly<Record<string, number>> }> {
  const pids = { 'API server': server, "platform's controllers": controllers, 'all agents': agents.pid };
  const used = (): number[] => Object.values(pids).map((pid) => processorSeconds([pid]));
  const before = used();
  const latencies = new Latencies(count);
  const running = new Map<string, (at: number) => void>();
  agents.onRunning = (task, at) => running.get(task)?.(at);
  const began = performance.now();
  await shared(
    Array.from({ length: count }, (_, index) => index),
    clients,
    async (index) => {
      const name = `load-task-${index}`;
      const node = agents.nodes[index % agents.nodes.length]!;
      const reported = Promise.withResolvers<number>();
      running.set(name, reported.resolve);
      const sent = now();
      await platform.resource<NodeTask>(nodeTaskKind).in(nodeNamespace(node)).create(inspection(name));
      const late = setTimeout(() => reported.reject(new Error(`${name} did not run within ${longestTask} ms`)), longestTask);
      latencies.add((await reported.promise) - sent);
      clearTimeout(late);
      running.delete(name);
    },
  );
  const seconds = (performance.now() - began) / 1000;
  const after = used();
  return Object.assign(latencies, {
    seconds,
    used: Object.fromEntries(Object.keys(pids).map((who, index) => [who, after[index]! - before[index]!])),
  });
}

const inspection = (name: string): NodeTask => ({
  apiVersion: `${nodeTaskKind.group}/${nodeTaskKind.version}`,
  kind: nodeTaskKind.kind,
  metadata: { name },
  spec: { type: 'gpu.inspect', attempt: 1, cancelled: false, deadline: '10m', gpuInspect: { deep: false } },
});

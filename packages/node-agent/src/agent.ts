import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeUnitDriver } from '@capstan/api';
import type { BackoffOptions } from '@capstan/machinery';
import type { TunnelLimits } from '@capstan/streams';
import { ControlPlane } from './control-plane/control-plane.ts';
import type { Intervals } from './gpus/discovery/discovery.ts';
import { GpuMonitor } from './gpus/monitor.ts';
import type { JoinOptions } from './identity/membership.ts';
import { obtainIdentity } from './identity/obtain.ts';
import { StateDirectory } from './identity/state.ts';
import { addressesOf, describeMachine } from './inventory/machine.ts';
import { NodeReporter } from './inventory/node-reporter.ts';
import { nodeStatus, type ReportedStatus } from './inventory/node-status.ts';
import { type NodeHandlers, type RoutedRequest, refuse, routeRequests } from './requests/router.ts';
import { TaskRunner } from './tasks/task-runner.ts';
import { type UnitOptions, UnitRunner } from './units/unit-runner.ts';

export interface AgentOptions {
  readonly stateDirectory: string;
  /** Needed until the machine has an identity. */
  readonly join?: JoinOptions | undefined;
  readonly handlers: NodeHandlers;
  /** A file that declares GPUs. Without it, `gpus.yaml` in the state directory if it exists, and the vendors' tools otherwise. */
  readonly declaredGpus?: string | undefined;
  /** The version of the agent. */
  readonly version?: string;
  readonly log: (line: string) => void;
  /** Stops the agent. */
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  readonly backoff?: BackoffOptions;
  readonly limits?: Partial<TunnelLimits>;
  /** How often the Lease is renewed, and how often the list of servers is read, in milliseconds. */
  readonly heartbeatInterval?: number;
  readonly serversInterval?: number;
  readonly gpuIntervals?: Partial<Intervals>;
  /** How units are run. Without it, this machine runs none. */
  readonly units?: UnitOptions;
  readonly onReady?: (node: string) => void;
}

type NodeRequest = RoutedRequest<{ kind: 'node'; path: string }>;

/**
 * Runs the agent of a node until the signal aborts. Rejects with an `AgentError` `refused` when the control plane does not accept this machine: only a
 * person can help then.
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { log, signal, now = () => new Date(), stateDirectory, handlers } = options;
  const { backoff = { base: 500, max: 30_000, random: Math.random } } = options;
  const state = await StateDirectory.open(stateDirectory);
  const identity = await obtainIdentity(state, { join: options.join, now, backoff, log, signal });
  if (identity === undefined) return;
  const { node } = identity;
  let tasks: TaskRunner | undefined;
  let units: UnitRunner | undefined;
  const serveNode = (request: NodeRequest): void | Promise<void> => {
    const served = tasks?.serve(request) ?? false;
    if (served !== false) return served;
    if (handlers.node !== undefined) return handlers.node(request);
    refuse(request, { code: 404, reason: 'NotFound', message: `this node serves no path ${request.route.path}` });
  };
  const controlPlane = new ControlPlane(identity, {
    state,
    handle: routeRequests({ ...handlers, node: serveNode }),
    now,
    backoff,
    limits: options.limits ?? {},
    heartbeatInterval: options.heartbeatInterval ?? 10_000,
    serversInterval: options.serversInterval ?? 30_000,
    log,
    onContact: (at) => units?.reached(at),
  });
  const { client } = controlPlane;
  const stop = new AbortController();
  const running = AbortSignal.any([signal, stop.signal]);
  let monitor: GpuMonitor | undefined;
  const reporter = new NodeReporter({
    client,
    node,
    backoff,
    log,
    onNode: ({ spec }) => monitor?.expect(spec?.expectedGPUs ?? []),
  });
  const describe = await describer(options);
  const report = (): void => reporter.report(describe(gpus, units?.drivers ?? []));
  await using gpus = await startMonitor(options, { node, onChange: () => report() });
  monitor = gpus;
  await using runner = await TaskRunner.open({ client, node, stateDirectory, gpus, backoff, log });
  tasks = runner;
  await using unitRunner = await UnitRunner.open({
    drivers: [],
    allowUnisolated: false,
    ...options.units,
    client,
    node,
    stateDirectory,
    gpus,
    backoff,
    log,
  });
  units = unitRunner;
  options.onReady?.(node);
  // The first report is complete: GPUs must not seem to vanish whenever an agent starts.
  const first = gpus.inspect().then(report, report);
  const work = Promise.all([first, reporter.run(running), runner.run(running), unitRunner.run(running)]);
  const serving = controlPlane.run(running);
  try {
    await Promise.race([serving, work.then(() => serving)]);
  } finally {
    stop.abort();
    await Promise.allSettled([serving, work]);
  }
}

/** Makes this machine a node if it is none, and returns the name of the node; undefined if the signal aborts first. Rejects like `runAgent`. */
export async function enrollMachine(
  options: Pick<AgentOptions, 'stateDirectory' | 'join' | 'log' | 'signal'>,
): Promise<string | undefined> {
  const { stateDirectory, join: invitation, log, signal } = options;
  const state = await StateDirectory.open(stateDirectory);
  const backoff = { base: 500, max: 5_000, random: Math.random };
  return (await obtainIdentity(state, { join: invitation, now: () => new Date(), backoff, log, signal }))?.node;
}

/** Returns a function that describes this machine and its GPUs as they are now. */
async function describer({
  version = 'unknown',
  now = () => new Date(),
}: AgentOptions): Promise<(gpus: GpuMonitor, unitDrivers: readonly NodeUnitDriver[]) => ReportedStatus> {
  const machine = await describeMachine(version);
  const startedAt = `${now().toISOString().slice(0, 19)}Z`;
  return (gpus, unitDrivers) =>
    nodeStatus({ machine, addresses: addressesOf(), inventories: gpus.inventories(), gpus: gpus.status(), unitDrivers, startedAt });
}

async function startMonitor(
  { stateDirectory, declaredGpus, log, gpuIntervals }: AgentOptions,
  { node, onChange }: { readonly node: string; readonly onChange: () => void },
): Promise<GpuMonitor> {
  const usual = join(stateDirectory, 'gpus.yaml');
  const isThere = await access(usual, constants.R_OK).then(
    () => true,
    () => false,
  );
  const declaredPath = declaredGpus ?? (isThere ? usual : undefined);
  return GpuMonitor.start({
    machine: node,
    stateFolder: join(stateDirectory, 'gpus'),
    ...(declaredPath !== undefined && { declaredPath }),
    ...(gpuIntervals && { intervals: gpuIntervals }),
    log,
    onChange,
  });
}

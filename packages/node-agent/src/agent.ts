import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackoffOptions } from '@capstan/machinery';
import type { TunnelLimits } from '@capstan/streams';
import { AppAccess } from './app-access/serving.ts';
import { ControlPlane } from './control-plane/control-plane.ts';
import { leaseTime } from './control-plane/heartbeat.ts';
import { Interruptions } from './control-plane/interruptions.ts';
import { fetchServers } from './control-plane/servers.ts';
import type { Intervals } from './gpus/discovery/discovery.ts';
import { GpuMonitor } from './gpus/monitor.ts';
import { serveNodeMetrics } from './gpus/samples/serve-metrics.ts';
import { AgentError } from './identity/error.ts';
import { hashOfToken, type JoinOptions } from './identity/membership.ts';
import { obtainIdentity } from './identity/obtain.ts';
import { StateDirectory } from './identity/state.ts';
import { addressesOf, describeMachine } from './inventory/machine.ts';
import { NodeReporter } from './inventory/node-reporter.ts';
import { type Facts, nodeStatus, type ReportedStatus } from './inventory/node-status.ts';
import type { DriverName } from './processes/choice.ts';
import { type NodeHandlers, type RoutedRequest, refuse, routeRequests } from './requests/router.ts';
import { TaskRunner } from './tasks/task-runner.ts';
import type { UnitDriver } from './units/drivers/driver.ts';
import { givenDrivers, type OpenDriversOptions, openDrivers } from './units/drivers/machine.ts';
import { contactFile, readContact } from './units/engine/contact.ts';
import { defaultTimes, type UnitTimes } from './units/engine/times.ts';
import { openCleaned } from './units/records/remembered.ts';
import { type UnitOptions, UnitRunner } from './units/unit-runner.ts';
import { Installation } from './upgrade/installation.ts';
import { Upgrader } from './upgrade/upgrader.ts';
import type { ImageSource } from './volumes/preparation/prepare.ts';
import { type VolumeOptions, VolumeRunner } from './volumes/volume-runner.ts';

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
  /** How long the output of tasks stays on this machine after their end, in milliseconds. By default, a week. */
  readonly taskOutputRetention?: number;
  /** Who runs the processes of tasks and services. */
  readonly processDriver?: DriverName | undefined;
  /** How often upgrades are looked for, in milliseconds. */
  readonly upgradeInterval?: number;
  /** Names the installation that upgrades change; that of this process if absent. */
  readonly environment?: NodeJS.ProcessEnv;
  /** How units are run. By default with the drivers that this machine has, and only if they isolate units. */
  readonly units?: Partial<UnitOptions>;
  /** Holds a folder for each instance of an app on this node. */
  readonly appsDirectory?: string;
  /** How volumes are kept. By default with limits if this machine has loop devices. */
  readonly volumes?: VolumeOptions;
  readonly onReady?: (node: string) => void;
}

/** In milliseconds; API servers keep output that long, too. */
const week = 7 * 24 * 3_600_000;

/** In milliseconds. Shorter than servers keep an idle connection open, so that tasks find one. */
const serversInterval = 100_000;

/** In milliseconds: an agent on a busy machine may be late by less. */
const shortestSilence = 4_000;

type NodeRequest = RoutedRequest<{ kind: 'node'; path: string }>;

/**
 * Runs the agent of a node until the signal aborts, or another version of it is to be started, in which case it resolves with `restart`. Rejects with an `AgentError` `refused` when the control plane does not accept this machine: only a
 * person can help then.
 */
export async function runAgent(options: AgentOptions): Promise<'stopped' | 'restart'> {
  const { log, signal, now = () => new Date(), stateDirectory, handlers } = options;
  const { backoff = { base: 500, max: 30_000, random: Math.random } } = options;
  const state = await StateDirectory.open(stateDirectory);
  const identity = await obtainIdentity(state, { join: options.join, now, backoff, log, signal });
  if (identity === undefined) return 'stopped';
  const { node } = identity;
  using appAccess = new AppAccess({ directory: options.appsDirectory, log });
  let monitor: GpuMonitor | undefined;
  let tasks: TaskRunner | undefined;
  let units: UnitRunner | undefined;
  let volumeRunner: VolumeRunner | undefined;
  const serveNode = (request: NodeRequest): void | Promise<void> => {
    const metrics = monitor && serveNodeMetrics(request, { node, gpus: monitor, now: () => now().getTime() });
    for (const served of [metrics, tasks?.serve(request), units?.serve(request), appAccess.serve(request)])
      if (served !== undefined && served !== false) return served;
    if (handlers.node !== undefined) return handlers.node(request);
    refuse(request, { code: 404, reason: 'NotFound', message: `this node serves no path ${request.route.path}` });
  };
  const { heartbeatInterval = 10_000 } = options;
  const interruptions: Interruptions = new Interruptions({
    last: await readContact(contactFile(stateDirectory)),
    noticeable: Math.max(leaseTime(heartbeatInterval), shortestSilence),
    onChange: () => report(),
  });
  const controlPlane = new ControlPlane(identity, {
    state,
    handle: (request) => routeRequests({ ...units?.handlers, ...handlers, node: serveNode })(request),
    now,
    backoff,
    limits: options.limits ?? {},
    heartbeatInterval,
    interruptions,
    serversInterval: options.serversInterval ?? serversInterval,
    log,
    onContact: (at) => units?.reached(at),
    onServers: (list) => upgrader.server(list),
  });
  const { client } = controlPlane;
  const stop = new AbortController();
  const running = AbortSignal.any([signal, stop.signal]);
  const reporter = new NodeReporter({
    client,
    node,
    backoff,
    log,
    onNode: ({ metadata, spec }) => {
      monitor?.expect(spec?.expectedGPUs ?? []);
      upgrader.want(spec?.agent ?? {}, metadata.generation);
    },
    onReported: () => void upgrader.reported(),
  });
  let isInspected = false;
  const report = (): void => {
    if (monitor !== undefined && isInspected)
      reporter.report(
        describe(monitor, {
          unitDrivers: units?.drivers ?? [],
          sharedDirectories: volumeRunner?.sharedDirectories ?? [],
          volumes: volumeRunner && volumesOf(volumeRunner),
          conditions: [...upgrader.conditions, ...interruptions.conditions],
        }),
      );
  };
  const upgrader: Upgrader = new Upgrader({
    installation: Installation.ofThisProcess(options.environment),
    version: options.version ?? 'unknown',
    stateDirectory,
    identity: () => controlPlane.identity,
    servers: () => controlPlane.servers,
    now,
    log,
    onChange: report,
    interval: options.upgradeInterval,
  });
  const describe = await describer(options);
  await using gpus = await startMonitor(options, { node, onChange: report });
  monitor = gpus;
  await using cleaned = await openCleaned(stateDirectory);
  await using runner = await TaskRunner.open({
    ...{ client, node, stateDirectory, gpus, cleaned, backoff, log },
    ...logTimes(options.units?.times),
    driver: options.processDriver,
    outputRetention: options.taskOutputRetention ?? week,
    source: { identity: () => controlPlane.identity, servers: () => controlPlane.servers },
  });
  tasks = runner;
  await using drivers = options.units?.drivers
    ? givenDrivers(options.units.drivers)
    : await openDrivers(stateDirectory, driverOptions(options.units));
  await using volumes = await VolumeRunner.open({
    ...options.volumes,
    client,
    node,
    stateDirectory,
    isInUse: (volume) => units?.uses(volume) ?? true,
    onDirectories: report,
    images: imagesOf(drivers.all),
    backoff,
    log,
  });
  volumeRunner = volumes;
  await using unitRunner = await UnitRunner.open({
    allowUnisolated: false,
    ...options.units,
    drivers: drivers.all,
    client,
    node,
    stateDirectory,
    cleaned,
    storages: volumes.folders,
    gpus,
    backoff,
    log,
  });
  units = unitRunner;
  options.onReady?.(node);
  // The first report is complete: GPUs must not seem to vanish whenever an agent starts.
  const begin = (): void => {
    isInspected = true;
    report();
  };
  const first = gpus.inspect().then(begin, begin);
  const work = Promise.all([first, reporter.run(running), runner.run(running), unitRunner.run(running), volumes.run(running)]);
  const serving = controlPlane.run(running);
  try {
    const upgraded = upgrader.run(running).then((isDue) => (isDue ? true : serving.then(() => false)));
    return (await Promise.race([upgraded, serving.then(() => false), work.then(() => upgraded)])) ? 'restart' : 'stopped';
  } finally {
    stop.abort();
    await Promise.allSettled([serving, work]);
  }
}

function driverOptions({ engine, disk }: Partial<UnitOptions> = {}): OpenDriversOptions {
  return { ...(engine && { engine }), ...(disk !== undefined && { disk }) };
}

function volumesOf({ limits: { kind, why } }: VolumeRunner): ReportedStatus['volumes'] {
  return { limits: kind, ...(why !== undefined && { message: why.slice(0, 1024) }) };
}

/** The driver that has an engine for images. */
function imagesOf(drivers: readonly UnitDriver[]): ImageSource | undefined {
  const driver = drivers.find((one) => one.isolation !== undefined && 'imageFiles' in one);
  return driver && ((image, use, signal) => driver.imageFiles!(image, use, signal));
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

/** The node that this machine is; undefined if it is none, or became one with another token than the given one. */
export async function nodeOfMachine(stateDirectory: string, token?: string): Promise<string | undefined> {
  const identity = await (await StateDirectory.open(stateDirectory)).read();
  return token === undefined || identity?.tokenHash === hashOfToken(token) ? identity?.node : undefined;
}

/** Reads the identity of this machine and calls a server with it. Rejects if either fails. A version that cannot do it must not replace one that can. */
export async function checkAgent(stateDirectory: string, signal: AbortSignal): Promise<void> {
  const identity = await (await StateDirectory.open(stateDirectory)).read();
  if (identity === undefined) throw new AgentError('refused', `${stateDirectory} has no identity`);
  await fetchServers(identity, [...new Set([...identity.servers, identity.entry])], signal);
}

/** The output of tasks is sent as often as that of units. */
function logTimes(times: Partial<UnitTimes> = {}): Pick<UnitTimes, 'logInterval' | 'longestLogInterval'> {
  const { logInterval, longestLogInterval } = { ...defaultTimes, ...times };
  return { logInterval, longestLogInterval };
}

/** Returns a function that describes this machine and its GPUs as they are now. */
async function describer({
  version = 'unknown',
  environment,
  now = () => new Date(),
}: AgentOptions): Promise<
  (gpus: GpuMonitor, more: Pick<Facts, 'unitDrivers' | 'sharedDirectories' | 'volumes' | 'conditions'>) => ReportedStatus
> {
  const machine = await describeMachine(version, Installation.ofThisProcess(environment) !== undefined);
  const startedAt = `${now().toISOString().slice(0, 19)}Z`;
  return (gpus, more) =>
    nodeStatus({ machine, addresses: addressesOf(), inventories: gpus.inventories(), gpus: gpus.status(), ...more, startedAt });
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

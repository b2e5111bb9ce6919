import { execFile } from 'node:child_process';
import { access, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { GpuReading, TaskParameters } from '@capstan/api';
import { allMounts } from '../../disks/mounts.ts';
import { ProcessGroup } from '../../processes/cgroup.ts';
import { allocationMarker, processEntry, processesMarked } from '../../processes/proc.ts';
import { type Finding, type GpuTraces, tracesOnGpus } from '../cleaning/gpus.ts';
import { TaskFailure } from '../failure.ts';
import { type TaskContext, type TaskType, taskType } from '../task-type.ts';
import type { GpuInspector } from './gpu-inspect.ts';

const execute = promisify(execFile);
/** An id becomes a part of paths. */
const idPattern = /^[a-z0-9][a-z0-9-]{0,127}$/;
/** In milliseconds: between two looks at processes, until they are killed, until they are given up; the same for looks at GPUs. */
const times = { interval: 50, grace: 5_000, limit: 15_000, gpuInterval: 1_000, gpuLimit: 15_000 };

export interface CleanOptions {
  /** Has a folder for each allocation, with its files and mounts. */
  readonly directory: string;
  /** The folder of cgroups; each allocation has one of its name. Undefined without cgroups. */
  readonly groups: string | undefined;
  readonly gpus: GpuInspector & { readings(): readonly GpuReading[] };
  /** Remembers the allocation, so that nothing of it starts here any more: for now, and for good when it is clean. */
  readonly cleaned: { note(allocation: string): void; add(allocation: string): Promise<void> };
  readonly times?: Partial<typeof times>;
}

/** Ends the processes of an allocation, unmounts and deletes its files, and reports everything that remains. */
export function nodeClean(options: CleanOptions): TaskType {
  return taskType<'nodeClean'>({
    name: 'node.clean',
    field: 'nodeClean',
    afterCrash: 'rerun',
    // Devices wait for it, and so do those who ordered them.
    hasOwnPlace: true,
    // Most allocations end their own work, and leave nothing.
    async check(parameters) {
      if (!(await isUntouched(parameters, options))) return false;
      await options.cleaned.add(parameters.allocation);
      return true;
    },
    async run({ allocation, devices = [] }, context) {
      const folder = folderOf(allocation, options);
      options.cleaned.note(allocation);
      context.step('ending processes');
      const processes = await endProcesses(allocation, options, context);
      context.step('unmounting');
      const mounts = await unmountBelow(folder, context);
      context.step('deleting files');
      // Never through a mount: the files below it may belong to somebody else.
      const files = mounts.length > 0 ? [] : await deleteFiles(folder);
      context.step('looking at the GPUs');
      const traces = { devices: new Set(devices), seen: processes.seen };
      const report = [...processes.left, ...mounts, ...files, ...(await leftOnGpus(traces, options, context))];
      for (const { name, message } of report) context.print(`${name}: ${message}\n`);
      if (report.length > 0) throw new TaskFailure('NotClean', sentenceOf(report), { report });
      await options.cleaned.add(allocation);
      return {};
    },
  });
}

function folderOf(allocation: string, { directory }: CleanOptions): string {
  if (!idPattern.test(allocation))
    throw new TaskFailure('InvalidParameters', `expected the id of an allocation, found ${JSON.stringify(allocation)}`);
  return join(directory, allocation);
}

/** Whether the allocation has left nothing on this machine. */
async function isUntouched({ allocation, devices = [] }: TaskParameters<'nodeClean'>, options: CleanOptions): Promise<boolean> {
  const folder = folderOf(allocation, options);
  const { groups, gpus, cleaned } = options;
  // Before the first look, so that nothing starts behind it.
  cleaned.note(allocation);
  if ((groups !== undefined && (await exists(join(groups, allocation)))) || (await exists(folder))) return false;
  if ((await processesMarked(allocationMarker, allocation)).length > 0 || (await mountsBelow(folder)).length > 0) return false;
  if (devices.length === 0) return true;
  await gpus.inspect();
  return tracesOnGpus(gpus.readings(), { devices: new Set(devices), seen: new Set() }).length === 0;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const sentenceOf = (report: readonly Finding[]): string =>
  report
    .map(({ name, message }) => `${name}: ${message}`)
    .join('; ')
    .slice(0, 4096);

async function endProcesses(
  allocation: string,
  { groups, times: own }: CleanOptions,
  { signal }: TaskContext,
): Promise<{ readonly seen: ReadonlySet<number>; readonly left: Finding[] }> {
  const { interval, grace, limit } = { ...times, ...own };
  const group = groups === undefined ? undefined : new ProcessGroup(join(groups, allocation));
  const seen = new Set<number>();
  for (let waited = 0; ; waited += interval) {
    const left = await membersOf(allocation, group);
    if (left.length === 0) break;
    signal.throwIfAborted();
    if (waited >= limit) return { seen, left: left.map((pid) => ({ name: `process ${pid}`, message: 'could not be ended' })) };
    const isForced = waited >= grace;
    if (isForced) await group?.killAll();
    for (const pid of left) if (isForced || !seen.has(pid)) send(pid, isForced ? 'SIGKILL' : 'SIGTERM');
    for (const pid of left) seen.add(pid);
    await sleep(interval);
  }
  await group?.remove();
  return { seen, left: [] };
}

async function membersOf(allocation: string, group: ProcessGroup | undefined): Promise<number[]> {
  const members = (await group?.members()) ?? [];
  const entries = await Promise.all(members.map(processEntry));
  const alive = entries.flatMap((entry) => (entry === undefined || entry.isZombie ? [] : [entry.pid]));
  return [...new Set([...alive, ...(await processesMarked(allocationMarker, allocation))])];
}

function send(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

async function unmountBelow(folder: string, { signal }: TaskContext): Promise<Finding[]> {
  const failures = new Map<string, string>();
  // The deepest first, and those that are mounted over each other as often as they are.
  for (let left = await mountsBelow(folder); left.some((path) => !failures.has(path)); left = await mountsBelow(folder)) {
    signal.throwIfAborted();
    const path = left.findLast((one) => !failures.has(one))!;
    await execute('umount', [path]).catch((error: Error & { stderr?: string }) =>
      failures.set(path, lastWords(error.stderr || error.message)),
    );
  }
  return [...failures].map(([path, why]) => ({ name: path.slice(0, 253), message: `is still mounted: ${why}`.slice(0, 1024) }));
}

/** `umount: /mnt/a: target is busy.` as `target is busy`. */
function lastWords(text: string): string {
  return text.trim().split(': ').at(-1)!.replace(/\.$/, '');
}

async function mountsBelow(folder: string): Promise<string[]> {
  return (await allMounts()).map(({ point }) => point).filter((path) => path === folder || path.startsWith(`${folder}/`));
}

async function deleteFiles(folder: string): Promise<Finding[]> {
  try {
    await rm(folder, { recursive: true, force: true });
    return [];
  } catch (error) {
    const left = await readdir(folder).catch(() => []);
    return [
      { name: folder.slice(0, 253), message: `${left.length} files could not be deleted: ${(error as Error).message}`.slice(0, 1024) },
    ];
  }
}

/** Memory is released a moment after the process that had it has ended. */
async function leftOnGpus(traces: GpuTraces, { gpus, times: own }: CleanOptions, { signal }: TaskContext): Promise<Finding[]> {
  if (traces.devices.size === 0 && traces.seen.size === 0) return [];
  const { gpuInterval, gpuLimit } = { ...times, ...own };
  for (let waited = 0; ; waited += gpuInterval) {
    await gpus.inspect();
    const left = tracesOnGpus(gpus.readings(), traces);
    if (left.length === 0 || traces.seen.size === 0 || waited >= gpuLimit) return left;
    signal.throwIfAborted();
    await sleep(gpuInterval);
  }
}

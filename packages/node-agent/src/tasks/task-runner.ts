import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { GpuReading, NodeTaskStatus } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { BackoffOptions } from '@capstan/machinery';
import { partSender } from '../logs/send-part.ts';
import { LogSender } from '../logs/sender.ts';
import { processGroups } from '../processes/cgroup.ts';
import { chooseDriver, type DriverName } from '../processes/choice.ts';
import type { ProcessDriver } from '../processes/driver.ts';
import type { RoutedRequest } from '../requests/router.ts';
import { Services } from '../services/services.ts';
import { momentNow } from '../time/moment.ts';
import { type ArtifactSourceOptions, ServedArtifacts } from './artifacts.ts';
import { TaskEngine } from './engine.ts';
import { Journal } from './journal.ts';
import { keepRemoving, type OldOutputOptions } from './old-output.ts';
import { TaskOutput } from './output.ts';
import { StoredSecrets } from './secrets.ts';
import { outputOf, type SentOutputOptions, sentOutput } from './sent-output.ts';
import { StoredScripts } from './stored-scripts.ts';
import { serveTaskLog } from './task-log.ts';
import { TaskReports } from './task-reports.ts';
import type { TaskRequest } from './task-type.ts';
import { watchTasks } from './task-watch.ts';
import { artifactFetch } from './types/artifact-fetch.ts';
import { collectLogs } from './types/collect-logs.ts';
import { fileWrite } from './types/file-write.ts';
import { type GpuBook, gpuAccept } from './types/gpu-accept.ts';
import { gpuInspect } from './types/gpu-inspect.ts';
import { type CleanOptions, nodeClean } from './types/node-clean.ts';
import { packageEnsure } from './types/package-ensure.ts';
import { probeCommand } from './types/probe-command.ts';
import { probeHttp, probeTcp } from './types/probes.ts';
import { processRun } from './types/process-run.ts';
import { serviceEnsure } from './types/service-ensure.ts';

export interface TaskRunnerOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly stateDirectory: string;
  readonly gpus: GpuBook & { readings(): readonly GpuReading[] };
  /** The allocations after which this node was cleaned. */
  readonly cleaned: CleanOptions['cleaned'];
  readonly backoff: BackoffOptions;
  /** Where artifacts are. */
  readonly source: Pick<ArtifactSourceOptions, 'identity' | 'servers'>;
  /** Who runs the processes of tasks and services. By default, systemd where it is the first process. */
  readonly driver?: DriverName | undefined;
  readonly log: (line: string) => void;
  /** In milliseconds: how often output is sent to the control plane, and how seldom while that fails. */
  readonly logInterval: number;
  readonly longestLogInterval: number;
  /** How long the output of a task stays on this machine after its end, in milliseconds. */
  readonly outputRetention: number;
}

/** How long a deleted task waits for its last output to be sent, in milliseconds. */
const lastOutput = 5_000;
/** In bytes, of one task. */
const outputLimit = 64 << 20;

/** Does the NodeTasks of this machine. Processes of tasks outlive it. */
export class TaskRunner implements AsyncDisposable {
  readonly #options: TaskRunnerOptions;
  readonly #journal: Journal;
  readonly #outputs: TaskOutput;
  readonly #reports: TaskReports;
  readonly #engine: TaskEngine;
  readonly #services: Services;
  readonly #logs: LogSender;
  readonly #oldOutput: OldOutputOptions;

  private constructor(
    options: TaskRunnerOptions,
    journal: Journal,
    { processes, groups }: { readonly processes: ProcessDriver; readonly groups: string | undefined },
  ) {
    const { client, node, stateDirectory, backoff, log, gpus, cleaned, source } = options;
    this.#options = options;
    this.#journal = journal;
    this.#reports = new TaskReports({ client, node, backoff, log });
    const scripts = new StoredScripts({ client, directory: join(stateDirectory, 'scripts') });
    const isCut = async (key: string): Promise<boolean> => (await processes.output(key)).truncated;
    this.#outputs = new TaskOutput({ directory: join(stateDirectory, 'output'), limit: outputLimit, isCut });
    this.#services = new Services({ directory: join(stateDirectory, 'services'), processes, log });
    const sent: SentOutputOptions = { journal, outputs: this.#outputs };
    this.#logs = new LogSender({
      of: 'tasks',
      sources: () => sentOutput(sent),
      send: partSender(client),
      notice: () => '\n[some output was lost before it could be sent]\n',
      log,
      interval: options.logInterval,
      longestInterval: options.longestLogInterval,
    });
    const sendRest = async (request: TaskRequest): Promise<void> => {
      const signal = AbortSignal.timeout(lastOutput);
      await this.#logs.flush(outputOf(request, sent), signal);
      signal.throwIfAborted();
    };
    this.#engine = new TaskEngine({
      journal,
      outputs: this.#outputs,
      processes,
      secrets: new StoredSecrets({ client, node }),
      types: [
        fileWrite,
        artifactFetch(new ServedArtifacts({ ...source, backoff })),
        packageEnsure,
        serviceEnsure({ services: this.#services, scripts, hasSystemd: existsSync('/run/systemd/system') }),
        processRun(scripts),
        probeHttp,
        probeTcp,
        probeCommand(scripts),
        collectLogs,
        gpuInspect(gpus),
        gpuAccept(gpus),
        nodeClean({ directory: join(stateDirectory, 'allocations'), groups, gpus, cleaned }),
      ],
      report: (request, status, signal) => this.#reports.report(request, status, signal),
      claim: (request, status, signal) => this.#reports.claim(request, status, signal),
      onProgress: (request, status) => log(taskLine(request, status)),
      beforeRemoval: (request) => sendRest(request).catch(() => {}),
      now: momentNow,
      onError: (error) => log(`a task went wrong: ${error instanceof Error ? error.message : String(error)}`),
    });
    this.#oldOutput = {
      ...{ journal, outputs: this.#outputs, processes, log },
      knows: (key) => this.#engine.knows(key),
      send: sendRest,
      keep: options.outputRetention,
      now: Date.now,
    };
  }

  static async open(options: TaskRunnerOptions): Promise<TaskRunner> {
    const { stateDirectory, driver = 'auto', log } = options;
    const groups = await processGroups('capstan-tasks');
    const processes = await chooseDriver(driver, { stateDirectory, groups });
    log(processes.name === 'systemd' ? 'tasks run as transient units of systemd' : 'tasks run under the supervisor of this agent');
    return new TaskRunner(options, await Journal.open(join(stateDirectory, 'journal')), { processes, groups });
  }

  /** Continues the tasks of the journal, and follows those of the control plane until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, node, log } = this.#options;
    await this.#services.resume();
    this.#engine.resume();
    await Promise.all([
      watchTasks({ client, node, engine: this.#engine, log }, signal),
      this.#logs.run(signal),
      keepRemoving(this.#oldOutput, signal),
    ]);
  }

  /** Answers a request for the output of a task; false if the request is for something else. */
  serve(request: RoutedRequest<{ kind: 'node'; path: string }>): Promise<void> | false {
    return serveTaskLog(request, { engine: this.#engine, outputs: this.#outputs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine[Symbol.asyncDispose]();
    await this.#services[Symbol.asyncDispose]();
    await this.#reports[Symbol.asyncDispose]();
    await this.#journal[Symbol.asyncDispose]();
  }
}

function taskLine({ name, attempt, spec, requestedBy }: TaskRequest, { phase, error }: NodeTaskStatus): string {
  const reason = error === undefined ? '' : ` (${error.code}: ${error.message})`;
  return `task ${name}, attempt ${attempt}, ${spec.type}, requested by ${requestedBy ?? 'unknown'}: ${phase}${reason}`;
}

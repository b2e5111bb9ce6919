import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentArchive, type AgentPlatform, agentPlatforms, type Condition, type GPUNode } from '@capstan/api';
import { sameJson } from '@capstan/machinery';
import type { Identity } from '../identity/state.ts';
import { download, fetchManifest } from './download.ts';
import { UpgradeFailure } from './failure.ts';
import type { Installation } from './installation.ts';
import { compareVersions, type ServerVersion, unsupported } from './support.ts';

export type WantedAgent = NonNullable<NonNullable<GPUNode['spec']>['agent']>;

export interface UpgraderOptions {
  /** Undefined if the agent was not installed by the control plane. */
  readonly installation: Installation | undefined;
  /** The version of this agent. */
  readonly version: string;
  readonly stateDirectory: string;
  readonly identity: () => Identity;
  /** URLs of the API servers, the best first. */
  readonly servers: () => readonly string[];
  readonly now: () => Date;
  readonly log: (line: string) => void;
  /** The conditions have changed. */
  readonly onChange: () => void;
  /** In milliseconds: how often a failed attempt is repeated, and how often servers are asked for a new version. Five minutes if absent. */
  readonly interval?: number | undefined;
}

type State = Pick<Condition, 'status' | 'reason' | 'message'>;

/** Upgrades this agent when an owner wants it: downloads, checks, switches, and asks to be started again. The present version goes on until then. */
export class Upgrader {
  readonly #options: UpgraderOptions;
  readonly #conditions = new Map<string, Condition>();
  #wanted: WantedAgent = {};
  #generation: number | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(options: UpgraderOptions) {
    this.#options = options;
  }

  get conditions(): readonly Condition[] {
    return [...this.#conditions.values()];
  }

  /** `GPUNode.spec.agent` from now on, and the generation of the GPUNode. */
  want(wanted: WantedAgent, generation?: number): void {
    if (sameJson(wanted, this.#wanted)) return;
    this.#wanted = wanted;
    this.#generation = generation;
    this.#changed.resolve();
  }

  /** A server has told its version. */
  server(server: ServerVersion): void {
    if (server.version === undefined) return;
    const fault = unsupported(this.#options.version, server);
    this.#set('AgentSupported', {
      status: fault === undefined ? 'True' : 'False',
      reason: fault?.reason ?? 'Supported',
      message: fault?.message ?? `the control plane is ${server.version}`,
    });
  }

  /** This agent has reported to the control plane, so it works. */
  async reported(): Promise<void> {
    const { installation, version, log } = this.#options;
    if (installation === undefined || !(await installation.confirm())) return;
    log(`the upgrade to ${version} is complete`);
    this.#set('Upgraded', { status: 'True', reason: 'Upgraded', message: `the agent was upgraded to ${version}` });
  }

  /** Resolves with true when another version is to be started, or with false when the signal aborts. */
  async run(signal: AbortSignal): Promise<boolean> {
    const { interval = 300_000, log } = this.#options;
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      this.#changed = Promise.withResolvers();
      let wait = interval;
      try {
        if (await this.#upgrade(signal)) return true;
      } catch (error) {
        if (signal.aborted) return false;
        const { fault, message } = error instanceof UpgradeFailure ? error : { fault: 'DownloadFailed', message: messageOf(error) };
        // A server that is busy with other agents has time for this one soon.
        if (fault === 'DownloadFailed') wait = interval / 5;
        if (this.#set('Upgraded', { status: 'False', reason: fault, message })) log(`the agent is not upgraded: ${message}`);
      }
      const due = new AbortController();
      const isWaiting = this.#wanted.upgrades === 'Automatic' || this.#wanted.version !== undefined;
      // Agents that were started together must not ask together forever.
      const slept = sleep(isWaiting ? wait * (0.5 + Math.random() / 2) : 2 ** 30, undefined, { signal: due.signal }).catch(() => {});
      await Promise.race([slept, this.#changed.promise, stopped]);
      due.abort();
    }
    return false;
  }

  async #upgrade(signal: AbortSignal): Promise<boolean> {
    const { installation, version, log } = this.#options;
    const { upgrades = 'Manual', version: wanted, requestedAt = '' } = this.#wanted;
    if (upgrades === 'Manual' && wanted === undefined) return false;
    if (upgrades === 'Manual' && wanted === version) return this.#upToDate(`the agent is ${version}, as requested`);
    if (installation === undefined)
      throw new UpgradeFailure(
        'NotManaged',
        'the agent was not installed with the command of "capstan node enroll". Upgrade it the way it was installed',
      );
    const { archive, server } = await this.#offer(signal);
    if (upgrades === 'Automatic' && !(await this.#isNewer(archive))) return this.#upToDate(`the control plane offers ${archive.version}`);
    if (upgrades === 'Manual' && archive.version !== wanted)
      throw new UpgradeFailure('NotOffered', `the version ${wanted} was requested, and the control plane offers ${archive.version}`);
    const request = `${upgrades} ${archive.version} ${requestedAt}`;
    const givenUp = await installation.givenUp();
    // Another attempt needs another request.
    if (givenUp?.request === request)
      throw new UpgradeFailure('NotReady', `the version ${givenUp.version} ${givenUp.why}; ${version} runs again`);
    this.#set('Upgraded', {
      status: 'Unknown',
      reason: 'Upgrading',
      message: `the agent is being upgraded from ${version} to ${archive.version}`,
    });
    log(`upgrading to ${archive.version} from ${server}`);
    await this.#install(installation, archive, { server, signal });
    if (signal.aborted) return false;
    await installation.switchTo(archive.version, request);
    return true;
  }

  async #install(
    installation: Installation,
    archive: AgentArchive,
    { server, signal }: { readonly server: string; readonly signal: AbortSignal },
  ): Promise<void> {
    const { identity, stateDirectory } = this.#options;
    if (!(await installation.has(archive.version))) {
      const part = installation.partOf(archive.sha256);
      await installation.checkSpace(archive);
      await download(archive, part, { identity: identity(), server, signal });
      await installation.unpack(part, archive.version, signal);
      await installation.deletePart(archive.sha256);
    }
    await installation.check(archive.version, stateDirectory, signal);
  }

  /** The first server that answers decides. */
  async #offer(signal: AbortSignal): Promise<{ readonly archive: AgentArchive; readonly server: string }> {
    const platform = `${process.platform}-${process.arch}` as AgentPlatform;
    if (!agentPlatforms.includes(platform)) throw new UpgradeFailure('NotOffered', `there are no archives for ${platform}`);
    let failure: unknown = new Error('no API server is known');
    for (const server of this.#options.servers()) {
      try {
        return { archive: await fetchManifest(platform, { identity: this.#options.identity(), server, signal }), server };
      } catch (error) {
        failure = error;
      }
    }
    throw new UpgradeFailure('DownloadFailed', `no API server offers an archive: ${messageOf(failure)}`, { cause: failure });
  }

  /** Automatic upgrades never go back: neither to an older version, nor between two builds that different servers offer. */
  async #isNewer(archive: AgentArchive): Promise<boolean> {
    const { version, installation } = this.#options;
    if (archive.version === version) return false;
    const order = compareVersions(archive.version, version);
    if (order !== 0) return order > 0;
    const givenUp = await installation?.givenUp();
    return archive.version !== (await installation?.previous()) || givenUp?.version === archive.version;
  }

  #upToDate(message: string): false {
    const before = this.#conditions.get('Upgraded');
    // "Upgraded" says more than "UpToDate".
    this.#set('Upgraded', before?.status === 'True' ? before : { status: 'True', reason: 'UpToDate', message });
    return false;
  }

  /** Returns whether anything has changed. */
  #set(type: 'Upgraded' | 'AgentSupported', { status, reason, message }: State): boolean {
    const before = this.#conditions.get(type);
    const now = `${this.#options.now().toISOString().slice(0, 19)}Z`;
    const condition: Condition = {
      type,
      status,
      reason,
      message: message.slice(0, 4096),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : now,
      ...(type === 'Upgraded' && this.#generation !== undefined && { observedGeneration: this.#generation }),
    };
    if (sameJson(condition, before)) return false;
    this.#conditions.set(type, condition);
    this.#options.onChange();
    return true;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

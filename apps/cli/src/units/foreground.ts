import { setTimeout as sleep } from 'node:timers/promises';
import type { GPUUnit, UnitMember } from '@capstan/api';
import { ApiError, isNotFound } from '@capstan/client';
import { Backoff } from '@capstan/machinery';
import { exitCodes, Failure } from '../failure.ts';
import type { Progress } from './progress.ts';
import { interrupted, onInterrupt } from './signals.ts';
import { Silence } from './silence.ts';
import { hasBegun, isOver, lastLinesOf, membersOf, outcomeOf, phaseOf, progressOf, startOf } from './state.ts';
import { UnitLog } from './streams/log.ts';
import type { UnitPod } from './streams/pod.ts';
import { isPassing, type Units } from './units.ts';
import type { Listing } from './upload/listing.ts';
import { watchUnit } from './watch.ts';

export interface ForegroundOptions {
  readonly units: Units;
  readonly unit: GPUUnit;
  readonly listing?: Listing | undefined;
  readonly progress: Progress;
  readonly tty: boolean;
}

/** How long the output of a program that has ended may still take, in milliseconds. */
const outputPatience = 5_000;

/** Accompanies a unit from its creation to its end: says what it waits for, uploads files, prints the output. */
export class Foreground {
  readonly #options: ForegroundOptions;
  readonly #pod: UnitPod;
  readonly #over = new AbortController();
  #latest: GPUUnit;
  #changed = Promise.withResolvers<void>();
  #isInterrupted = false;
  /** From then on the terminal belongs to the program. */
  #isPrinting = false;
  readonly #troubles = new Set<string>();

  constructor(options: ForegroundOptions) {
    this.#options = options;
    this.#latest = options.unit;
    this.#pod = { units: options.units, name: options.unit.metadata.name ?? '' };
  }

  /** Until the files are uploaded, or the unit has ended. */
  async upload(): Promise<void> {
    if (this.#options.listing === undefined) return;
    using _watch = this.#watch();
    await this.#uploadWhenAwaited();
    this.#options.progress.clear();
  }

  /** Until the unit has ended. Resolves with the exit code. */
  async run({ isRemoved }: { readonly isRemoved: boolean }): Promise<number> {
    const { progress } = this.#options;
    const left = Promise.withResolvers<'left'>();
    using _interrupts = onInterrupt(
      () => void this.#stop(),
      () => left.resolve('left'),
    );
    using _watch = this.#watch();
    const outcome = await Promise.race([this.#accompany(), left.promise]);
    progress.clear();
    if (outcome === 'left') {
      progress.say(`Left. The unit goes on stopping: capstan ps --all`);
      return interrupted;
    }
    if (outcome === 'detached') {
      progress.say(`Left. The program goes on: capstan attach ${this.#pod.name}`);
      return 0;
    }
    if (isRemoved) await this.#options.units.resource.delete(this.#pod.name).catch(() => {});
    return this.#exitCode();
  }

  async #accompany(): Promise<'ended' | 'detached'> {
    const begun = this.#until(hasBegun).then(() => this.#beginPrinting());
    begun.catch(() => {});
    // The log is asked for while the files are on their way.
    if (!this.#options.tty) await Promise.all([this.#uploadWhenAwaited(), this.#output()]);
    else if ((await this.#shown(begun)) === 'left') return 'detached';
    await this.#until(isOver);
    return 'ended';
  }

  /** With a terminal, which can be connected once the program runs. */
  async #shown(begun: Promise<void>): Promise<'ended' | 'left'> {
    await this.#uploadWhenAwaited();
    await begun;
    if (!isOver(this.#latest)) return this.#terminal();
    await this.#output();
    return 'ended';
  }

  #beginPrinting(): void {
    this.#isPrinting = true;
    this.#options.progress.clear();
  }

  /** To every node that waits for files. */
  async #uploadWhenAwaited(): Promise<void> {
    const { listing } = this.#options;
    if (listing === undefined) return;
    await this.#until((unit) => isOver(unit) || membersOf(unit).some(awaitsFiles) || isBeyondUpload(unit));
    const all = membersOf(this.#latest);
    // The first refusal ends the command, and the other uploads with it.
    await Promise.all(all.map(({ rank, node }) => this.#uploadTo(listing, rank, all.length > 1 ? ` to ${node}` : '')));
  }

  async #uploadTo(listing: Listing, rank: number, where: string): Promise<void> {
    const { progress } = this.#options;
    // Loaded for those who need it only, as terminals are: most of the code of this command.
    const { sendFiles } = await import('./upload/send.ts');
    const member = (unit: GPUUnit): UnitMember | undefined => membersOf(unit).find((one) => one.rank === rank);
    const early = new Backoff(earlyPauses);
    for (;;) {
      await this.#until((unit) => isOver(unit) || isBeyondUpload(unit) || !isBeforeUpload(member(unit)));
      const found = member(this.#latest);
      if (isOver(this.#latest) || found === undefined || !awaitsFiles(found)) return;
      try {
        await sendFiles(this.#pod, {
          listing,
          rank,
          signal: this.#over.signal,
          onProgress: (text) => progress.show(`${text}${where}`, { isFleeting: true }),
          onNotice: (text) => progress.say(text),
        });
        return;
      } catch (error) {
        if (this.#over.signal.aborted) return;
        // The Pod may not show the container yet, or the node is not connected at the moment.
        if (!isPassing(error) && !isEarly(error)) throw error;
        await sleep(early.next());
      }
    }
  }

  /** Prints the log until the unit has ended. It is asked for before the program starts, so that the first line comes on a way that is open. */
  async #output(): Promise<void> {
    const early = new Backoff(earlyPauses);
    const log = new UnitLog(this.#pod, {
      follow: true,
      awaitStart: true,
      signal: this.#over.signal,
      onBegin: () => this.#beginPrinting(),
      onTrouble: (reason) => this.#trouble('log', reason),
    });
    while (!isOver(this.#latest)) {
      const start = hasBegun(this.#latest) ? startOf(this.#latest) : firstStart;
      try {
        await this.#orOver(log.read());
      } catch (error) {
        if (!isEarly(error)) throw error;
        await sleep(early.next());
        await this.#until((unit) => hasBegun(unit) || membersOf(unit).length > 0);
        continue;
      }
      // The program has ended, or is started again.
      await this.#until((unit) => isOver(unit) || (hasBegun(unit) && startOf(unit) !== start));
    }
    await this.#printRest(log);
  }

  /** Whatever of the log was not followed: all of it if the program ended before anybody could. */
  async #printRest(log: UnitLog): Promise<void> {
    const early = new Backoff(earlyPauses);
    for (let tries = 0; tries < restTries; tries++) {
      try {
        return await log.finish();
      } catch (error) {
        // The Pod of a program that ended at once may not show it yet.
        if (!isEarly(error) && !isPassing(error)) break;
        await sleep(early.next());
      }
    }
    if (!log.hasBegun) for (const line of lastLinesOf(this.#latest)) process.stdout.write(`${line}\n`);
  }

  /** Ends a little after the unit, if the stream does not end itself. A program that has not started has printed nothing. */
  async #orOver(reading: Promise<void>): Promise<void> {
    reading.catch(() => {});
    const patience = this.#until(isOver).then(() =>
      sleep(this.#latest.status?.startedAt === undefined ? 0 : outputPatience, undefined, { ref: false }),
    );
    await Promise.race([reading, patience]);
  }

  async #terminal(): Promise<'ended' | 'left'> {
    const query = { stdin: true, stdout: true, stderr: false, tty: true };
    const [{ RemoteCommand }, { converse }] = await Promise.all([import('./streams/command.ts'), import('./streams/terminal.ts')]);
    // Whatever it has printed before the terminal is connected, such as a greeting.
    await new UnitLog(this.#pod, { signal: this.#over.signal }).read().catch(() => {});
    for (;;) {
      if (isOver(this.#latest)) return 'ended';
      try {
        const command = await RemoteCommand.begin(this.#pod, query, { signal: this.#over.signal });
        return (await converse(command, { tty: true, canLeave: true })) === undefined ? 'left' : 'ended';
      } catch (error) {
        if (isOver(this.#latest) || this.#over.signal.aborted) return 'ended';
        if (!isPassing(error) && !isEarly(error)) throw error;
        this.#options.progress.say(`\r\nThe connection was lost (${(error as Error).message}). Reconnecting…\r`);
        await sleep(500);
      }
    }
  }

  #watch(): Disposable {
    const { units, unit, progress } = this.#options;
    const { name = '', uid } = unit.metadata;
    const stop = new AbortController();
    const silence = new Silence((text) => progress.say(text));
    const watching = async (): Promise<void> => {
      for await (const seen of watchUnit(units, {
        name,
        uid,
        from: unit,
        signal: stop.signal,
        onTrouble: (reason) => this.#trouble('watch', reason),
      })) {
        this.#tell(seen);
        if (this.#isPrinting) silence.see(seen);
        else if (!isOver(seen)) progress.show(progressOf(seen));
      }
      if (!stop.signal.aborted) throw new Failure('unexpected', `the unit ${name} was deleted.`);
    };
    watching().catch((error: unknown) => {
      this.#changed.promise.catch(() => {});
      this.#changed.reject(error);
    });
    return {
      [Symbol.dispose]: () => {
        stop.abort();
        this.#over.abort();
      },
    };
  }

  #tell(unit: GPUUnit): void {
    this.#latest = unit;
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  async #until(isDone: (unit: GPUUnit) => boolean): Promise<void> {
    while (!isDone(this.#latest)) await this.#changed.promise;
  }

  /** Said once, although several streams break at the same time. */
  #trouble(stream: string, reason: string | undefined): void {
    const { progress } = this.#options;
    const hadAny = this.#troubles.size > 0;
    if (reason === undefined) this.#troubles.delete(stream);
    else this.#troubles.add(stream);
    if (reason !== undefined && !hadAny) progress.say(`The connection was lost (${reason}). Reconnecting…`);
    if (reason === undefined && this.#troubles.size === 0) progress.say('Connected again.');
  }

  async #stop(): Promise<void> {
    const { units, progress } = this.#options;
    this.#isInterrupted = true;
    progress.say('Stopping the unit. Press Ctrl-C again to leave without waiting.');
    try {
      await units.resource.patch(this.#pod.name, { type: 'merge', patch: { spec: { running: false } } });
    } catch (error) {
      if (!isNotFound(error)) progress.say(`It could not be stopped: ${(error as Error).message}`);
    }
  }

  #exitCode(): number {
    const outcome = outcomeOf(this.#latest);
    const { exitCode, phase } = this.#latest.status ?? {};
    if (outcome !== undefined) this.#options.progress.say(`capstan: ${this.#pod.name}: ${outcome}`);
    if (this.#isInterrupted) return interrupted;
    if (exitCode !== undefined) return exitCode > 255 ? exitCodes.unexpected : exitCode;
    return phase === 'Succeeded' ? 0 : exitCodes.notRun;
  }
}

/** How often the rest of a log is asked for again. */
const restTries = 20;
/** In milliseconds, between two requests for something that is there in a moment. */
const earlyPauses = { base: 20, max: 300 };

/** Of a unit that was created a moment ago. */
const firstStart = '1 0';

function awaitsFiles({ phase, reason }: UnitMember): boolean {
  return phase === 'Waiting' && reason === 'UploadMissing';
}

/** Whether a node has not come to the point where it waits for files. */
function isBeforeUpload(member: UnitMember | undefined): boolean {
  return member !== undefined && (member.phase === 'Pending' || (member.phase === 'Waiting' && !awaitsFiles(member)));
}

function isBeyondUpload(unit: GPUUnit): boolean {
  // Members of a unit that has not begun to start are those of the start before.
  const isStarting = phaseOf(unit) === 'Starting' && membersOf(unit).every(({ phase }) => phase !== 'Pending' && phase !== 'Waiting');
  return phaseOf(unit) === 'Running' || isStarting;
}

/** The Pod is not there yet, or its container has not started: also errors of the kind that a moment later is gone. */
function isEarly(error: unknown): boolean {
  return error instanceof ApiError && [400, 404, 409].includes(error.code);
}

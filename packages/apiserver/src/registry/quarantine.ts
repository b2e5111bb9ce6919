import { closeSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Parts, shorten } from '@capstan/machinery';

/** Expressions of a tenant that the server evaluates. */
export interface Evaluated {
  /** Changes with the expressions, so that changed ones are tried again. */
  readonly identity: string;
  /** `ValidatingAdmissionPolicy "replicas"`, for people. */
  readonly name: string;
}

/** Expressions that are not evaluated any more, because the server stopped while it evaluated them. */
export interface Held extends Evaluated {
  /** When the server started again. */
  readonly since: string;
}

/** The file in the data directory that says what is being evaluated. */
export const markerFile = 'evaluating';
/** The file that says what the server was evaluating when it last stopped, if that may have been an accident. */
export const suspectFile = 'suspect.json';
/** In milliseconds: a second stop within this time is no accident. */
const suspicion = 3_600_000;
const heldFile = 'quarantine.json';
const noMarker = Buffer.from('\n');
const mostHeld = 100;
const longestName = 300;

/**
 * Remembers across restarts which expressions the server was evaluating when it hung or ran out of memory, and keeps it from evaluating them
 * again until they are changed. The limits on steps should make that impossible; this is for the case that they have a hole.
 *
 * A marker in a file is written before each evaluation, without waiting for the disk, and cleared once in each turn of the event loop: if the turn
 * never ends, the marker stays. An empty first line is no marker: overwriting a byte costs much less than truncating the file. A server that
 * somebody else kills leaves a marker, too, so expressions are only held when it happens twice within an hour, or when the supervisor has found that
 * the server hangs.
 */
export class Quarantine implements Disposable {
  readonly #directory: string;
  readonly #now: () => Date;
  /** Undefined on a disk without space, where nothing is remembered. */
  #file: number | undefined;
  readonly #held = new Map<string, Held>();
  #marked: string | undefined;
  readonly #markers = new WeakMap<Evaluated, Buffer>();

  private constructor(directory: string, now: () => Date) {
    this.#directory = directory;
    this.#now = now;
    for (const held of readHeld(join(directory, heldFile))) this.#held.set(held.identity, held);
    this.#file = withSpace(() => openSync(join(directory, markerFile), 'w', 0o600));
  }

  /** Opens the quarantine of a data directory, and adds what the marker there names. */
  static open(directory: string, { now, log }: { readonly now: () => Date; readonly log: (line: string) => void }): Quarantine {
    const left = readMarker(join(directory, markerFile));
    const quarantine = new Quarantine(directory, now);
    if (left === undefined) return quarantine;
    if (quarantine.#isSuspect(left)) {
      quarantine.#add(left);
      log(`the server hung, or stopped twice, while it evaluated ${left.name}, which is not evaluated again until it is changed`);
    } else {
      quarantine.#suspect(left);
      log(`the server stopped while it evaluated ${left.name}, which is not evaluated any more if that happens again within an hour`);
    }
    return quarantine;
  }

  [Symbol.dispose](): void {
    this.#clear();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  /** The entry of expressions that must not be evaluated; undefined if they may be. */
  held(identity: string): Held | undefined {
    return this.#held.size === 0 ? undefined : this.#held.get(identity);
  }

  /** Says that these expressions are evaluated from now on, in this turn of the event loop. */
  mark(evaluated: Evaluated): void {
    const file = this.#file;
    if (file === undefined || this.#marked === evaluated.identity) return;
    const isFirst = this.#marked === undefined;
    this.#marked = evaluated.identity;
    const marker = this.#markerOf(evaluated);
    withSpace(() => writeSync(file, marker, 0, marker.length, 0));
    if (isFirst) setImmediate(() => this.#clear());
  }

  /** The same for work in parts: each of them is marked. */
  *watch<Result>(evaluated: Evaluated, parts: Parts<Result>): Parts<Result> {
    for (;;) {
      this.mark(evaluated);
      const part = parts.next();
      if (part.done) return part.value;
      yield;
    }
  }

  #clear(): void {
    const file = this.#file;
    if (this.#marked === undefined || file === undefined) return;
    this.#marked = undefined;
    withSpace(() => writeSync(file, noMarker, 0, noMarker.length, 0));
  }

  #markerOf(evaluated: Evaluated): Buffer {
    let marker = this.#markers.get(evaluated);
    if (marker === undefined) {
      marker = Buffer.from(`${JSON.stringify({ identity: evaluated.identity, name: shorten(evaluated.name, longestName) })}\n`);
      this.#markers.set(evaluated, marker);
    }
    return marker;
  }

  #isSuspect({ identity }: Evaluated): boolean {
    const [last] = readHeld(join(this.#directory, suspectFile));
    return last?.identity === identity && this.#now().getTime() - Date.parse(last.since) < suspicion;
  }

  #suspect(evaluated: Evaluated): void {
    writeHeld(join(this.#directory, suspectFile), [{ ...evaluated, since: this.#now().toISOString() }]);
  }

  #add(evaluated: Evaluated): void {
    this.#held.set(evaluated.identity, { ...evaluated, since: this.#now().toISOString() });
    writeHeld(join(this.#directory, heldFile), [...this.#held.values()].slice(-mostHeld));
  }
}

function writeHeld(path: string, entries: readonly Held[]): void {
  withSpace(() => {
    writeFileSync(`${path}.new`, `${JSON.stringify(entries)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  });
}

/** Undefined if the disk has no space: the server must serve without it. */
function withSpace<Result>(write: () => Result): Result | undefined {
  try {
    return write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return undefined;
    throw error;
  }
}

/**
 * The objects of which this server says that they are in quarantine. Another server of the same store has a quarantine of its own. If each took back what the other says,
 * they would go on for ever; so a server takes back only what it has said itself, or what it has found when it started.
 */
export class QuarantineClaims {
  readonly #keys = new Set<string>();

  /** Whether what an object says has to change, to what this server knows. */
  isDue(key: string, { says, knows }: { readonly says: boolean; readonly knows: boolean }): boolean {
    return knows ? !says : says && this.#keys.has(key);
  }

  /** The object says this, because of this server. */
  set(key: string, says: boolean): void {
    if (says) this.#keys.add(key);
    else this.#keys.delete(key);
  }
}

/** Why expressions are not evaluated, for their author. */
export function printHeld({ name, since }: Held): string {
  return `${name} is quarantined since ${since}, because the server stopped while it evaluated it; change it to have it evaluated again`;
}

/**
 * Says that the server in this data directory hangs, before it is killed: the expressions that it is evaluating are quarantined at its next start,
 * without a second chance. Returns their name; undefined if it evaluates none.
 */
export function accuse(directory: string, now: Date): string | undefined {
  const evaluated = readMarker(join(directory, markerFile));
  if (evaluated !== undefined) writeHeld(join(directory, suspectFile), [{ ...evaluated, since: now.toISOString() }]);
  return evaluated?.name;
}

export function readMarker(path: string): Evaluated | undefined {
  const [line = ''] = readText(path).split('\n', 1);
  const parsed = parse(line);
  return isEvaluated(parsed) ? { identity: parsed.identity, name: parsed.name } : undefined;
}

function readHeld(path: string): Held[] {
  const parsed = parse(readText(path));
  return Array.isArray(parsed) ? parsed.filter((one): one is Held => isEvaluated(one) && 'since' in one) : [];
}

function isEvaluated(value: unknown): value is Evaluated {
  const { identity, name } = (value ?? {}) as Partial<Evaluated>;
  return typeof identity === 'string' && typeof name === 'string';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Cut short by the end of the process.
    return undefined;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

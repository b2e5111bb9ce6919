import type { Turn } from '../hostile/turns.ts';
import type { Felt } from '../hostile/victim.ts';
import type { SenderReport } from './sender.ts';

/** Waits of the victim that are listed, and how long they are, in milliseconds. */
const longWait = 200;
const mostListed = 15;
/** A turn of the server that long has a cause, in milliseconds. */
const longTurn = 200;
const mostSuspects = 20;

interface Wait {
  readonly began: number;
  readonly ended: number;
}

interface Failure {
  count: number;
  readonly example: string;
}

export interface Ending {
  readonly seed: number;
  readonly minutes: number;
  readonly felt: Felt | undefined;
  readonly turns: readonly Turn[];
}

/** Counts the answers, and keeps the failures that fuzzing found. */
export class Findings {
  readonly #counts = new Map<string, number>();
  readonly #failures = new Map<string, Failure>();
  readonly #errors = new Map<string, Failure>();
  readonly #waits: Wait[] = [];
  readonly #slow: Extract<SenderReport, { kind: 'slow' }>[] = [];
  readonly #notes: string[] = [];
  #megabytes = 0;
  #logged = '';

  add(report: SenderReport): void {
    if (report.kind === 'counts')
      for (const [key, count] of Object.entries(report.counts)) this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
    else if (report.kind === 'slow') this.#slow.push(report);
    else count(this.#failures, `${report.status} ${messageOf(report.answer)}`, `${report.label}: ${report.request}`);
  }

  waited(milliseconds: number): void {
    if (milliseconds >= longWait) this.#waits.push({ began: Date.now() - milliseconds, ended: Date.now() });
  }

  memory(megabytes: number): void {
    this.#megabytes = Math.max(this.#megabytes, megabytes);
  }

  note(text: string): undefined {
    this.#notes.push(text);
  }

  /** Looks for stacks in new lines of the server's log: each belongs to an error that nobody expected. */
  log(output: string): void {
    const known = this.#logged === '' ? -1 : output.lastIndexOf(this.#logged);
    const text = known < 0 ? output : output.slice(known + this.#logged.length);
    this.#logged = output.slice(-500);
    for (const [stack] of text.matchAll(/^.*: .*(?:\n +at .*)+/gm)) {
      const lines = stack.split('\n');
      count(this.#errors, `${lines[0]!.replace(/^.*?: (?=\w+: )/, '').slice(0, 200)} ${lines[1]!.trim()}`, stack.slice(0, 1_500));
    }
  }

  report({ seed, minutes, felt, turns }: Ending): string {
    const total = [...this.#counts.values()].reduce((sum, one) => sum + one, 0);
    const milliseconds = (value: number): string => value.toFixed(1);
    const waits = this.#waits.sort((one, other) => other.ended - other.began - (one.ended - one.began)).slice(0, mostListed);
    return [
      `seed ${seed}, ${minutes.toFixed(1)} minutes, ${total} requests, server up to ${Math.round(this.#megabytes)} MB`,
      ...this.#notes,
      '',
      felt === undefined
        ? ''
        : `victim: ${felt.failed} failed, p99 ${milliseconds(felt.gets.quantile(0.99))} / ${milliseconds(felt.writes.quantile(0.99))} ms, longest ${milliseconds(felt.gets.quantile(1))} / ${milliseconds(felt.writes.quantile(1))} ms`,
      `longest turns of the server, in processor time: ${[...turns]
        .sort((one, other) => other.used - one.used)
        .slice(0, 10)
        .map(({ used }) => `${used} ms`)
        .join(', ')}`,
      '',
      ...waits.map((wait) => this.#explained(wait, turns)),
      '',
      ...turns.filter(({ used }) => used >= longTurn).map((turn) => this.#suspects(turn)),
      '',
      ...[...this.#counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, number]) => `${key}: ${number}`),
      '',
      `errors that the server did not expect: ${this.#errors.size}`,
      ...listed(this.#errors),
      '',
      `answers of 500 and above, most of which Kubernetes gives too: ${this.#failures.size}`,
      ...listed(this.#failures),
      '',
    ].join('\n');
  }

  /** Requests that were answered right after a long turn, and sent before it. */
  #suspects({ at, used }: Turn): string {
    const after = this.#slow.filter((one) => one.began < at - used / 2 && one.ended > at - used / 2 && one.ended < at + 2_000);
    const nearest = after.sort((one, other) => Math.abs(one.ended - at) - Math.abs(other.ended - at)).slice(0, mostSuspects);
    return `a turn of ${used} ms, perhaps because of one of these:\n${nearest.map(({ request }) => `  ${request.slice(0, 500)}\n`).join('')}`;
  }

  #explained({ began, ended }: Wait, turns: readonly Turn[]): string {
    const beside = this.#slow
      .filter((one) => one.began < ended && one.ended > began)
      .map(({ label, began: from, ended: to }) => `${label} (${to - from} ms)`);
    const long = turns.filter(({ at }) => at > began && at < ended + 50).map(({ used }) => `${used} ms`);
    return `waited ${Math.round(ended - began)} ms; turns: ${long.join(', ') || 'none'}; beside: ${beside.slice(0, 6).join(', ') || 'nothing slow'}`;
  }
}

function count(failures: Map<string, Failure>, key: string, example: string): void {
  const known = failures.get(key);
  if (known === undefined) failures.set(key, { count: 1, example });
  else known.count++;
}

function listed(failures: ReadonlyMap<string, Failure>): string[] {
  return [...failures]
    .sort(([, one], [, other]) => other.count - one.count)
    .map(([key, { count: times, example }]) => `- ${times} times: ${key}\n  ${example}`);
}

/** Names and numbers differ, the kind of failure does not. */
function messageOf(answer: string): string {
  const message = /"message":"((?:[^"\\]|\\.)*)"/.exec(answer)?.[1] ?? answer;
  return message.replace(/\d+/g, '0').slice(0, 160);
}

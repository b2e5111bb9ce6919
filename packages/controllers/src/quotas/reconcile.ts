import { done, type Result, requeueAfter } from '@capstan/controller';
import {
  type Amounts,
  addQuantities,
  compareQuantities,
  type KubeObject,
  printSource,
  type Quantity,
  quotaScopes,
  quotaSource,
  readAmounts,
  type Scope,
  sameAmounts,
  writeAmounts,
  zeroQuantity,
} from '@capstan/machinery';
import type { Usage } from './census.ts';
import type { Pending } from './settling.ts';

/** The actions available to the steps. */
export interface QuotaActions {
  /** The usage of objects of this kind in the quota's namespace. */
  readonly usage: (source: string, scopes: readonly Scope[]) => Promise<Usage>;
  /** The part of the usage under this name that may be for objects that are not visible yet. */
  readonly pending: (name: string) => Pending;
  readonly writeStatus: (quota: KubeObject) => Promise<unknown>;
}

interface Progress {
  readonly quota: KubeObject;
  readonly hard: Amounts;
  /** The limited names, by the kind that uses them. */
  readonly sources: Map<string, string[]>;
  readonly used: Map<string, Quantity>;
  /** In milliseconds, until usage that cannot be lowered yet can be, or until a count is known. */
  wait: number;
}

type Step = (progress: Progress, actions: QuotaActions) => Promise<void> | void;

const steps: readonly Step[] = [findSources, count, holdBack, writeStatus];
const countAgain = 1000;

/** Writes the usage of a quota's namespace into its status. */
export async function reconcileQuota(quota: KubeObject, actions: QuotaActions): Promise<Result> {
  const hard = readAmounts(specOf(quota));
  const used = new Map<string, Quantity>();
  // Usage that cannot be counted stays as it was.
  for (const [name, amount] of statusOf(quota).used) if (hard.has(name)) used.set(name, amount);
  const progress: Progress = { quota, hard, sources: new Map(), used, wait: 0 };
  for (const step of steps) await step(progress, actions);
  return progress.wait > 0 ? requeueAfter(progress.wait) : done;
}

function findSources({ hard, sources }: Progress): void {
  for (const name of hard.keys()) {
    const source = quotaSource(name);
    if (source === undefined) continue;
    const key = printSource(source);
    const names = sources.get(key);
    if (names === undefined) sources.set(key, [name]);
    else names.push(name);
  }
}

async function count(progress: Progress, { usage }: QuotaActions): Promise<void> {
  const { quota, sources, used } = progress;
  const scopes = quotaScopes(quota);
  const found = await Promise.all([...sources.keys()].map((source) => usage(source, scopes)));
  for (const [index, names] of [...sources.values()].entries()) {
    const one = found[index]!;
    if (one.type === 'later') progress.wait = countAgain;
    if (one.type === 'known') for (const name of names) used.set(name, one.amounts.get(name) ?? zeroQuantity);
  }
}

/** Keeps recent charges: they may be for objects that are just being stored. */
function holdBack(progress: Progress, { pending }: QuotaActions): void {
  const { used } = progress;
  for (const [name, before] of statusOf(progress.quota).used) {
    const now = used.get(name);
    if (now === undefined || compareQuantities(now, before) >= 0) continue;
    const { amount, wait } = pending(name);
    if (wait <= 0) continue;
    const least = amount === undefined ? before : addQuantities(now, amount);
    used.set(name, compareQuantities(least, before) < 0 ? least : before);
    progress.wait = Math.max(progress.wait, wait);
  }
}

async function writeStatus({ quota, hard, used }: Progress, actions: QuotaActions): Promise<void> {
  const before = statusOf(quota);
  if (sameAmounts(before.hard, hard) && sameAmounts(before.used, used)) return;
  await actions.writeStatus({ ...quota, status: { hard: writeAmounts(hard), used: writeAmounts(used) } });
}

function specOf(quota: KubeObject): unknown {
  return (quota['spec'] as { hard?: unknown } | undefined)?.hard;
}

function statusOf(quota: KubeObject): { hard: Amounts; used: Amounts } {
  const { hard, used } = (quota['status'] ?? {}) as { hard?: unknown; used?: unknown };
  return { hard: readAmounts(hard), used: readAmounts(used) };
}

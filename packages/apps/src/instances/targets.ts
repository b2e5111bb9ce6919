import { createHash } from 'node:crypto';
import type { App } from '@capstan/api';
import type { WantedMember } from '../adapter/contract.ts';
import type { AllocationUse } from '../checking/allocations.ts';
import { type Checked, ok, refuse } from '../checking/problem.ts';

/** A member that the wish asks for, whose allocation can be used. */
export interface Target {
  readonly name: string;
  readonly component: string;
  readonly allocation: string;
  readonly node: string;
}

export interface Targets {
  readonly targets: readonly Target[];
  /** Why the others are missing: their allocations are not there yet. */
  readonly waiting: readonly string[];
}

/**
 * The name of the member of an allocation. It follows from the allocation alone, so that the server refuses a second instance that wants the same one, however close together
 * both come.
 */
export function memberName(allocation: string, uid: string): string {
  const hash = createHash('sha256').update(uid).digest('hex').slice(0, 8);
  const readable = allocation
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, 30)
    .replace(/-+$/, '');
  return `${readable}-${hash}`;
}

export function targetsOf(wanted: readonly WantedMember[], { spec }: App, useOf: (allocation: string) => AllocationUse): Checked<Targets> {
  const targets: Target[] = [];
  const waiting: string[] = [];
  const seen = new Set<string>();
  for (const { component, allocation } of wanted) {
    if (!spec.components.some(({ name }) => name === component))
      return refuse('UnknownComponent', `the App has no component ${component}`, { userFixable: false });
    if (seen.has(allocation))
      return refuse('AllocationUsedTwice', `the Allocation ${allocation} is named twice; each member needs one of its own`);
    seen.add(allocation);
    const use = useOf(allocation);
    if (use.kind === 'missing') return refuse('NoAllocation', use.message);
    if (use.kind === 'unusable') return refuse(use.code, use.message);
    if (use.kind === 'waiting') waiting.push(use.message);
    else targets.push({ name: memberName(allocation, use.uid), component, allocation, node: use.node });
  }
  for (const { name, title, minimum, maximum } of spec.components) {
    const count = wanted.filter(({ component }) => component === name).length;
    if (count < minimum) return refuse('TooFewMembers', `the App needs at least ${minimum} of ${title}, and the placement has ${count}`);
    if (maximum !== undefined && count > maximum)
      return refuse('TooManyMembers', `the App takes at most ${maximum} of ${title}, and the placement has ${count}`);
  }
  return ok({ targets, waiting });
}

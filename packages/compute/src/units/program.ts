import { createHash } from 'node:crypto';
import type { GPUUnit, GPUUnitSpec, NodeUnitSpec } from '@capstan/api';

/** Changes of these fields do not concern the program that runs. */
type InPlace = 'running' | 'priority' | 'maxDuration' | 'idleTimeout' | 'access';
/** These cannot change, and the allocation answers for them. */
type Fixed = 'offering' | 'resources' | 'nodes';
type Program = Omit<GPUUnitSpec, InPlace | Fixed>;

/** Everything that leads to a new start when it changes. */
export function programOf(spec: GPUUnitSpec): Program {
  const { running: _, priority: __, maxDuration: ___, idleTimeout: ____, access: _____, ...rest } = spec;
  const { offering: ______, resources: _______, nodes: ________, ...program } = rest;
  return program;
}

export function programHash(spec: GPUUnitSpec): string {
  return createHash('sha256')
    .update(sorted(programOf(spec)))
    .digest('hex')
    .slice(0, 16);
}

/**
 * Whether the program is another one than that of the current start. The hash alone does not say so: a release of Capstan may add a field with a
 * default, which changes all hashes and no generation.
 */
export function isChanged({ metadata, spec, status }: GPUUnit): boolean {
  return status?.program !== undefined && status.observedGeneration !== metadata.generation && status.program !== programHash(spec);
}

/** The fields that a NodeUnit takes from the unit as they are. */
export function programFields(
  spec: GPUUnitSpec,
): Omit<NodeUnitSpec, 'owner' | 'run' | 'allocation' | 'devices' | 'cpu' | 'memory' | 'exclusive' | 'rank'> {
  const { imagePullSecret, onNodeLoss, fenceAfter, ...program } = programOf(spec);
  const secrets = imagePullSecret !== undefined || (spec.env ?? []).some(({ value }) => value === undefined);
  return { ...program, secrets, stopped: false, ...(onNodeLoss === 'Fence' && { fenceAfter }) };
}

/** JSON with the fields of objects in alphabetical order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

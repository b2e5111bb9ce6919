import { type GPUNode, gpuNodeKind } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { Condition } from '@capstan/controller';
import { formatTime, type JsonObject } from '@capstan/machinery';

const fieldManager = 'capstan-fleet-nodes';

/** Writes one condition of a node, and leaves those of the agent and of other controllers alone. */
export async function reportCondition(
  client: Client,
  { apiVersion, kind, metadata: { name = '', uid = '', generation = 0 }, status }: GPUNode,
  { now, ...condition }: Omit<Condition, 'lastTransitionTime'> & { readonly now: () => number },
): Promise<GPUNode> {
  const before = status?.conditions?.find(({ type }) => type === condition.type);
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : formatTime(new Date(now()));
  const conditions = [{ ...condition, observedGeneration: generation, lastTransitionTime }];
  const object = { apiVersion, kind, metadata: { name, uid }, status: { conditions } } as unknown as JsonObject;
  // A manager for each condition: applying one does not remove another.
  const options = { fieldManager: `${fieldManager}-${condition.type.toLowerCase()}`, force: true, subresource: 'status' };
  return client.resource<GPUNode>(gpuNodeKind).apply(object, options);
}

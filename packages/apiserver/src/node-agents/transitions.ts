import type { NodeIdentityStatus, NodeRefusal } from '@capstan/api';

/** The outcome for a node's identity. `identity` is the one to store. */
export type Transition =
  /** A certificate is issued. */
  | { readonly kind: 'issue'; readonly identity: NodeIdentityStatus }
  /** The node is locked, and no certificate is issued. */
  | { readonly kind: 'lock'; readonly identity: NodeIdentityStatus }
  /** No certificate is issued, and nothing changes. */
  | { readonly kind: 'refuse'; readonly refusal: NodeRefusal };

export interface Times {
  readonly now: Date;
  /** When the certificate that is about to be issued expires. */
  readonly expires: Date;
}

const refuse = (refusal: NodeRefusal): Transition => ({ kind: 'refuse', refusal });
const text = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');

/**
 * The holder of a token asks for the certificate of a key. An enrolment that begins replaces the identity, and with it any lock; the repetition of one
 * that has begun is answered as long as its key is the current one.
 */
export function enroll(
  identity: NodeIdentityStatus | undefined,
  { enrollment, key }: { readonly enrollment: string; readonly key: string },
  { now, expires }: Times,
): Transition {
  if (identity?.enrollment === enrollment) {
    if (identity.locked !== undefined) return refuse('NodeLocked');
    if (identity.currentKey !== key) return refuse('KeyReplaced');
    return { kind: 'issue', identity: { ...identity, expiresAt: text(expires) } };
  }
  const generation = (identity?.generation ?? 0) + 1;
  return { kind: 'issue', identity: { generation, currentKey: key, enrollment, renewedAt: text(now), expiresAt: text(expires) } };
}

/**
 * The holder of `presentKey` asks for the certificate of `key`. The holder of the key before the current one asks only if it did not receive the answer to
 * its last request, and then it asks for the same key again. If it asks for another, two machines have the same identity.
 *
 * A certificate of a later generation than the stored one proves that the store was restored from before it was issued, and the node goes on from there.
 */
export function renew(
  identity: NodeIdentityStatus | undefined,
  { presentKey, presentGeneration, key }: { readonly presentKey: string; readonly presentGeneration: number; readonly key: string },
  { now, expires }: Times,
): Transition {
  if (identity === undefined) return refuse('KeyReplaced');
  if (identity.locked !== undefined) return refuse('NodeLocked');
  const isKnown = presentKey === identity.currentKey || presentKey === identity.previousKey;
  const isFromLater = !isKnown && presentGeneration > identity.generation;
  if (presentKey === identity.currentKey || isFromLater) {
    // Every renewal has a new key: a repeated one could not be told from a stolen one.
    if (key === presentKey || key === identity.previousKey) return refuse('InvalidRequest');
    const { enrollment } = identity;
    const generation = Math.max(identity.generation, presentGeneration);
    const times = { renewedAt: text(now), expiresAt: text(expires) };
    return { kind: 'issue', identity: { generation: generation + 1, currentKey: key, previousKey: presentKey, enrollment, ...times } };
  }
  // The stored key of that generation is another one: two machines went on from before a restore.
  if (!isKnown && presentGeneration < identity.generation) return refuse('KeyReplaced');
  if (isKnown && key === identity.currentKey) return { kind: 'issue', identity: { ...identity, expiresAt: text(expires) } };
  const reason =
    'two machines have used the identity of this node: one renewed its certificate with a key that another had already replaced. ' +
    'Find out which machine is the right one, and enrol it again';
  return { kind: 'lock', identity: { ...identity, locked: { reason, at: text(now) } } };
}

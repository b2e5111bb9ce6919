/*
 * How store revisions map to etcd revisions.
 *
 * Writes that share a transaction share an etcd revision, so each gets a position within it: store revision = etcd revision × 1000 +
 * position. The position depends on the key alone. Everyone who sees a key and an etcd revision (in a read, in an event of any range, even
 * in a deletion) therefore computes the same store revision, and nothing has to be stored for it. A transaction never contains two keys
 * with the same position, and writes keys in the order of their positions, so that events are in the order of their revisions. See
 * designs/003-etcd-group-commit.md.
 */

/**
 * A thousand, so that a person can read the etcd revision by dropping the last three digits. 2^53 is reached after 9 × 10^12 transactions.
 */
export const positions = 1_000;
const lastPosition = positions - 1;

/**
 * FNV-1a over the UTF-16 units of the key without the store's prefix, plus a final mix, because keys often differ only in their last
 * digits. It must never change: it is part of every revision ever returned.
 */
export function positionOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % positions;
}

/** The revision of a write that belongs to an etcd revision. */
export function revisionAt(etcdRevision: number, position: number): number {
  return etcdRevision * positions + position;
}

/** The state after all writes of an etcd revision. */
export function endOf(etcdRevision: number): number {
  return etcdRevision * positions + lastPosition;
}

export function etcdRevisionOf(revision: number): number {
  return Math.floor(revision / positions);
}

export function positionIn(revision: number): number {
  return revision % positions;
}

/** Whether etcd has the state at this revision; if not, the revision is between the writes of a transaction. */
export function isEnd(revision: number): boolean {
  return positionIn(revision) === lastPosition;
}

/** The newest etcd revision with all its writes at or below this revision. */
export function etcdRevisionWithin(revision: number): number {
  return isEnd(revision) ? etcdRevisionOf(revision) : etcdRevisionOf(revision) - 1;
}

/*
 * How revisions of the store map to revisions of etcd.
 *
 * Writes that share a transaction share a revision of etcd, so each gets a position within it: revision = revision of etcd × 1000 + position. The position is
 * a function of the key alone. Everybody who sees a key and a revision of etcd, in a read, in an event of whatever range, even in that of a deletion,
 * therefore gives it the same revision, and nothing has to be stored for it. A transaction never holds two keys of the same position, and writes them in the
 * order of their positions, so that the order of events is the order of revisions. See designs/003-etcd-group-commit.md.
 */

/** A thousand, so that a person reads the revision of etcd off all but the last three digits. 2^53 is reached after 9 × 10^12 transactions. */
export const positions = 1_000;
const lastPosition = positions - 1;

/**
 * FNV-1a over the UTF-16 units of the key, which comes without the prefix of the store, and a last mix, because keys often differ only in their last digits.
 * It must never change: it is part of every revision that was given out.
 */
export function positionOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % positions;
}

/** The revision of a write that is known to lie in a revision of etcd. */
export function revisionAt(etcdRevision: number, position: number): number {
  return etcdRevision * positions + position;
}

/** The state after all writes of a revision of etcd. */
export function endOf(etcdRevision: number): number {
  return etcdRevision * positions + lastPosition;
}

export function etcdRevisionOf(revision: number): number {
  return Math.floor(revision / positions);
}

export function positionIn(revision: number): number {
  return revision % positions;
}

/** Whether the state at this revision is one that etcd has, or one between the writes of a transaction. */
export function isEnd(revision: number): boolean {
  return positionIn(revision) === lastPosition;
}

/** The newest revision of etcd of which all writes are at or below this revision. */
export function etcdRevisionWithin(revision: number): number {
  return isEnd(revision) ? etcdRevisionOf(revision) : etcdRevisionOf(revision) - 1;
}

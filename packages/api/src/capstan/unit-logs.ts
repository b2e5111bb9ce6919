/**
 * Below it, the log store: `PUT /capstan/logs/<name of the NodeUnit>/<incarnation>?offset=<bytes before>` appends a part of the output of a unit, in Kubernetes' CRI log format, and
 * `PUT /capstan/logs/tasks/<name of the NodeTask>/<its uid>/<attempt>?offset=<bytes before>` a part of the output of a task, as its program wrote it. Only the agent of the object's node may do so.
 * `gap=true` says that the bytes between the end of the log and the offset are lost.
 */
export const logStorePath = '/capstan/logs/';

/** In bytes, of one request. */
export const largestLogPart = 256 << 10;

/** Response. If `size` is smaller than the offset, nothing was stored, because something is missing before the part. */
export interface LogPartStored {
  /** The end of the log, in bytes from its beginning. */
  readonly size: number;
}

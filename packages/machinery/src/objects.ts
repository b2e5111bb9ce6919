/**
 * The part of the package that runs anywhere, browsers included: it compiles without Node's types.
 */
export { Backoff, type BackoffLimits, type BackoffOptions, backoffAfter } from './backoff/backoff.ts';
export * from './json.ts';
export { type GroupVersion, parseApiVersion } from './meta/group-version.ts';
export { sameJson } from './meta/same-json.ts';
export * from './quantity/quantity.ts';
export type { LabelSelectorObject } from './selector/selector-object.ts';
export type { Status, StatusCause, StatusDetails } from './status/status.ts';
export { age, humanDuration } from './time/duration.ts';
export { formatMicroTime, formatTime, parseTime } from './time/time.ts';

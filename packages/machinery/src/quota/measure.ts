import type { KubeObject } from '../json.ts';
import type { Amounts } from './amounts.ts';
import type { Scope } from './scope.ts';

/** How the objects of one resource count against quotas. */
export interface Measure {
  /** The usage of one object, by the names that quotas limit. */
  usage(object: KubeObject, now: Date): Amounts;
  /** Whether a quota with this scope applies to the object. */
  isInScope(scope: Scope, object: KubeObject): boolean;
  /** A key that changes if the object may have moved from one scope to another. Undefined if objects never move. */
  scopeKey?(object: KubeObject): string;
  /** The error for an object that does not specify its usage of these limited names; undefined if it does. */
  missing?(limited: ReadonlySet<string>, object: KubeObject): string | undefined;
  /** False if objects are only counted, whatever their content. */
  readonly looksInside: boolean;
}

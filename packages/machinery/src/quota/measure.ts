import type { KubeObject } from '../json.ts';
import type { Amounts } from './amounts.ts';
import type { Scope } from './scope.ts';

/** How the objects of one resource count against quotas. */
export interface Measure {
  /** What one object uses, by the names that quotas limit. */
  usage(object: KubeObject, now: Date): Amounts;
  /** Whether a quota with this scope is about the object. */
  isInScope(scope: Scope, object: KubeObject): boolean;
  /** Another text when the object may have moved from one scope to another. Absent: it stays where it is. */
  scopeKey?(object: KubeObject): string;
  /** What the object must say, but does not, where these names are limited. */
  missing?(limited: ReadonlySet<string>, object: KubeObject): string | undefined;
  /** False: objects are counted, whatever is in them. */
  readonly looksInside: boolean;
}

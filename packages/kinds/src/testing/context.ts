import { rootCluster, type StoredKind } from '@capstan/api';
import { type FieldError, type KubeObject, whole } from '@capstan/machinery';
import type { Strategy, StrategyContext } from '../strategy.ts';

/** The context of a strategy in tests: one workspace with these objects, at a fixed time. */
export function contextOf(objects: readonly (KubeObject & { resource: string })[] = []): StrategyContext & { warnings: string[] } {
  const warnings: string[] = [];
  const list = <T extends KubeObject>({ resource }: StoredKind<T>): T[] =>
    objects.filter((object) => object.resource === resource) as KubeObject[] as T[];
  return {
    cluster: rootCluster,
    user: { name: 'tester', groups: [] },
    now: () => new Date('2026-01-01T00:00:00Z'),
    objects: {
      get: (at) => list(at).find(({ metadata }) => metadata.name === at.name),
      list,
      generation: () => 0,
    },
    warn: (message) => void warnings.push(message),
    warnings,
  };
}

/** The errors that a kind's rules find in an object alone. */
export function errorsOf(
  rules: Pick<Strategy, 'validate' | 'validateObjectInParts'>,
  object: KubeObject,
  context: StrategyContext = contextOf(),
): FieldError[] {
  const inParts = rules.validateObjectInParts?.(object, context);
  return [...(rules.validate?.(object, context) ?? []), ...(inParts === undefined ? [] : whole(inParts))];
}

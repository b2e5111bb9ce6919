import type { KubeObject } from '@capstan/machinery';
import type { StrategyContext } from '../strategy.ts';

/** The context of a strategy in tests: one workspace with these objects, at a fixed time. */
export function contextOf(objects: readonly (KubeObject & { resource: string })[] = []): StrategyContext & { warnings: string[] } {
  const warnings: string[] = [];
  return {
    cluster: 'root',
    user: { name: 'tester', groups: [] },
    now: () => new Date('2026-01-01T00:00:00Z'),
    objects: {
      get: ({ resource, name }) => objects.find((object) => object.resource === resource && object.metadata.name === name),
      list: ({ resource }) => objects.filter((object) => object.resource === resource),
      generation: () => 0,
    },
    warn: (message) => void warnings.push(message),
    warnings,
  };
}

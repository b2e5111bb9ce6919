import type { ApiExport, KindDefinition } from '@capstan/api';
import { apiResourceSchema } from '@capstan/api/hashes';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { mill, sailType, wind } from '../suite/platform.ts';
import { deleteSuperseded } from './superseded.ts';

const nameOf = (kind: KindDefinition): string => apiResourceSchema(kind).metadata.name;
/** The name of a schema of mills in another release. */
const release = (number: number): string => `v00000000000${number}.mills.wind.capstan.dev`;

interface World {
  /** From the oldest to the youngest. */
  readonly schemas: readonly string[];
  readonly exported?: readonly string[];
  readonly bound?: Readonly<Record<string, readonly string[]>>;
}

async function deleted({ schemas, exported = [], bound = {} }: World): Promise<{ deleted: string[]; asked: string[] }> {
  const [gone, asked]: [string[], string[]] = [[], []];
  await deleteSuperseded([wind], {
    schemas: async () =>
      schemas.map((name, index): KubeObject => {
        const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + Math.floor(index / 2) * 1000).toISOString();
        return { apiVersion: '', kind: '', metadata: { name, creationTimestamp, resourceVersion: String(index + 1) } };
      }),
    exports: async () => [{ spec: { resources: exported.map((schema) => ({ schema })) } } as unknown as ApiExport],
    boundSchemas: async (name) => {
      asked.push(name);
      return new Set(bound[name]);
    },
    deleteSchema: async ({ metadata }) => gone.push(metadata.name!),
  });
  return { deleted: gone, asked };
}

describe('schemas of earlier releases', () => {
  const current = [nameOf(mill), nameOf(sailType)];

  test.each<[string, World, string[]]>([
    ['stay if there is one', { schemas: [release(1), ...current] }, []],
    ['are deleted but for the last', { schemas: [release(1), release(2), release(3), ...current] }, [release(2), release(1)]],
    [
      'are deleted but for the last, also after a rollback',
      { schemas: [...current, release(1), release(2), release(3)] },
      [release(2), release(1)],
    ],
    ['stay if an export names them', { schemas: [release(1), release(2), ...current], exported: [release(1)] }, []],
    [
      'stay if a binding has them',
      {
        schemas: [release(1), release(2), release(3), ...current],
        bound: { 'wind.capstan.dev': [release(1)], 'platform.wind.capstan.dev': [release(2)] },
      },
      [],
    ],
    [
      'stay if they are not of the program',
      { schemas: ['today.mills.wind.capstan.dev', 'v1.mills.wind.capstan.dev', release(1), ...current] },
      [],
    ],
    ['stay if they are of another kind', { schemas: ['v000000000001.windmills.wind.capstan.dev', release(1), ...current] }, []],
  ])('%s', async (_, world, expected) => {
    expect((await deleted(world)).deleted).toEqual(expected);
  });

  test('are looked for in bindings only if there are any', async () => {
    expect((await deleted({ schemas: [release(1), ...current] })).asked).toEqual([]);
    expect((await deleted({ schemas: [release(1), release(2), ...current] })).asked).toEqual([
      'wind.capstan.dev',
      'platform.wind.capstan.dev',
    ]);
  });
});

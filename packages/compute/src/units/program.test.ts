import { describe, expect, test } from 'vitest';
import { isChanged, programFields, programHash } from './program.ts';
import { unitWith } from './testing/unit.ts';

const base = programHash(unitWith().spec);

describe('the program of a unit', () => {
  test.each([
    ['its state', { running: false }],
    ['its limits', { maxDuration: '1h', idleTimeout: '1h' }],
    ['its priority', { priority: 7 }],
    ['its access', { access: { port: 'http', scheme: 'http' as const } }],
  ])('stays the same with %s', (_, spec) => expect(programHash(unitWith(spec).spec)).toBe(base));

  test.each([
    ['command', { command: ['false'] }],
    ['variables', { env: [{ name: 'A', value: '1' }] }],
    ['image', { image: 'x' }],
    ['restart policy', { restartPolicy: 'Always' as const }],
    ['fence', { onNodeLoss: 'Fence' as const }],
    ['pull secret', { imagePullSecret: 'x' }],
  ])('is another one with another %s', (_, spec) => expect(programHash(unitWith(spec).spec)).not.toBe(base));

  test('does not depend on the order of its fields', () => {
    const env = [{ name: 'A', value: '1' }];
    const turned = [{ value: '1', name: 'A' }];
    expect(programHash(unitWith({ env }).spec)).toBe(programHash(unitWith({ env: turned }).spec));
  });

  test.each([
    ['before its first start', {}, false],
    ['as it was started', { observedGeneration: 1, program: base }, false],
    ['after a change in place', { observedGeneration: 0, program: base }, false],
    ['after a change of the program', { observedGeneration: 0, program: 'other' }, true],
    ['after an upgrade that adds fields', { observedGeneration: 1, program: 'other' }, false],
  ])('is changed or not: %s', (_, status, expected) => expect(isChanged({ ...unitWith(), status })).toBe(expected));

  test('tells its node to fence it only if the unit says so, and never where its image comes from', () => {
    expect(programFields(unitWith({ imagePullSecret: 'x' }).spec)).toMatchObject({ secrets: true });
    expect(programFields(unitWith({ imagePullSecret: 'x' }).spec)).not.toHaveProperty('imagePullSecret');
    expect(programFields(unitWith().spec)).not.toHaveProperty('fenceAfter');
    expect(programFields(unitWith({ onNodeLoss: 'Fence' }).spec)).toMatchObject({ fenceAfter: '5m', secrets: false });
  });
});

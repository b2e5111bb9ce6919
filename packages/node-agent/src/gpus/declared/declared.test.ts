import { describe, expect, test } from 'vitest';
import { parseDeclaration } from './declared.ts';

const read = (text: string, machine = 'n1'): ReturnType<typeof parseDeclaration> => parseDeclaration({ text, machine, observedAt: 1_000 });
const yaml = `
gpus:
  - model: H100
    count: 4
    memory: 80Gi
    linked: true
  - model: L4
    memory: 24Gi
`;

describe('parseDeclaration', () => {
  test('makes the declared GPUs', () => {
    const { gpus, linkGroups, readings, source } = read(yaml);
    expect(source).toBe('declared');
    expect(gpus.map(({ model }) => model)).toEqual(['H100', 'H100', 'H100', 'H100', 'L4']);
    expect(gpus[4]).toMatchObject({ memoryBytes: 24 * 1024 ** 3, deviceFiles: [], productName: 'Declared L4' });
    expect(linkGroups).toEqual([{ kind: 'NVLink', gpus: gpus.slice(0, 4).map(({ uuid }) => uuid) }]);
    expect(readings).toHaveLength(5);
  });

  test('gives them the same uuids every time, and others on another machine', () => {
    const uuids = read(yaml).gpus.map(({ uuid }) => uuid);
    expect(read(yaml).gpus.map(({ uuid }) => uuid)).toEqual(uuids);
    expect(new Set([...uuids, ...read(yaml, 'n2').gpus.map(({ uuid }) => uuid)]).size).toBe(10);
    expect(uuids[0]).toMatch(/^GPU-declared-/);
  });

  test('reads JSON too', () => {
    expect(read('{"gpus": [{"model": "MI300X", "count": 8, "memory": "192Gi"}]}').gpus).toHaveLength(8);
  });

  test('accepts a machine without GPUs', () => {
    expect(read('gpus: []').gpus).toEqual([]);
  });

  test.each([
    ['no list', 'models: []', 'a list named gpus'],
    ['invalid YAML', 'gpus: [', 'expected YAML or JSON'],
    ['no model', 'gpus: [{count: 1}]', 'the model of a declared GPU'],
    ['a model that is no name', 'gpus: [{model: "../x"}]', 'the model of a declared GPU'],
    ['a negative count', 'gpus: [{model: H100, count: -1}]', 'a count of H100'],
    ['too many', 'gpus: [{model: H100, count: 60}, {model: L4, count: 5}]', 'at most 64'],
    ['memory that is no quantity', 'gpus: [{model: H100, memory: lots}]', 'a quantity such as 80Gi'],
    ['linked that is no boolean', 'gpus: [{model: H100, linked: 3}]', 'linked of H100'],
  ])('rejects %s', (_, text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});

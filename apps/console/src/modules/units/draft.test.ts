import { describe, expect, test } from 'vitest';
import { emptyDraft, faultsIn, unitOf } from './draft.ts';
import { WordsError, wordsIn } from './words.ts';

describe('words', () => {
  test.each([
    ['python3 train.py --lr 0.1', ['python3', 'train.py', '--lr', '0.1']],
    [`sh -c 'echo "a b"'`, ['sh', '-c', 'echo "a b"']],
    [`a"b c"d  e`, ['ab cd', 'e']],
    [`"" ''`, ['', '']],
    [String.raw`a\ b "c\"d" 'e\f'`, ['a b', 'c"d', String.raw`e\f`]],
    ['echo $HOME *', ['echo', '$HOME', '*']],
    ['  ', []],
  ])('in %s', (text, words) => expect(wordsIn(text)).toEqual(words));

  test('need closed quotes', () => expect(() => wordsIn(`echo 'a`)).toThrow(WordsError));
});

const good = { ...emptyDraft, name: 'train', offering: 'h100-4', command: 'python3 train.py' };

describe('a draft', () => {
  test('that is complete has no faults', () => expect(faultsIn(good)).toEqual({}));

  test.each([
    ['name', { name: 'Train!' }],
    ['offering', { offering: '' }],
    ['command', { command: '' }],
    ['command', { command: `echo "` }],
    ['memory', { by: 'resources', memory: 'much' }],
    ['cpu', { by: 'resources', cpu: '-1' }],
    ['env', { env: [{ name: '1A', value: '' }] }],
    ['ports', { ports: [{ name: 'http', port: '0' }] }],
    ['mounts', { mounts: [{ storage: 'data', path: 'data', readOnly: false }] }],
    ['maxDuration', { maxDuration: '2 hours' }],
  ] as const)('says that %s is wrong', (field, change) => expect(Object.keys(faultsIn({ ...good, ...change }))).toEqual([field]));

  test('becomes a unit without anything that was left empty', () => {
    expect(unitOf(good, 'default')).toEqual({
      apiVersion: 'compute.capstan.dev/v1alpha1',
      kind: 'GPUUnit',
      metadata: { name: 'train', namespace: 'default' },
      spec: { offering: 'h100-4', command: ['python3', 'train.py'] },
    });
  });

  test('becomes a unit with everything that was filled in', () => {
    const { spec } = unitOf(
      {
        ...good,
        by: 'resources',
        gpus: 2,
        model: 'H200',
        cpu: '4',
        memory: '16Gi',
        nodes: 2,
        image: 'registry.example.com/a:1',
        env: [{ name: 'A', value: 'b' }],
        ports: [{ name: 'http', port: '8080' }],
        mounts: [{ storage: 'data', path: '/data', readOnly: true }],
        restartPolicy: 'Always',
        maxDuration: '2h',
        idleTimeout: '30m',
      },
      'default',
    );
    expect(spec).toEqual({
      resources: { gpu: { count: 2, model: 'H200' }, cpu: '4', memory: '16Gi' },
      nodes: 2,
      image: 'registry.example.com/a:1',
      command: ['python3', 'train.py'],
      env: [{ name: 'A', value: 'b' }],
      ports: [{ name: 'http', port: 8080 }],
      access: { port: 'http' },
      mounts: [{ storage: 'data', path: '/data', readOnly: true }],
      restartPolicy: 'Always',
      maxDuration: '2h',
      idleTimeout: '30m',
    });
  });
});

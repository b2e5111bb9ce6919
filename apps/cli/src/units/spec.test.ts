import { expect, test } from 'vitest';
import { nameFor, programOf, resourcesOf } from './spec.ts';

test('flags become a spec', () => {
  const flags = {
    image: 'ghcr.io/x/y:1',
    env: ['A=1', 'B=x=y', 'HERE', 'A=2', 'EMPTY='],
    port: ['web=8080', '9000'],
    volume: ['data:/data', 'models:/models:ro'],
    nodes: 2,
    tty: true,
    workdir: '/data',
    maxDuration: '2h',
    idleTimeout: '30m',
    network: 'none',
    restart: 'on-failure',
  } as const;
  expect(programOf(['python3', 'a b.py'], flags, { HERE: 'there' })).toEqual({
    image: 'ghcr.io/x/y:1',
    command: ['python3', 'a b.py'],
    env: [
      { name: 'A', value: '2' },
      { name: 'B', value: 'x=y' },
      { name: 'HERE', value: 'there' },
      { name: 'EMPTY', value: '' },
    ],
    ports: [
      { name: 'web', port: 8080 },
      { name: 'port-9000', port: 9000 },
    ],
    access: { port: 'web', scheme: 'http' },
    mounts: [
      { storage: 'data', path: '/data', readOnly: false },
      { storage: 'models', path: '/models', readOnly: true },
    ],
    nodes: 2,
    tty: true,
    workingDirectory: '/data',
    maxDuration: '2h',
    idleTimeout: '30m',
    network: 'None',
    restartPolicy: 'OnFailure',
  });
});

test.each([
  [{ env: ['1=x'] }, '--env: expected NAME=value, found "1=x"'],
  [{ env: ['MISSING'] }, 'the variable MISSING is not set here'],
  [{ port: ['web'] }, '--port: expected NAME=NUMBER'],
  [{ port: ['web=70000'] }, '--port'],
  [{ port: ['We=80'] }, '--port'],
  [{ volume: ['data'] }, '--volume: expected STORAGE:/path'],
  [{ volume: ['data:relative'] }, '--volume'],
])('%j is refused', (flags, message) => {
  expect(() => programOf(['x'], flags, {})).toThrow(message);
});

test('nothing to run is refused', () => {
  expect(() => programOf([], {})).toThrow('expected a command after --');
});

test('resources', () => {
  expect(resourcesOf({})).toBeUndefined();
  expect(resourcesOf({ gpu: 'H100' })).toEqual({ gpu: { model: 'H100', count: 1 } });
  expect(resourcesOf({ gpus: 2, memory: '8Gi', cpu: '4' })).toEqual({ gpu: { count: 2 }, memory: '8Gi', cpu: '4' });
  expect(() => resourcesOf({ offering: 'a', cpu: '1' })).toThrow('--offering has its own resources');
});

test.each([
  [['python3', '-u', 'src/Train_Model.py'], undefined, /^train-model-[0-9a-f]{4}$/],
  [['nvidia-smi'], undefined, /^nvidia-smi-/],
  [['/usr/bin/bash', '-c', 'echo'], undefined, /^bash-/],
  [[], 'docker.io/library/redis:7', /^redis-/],
  [['./9lives'], undefined, /^unit-9lives-/],
  [['\u001b[31m'], undefined, /^unit-31m-/],
  [['ü'], undefined, /^unit-[0-9a-f]{4}$/],
])('the name for %j is like a name of Kubernetes', (command, image, expected) => {
  expect(nameFor(command, image)).toMatch(expected);
});

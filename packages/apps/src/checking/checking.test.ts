import { type App, type AppInstance, type AppPermitted, appKind, newObject } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import type { Plan, PlannedStep } from '../adapter/contract.ts';
import { pair } from '../testing/pair.ts';
import { mentionsIn, withFacts } from './placeholders.ts';
import { checkPlan } from './plan.ts';
import { wishOf } from './wish.ts';

const hash = 'a'.repeat(64);
const permitted: AppPermitted = {
  scripts: [{ name: 'good', sha256: hash }, { name: 'other', sha256: 'b'.repeat(64) }, { name: 'any' }],
  paths: ['/etc/pair', '/opt/pair/file'],
  packages: ['munge'],
  services: ['pair'],
  commands: ['/usr/bin/pair'],
};
const app = { ...newObject(appKind, pair.apps()[0]!), spec: { ...pair.apps()[0]!.spec, permitted } } as App;

const step = (type: string, task: object, more: object = {}): PlannedStep =>
  ({ id: 's', title: 'S', member: 'm', stage: 1, type, task, ...more }) as unknown as PlannedStep;

function refusal(steps: readonly PlannedStep[], more: Partial<Plan> = {}): string | undefined {
  const place = {
    app,
    members: new Set(['m', 'n']),
    secrets: new Set(['old']),
    facts: new Set(['known']),
    scripts: { hashOf: (name: string) => (name === 'missing' ? undefined : hash) },
    artifacts: new Set(['c'.repeat(64)]),
  };
  const checked = checkPlan({ steps, phase: 'ready', ...more }, place);
  return checked.kind === 'ok' ? undefined : checked.problem.message;
}

const file = (path: string, content = ''): PlannedStep => step('file.write', { path, content });

describe('a plan', () => {
  test.each<[string, PlannedStep, string | undefined]>([
    ['a file in a permitted folder', file('/etc/pair/conf.d/a'), undefined],
    ['a permitted file', file('/opt/pair/file'), undefined],
    ['a file elsewhere', file('/etc/passwd'), 'the App does not permit the path /etc/passwd'],
    ['a file whose folder only begins like a permitted one', file('/etc/pairs/a'), 'the App does not permit the path /etc/pairs/a'],
    ['a path that climbs out', file('/etc/pair/../passwd'), 'the path /etc/pair/../passwd is not in its shortest form'],
    ['a permitted script', step('process.run', { script: 'good' }), undefined],
    ['a script with any content', step('probe.command', { script: 'any' }), undefined],
    ['a script that the App does not name', step('process.run', { script: 'evil' }), 'the App does not permit the script evil'],
    [
      'a script that was changed',
      step('process.run', { script: 'other' }),
      `the NodeScript other is not the one that the App permits: its SHA-256 is ${hash}`,
    ],
    [
      'a variable that chooses code',
      step('process.run', { script: 'good', environment: { LD_PRELOAD: '/x' } }),
      'it sets the environment variable LD_PRELOAD',
    ],
    ['a package', step('package.ensure', { names: ['munge'] }), undefined],
    ['another package', step('package.ensure', { names: ['munge', 'nmap'] }), 'the App does not permit the package nmap'],
    ['a service', step('service.ensure', { name: 'pair', command: ['/usr/bin/pair', '-x'] }), undefined],
    ['another service', step('service.ensure', { name: 'sshd', state: 'stopped' }), 'the App does not permit the service sshd'],
    [
      'a service with another command',
      step('service.ensure', { name: 'pair', command: ['/bin/sh'] }),
      'the App does not permit the command /bin/sh',
    ],
    ['a service that is a script', step('service.ensure', { name: 'pair', script: 'good' }), undefined],
    [
      'a service that is another script',
      step('service.ensure', { name: 'pair', script: 'evil' }),
      'the App does not permit the script evil',
    ],
    ['the log of the machine', step('collect.logs', { files: ['/etc/shadow'] }), 'the App does not permit the path /etc/shadow'],
    ['an artifact', step('artifact.fetch', { sha256: 'c'.repeat(64), path: '/etc/pair/x' }), undefined],
    [
      'another artifact',
      step('artifact.fetch', { sha256: hash, path: '/etc/pair/x' }),
      `no artifact of the version has the SHA-256 ${hash}`,
    ],
    ['a type that is not for apps', step('node.clean', { allocation: 'x' }), 'apps may not use node.clean'],
    ['a type that does not exist', step('shell', {}), 'there is no type of tasks shell'],
    [
      'parameters of a wrong type',
      step('package.ensure', { names: 'munge' }),
      'names: Invalid value: "string": names in body must be of type array: "string"',
    ],
    ['parameters that do not exist', step('process.run', { script: 'good', user: 'root' }), 'user: is unknown'],
    ['a member that is none', step('process.run', { script: 'good' }, { member: 'x' }), 'x is no member of the instance'],
    ['a secret that exists', file('/etc/pair/a', '${secret:old}'), undefined],
    ['a secret that does not', file('/etc/pair/a', '${secret:new}'), 'nothing before it makes the secret new'],
    ['a secret in a path', file('/etc/pair/${secret:old}'), 'it has a secret in path, where file.write cannot have one'],
    ['a fact that does not exist', file('/etc/pair/a', '${fact:new}'), 'nothing before it keeps the fact new'],
    [
      'a placeholder that cannot be read',
      file('/etc/pair/a', '${secret:a b}'),
      'it has a placeholder that cannot be read; write $${ for ${',
    ],
    ['a quoted placeholder', file('/etc/pair/a', '$${secret:a b}'), undefined],
  ])('with %s', (_what, one, message) => {
    expect(refusal([one])).toBe(message === undefined ? undefined : `the step s is refused: ${message}`);
  });

  test('uses facts of earlier stages only', () => {
    const keeps = step('process.run', { script: 'good' }, { id: 'k', keepsFact: 'new', stage: 1 });
    const uses = (stage: number): PlannedStep => ({ ...file('/etc/pair/a', '${fact:new}'), stage });
    expect(refusal([keeps, uses(2)])).toBeUndefined();
    expect(refusal([keeps, uses(1)])).toContain('nothing before it keeps the fact new');
  });

  test('has every step once, and names members only', () => {
    expect(refusal([file('/etc/pair/a'), file('/etc/pair/b')])).toBe('two steps of the plan have the id s');
    expect(refusal([], { joins: ['z'] })).toBe('the plan names z, which is no member of the instance');
  });

  test('may mention the token of the platform, and not make one of this name', () => {
    expect(refusal([file('/etc/pair/a', '${secret:report-token}')])).toBeUndefined();
    const message = 'the secret report-token is that of the platform; give yours another name';
    expect(refusal([], { secrets: [{ name: 'report-token', bytes: 16, encoding: 'hex' }] })).toBe(message);
    expect(refusal([step('process.run', { script: 'good' }, { keepsSecret: 'report-token' })])).toBe(message);
  });

  test('pins the content of scripts', () => {
    const place = {
      app,
      members: new Set(['m']),
      secrets: new Set<string>(),
      facts: new Set<string>(),
      scripts: { hashOf: () => hash },
      artifacts: new Set<string>(),
    };
    expect(checkPlan({ steps: [step('process.run', { script: 'any' })], phase: '' }, place)).toMatchObject({
      value: { steps: [{ task: { script: 'any', sha256: hash } }] },
    });
  });
});

describe('placeholders', () => {
  test('of facts are replaced, and nothing that a fact contains is', () => {
    expect(withFacts('a ${fact:x} $${fact:x} ${fact:x}', { x: '${secret:y}' }, false)).toBe('a ${secret:y} ${fact:x} ${secret:y}');
    expect(withFacts('a ${fact:x} $${b} ${secret:y}', { x: '${secret:y}' }, true)).toBe('a $${secret:y} $${b} ${secret:y}');
  });

  test('are found in all texts', () => {
    const { secrets, facts } = mentionsIn({ a: ['${secret:one}'], b: { c: '${fact:two} ${secret:three}' } });
    expect([[...secrets], [...facts]]).toEqual([['one', 'three'], ['two']]);
  });
});

describe('a wish', () => {
  const problem = (spec: object): string | undefined => {
    const wish = wishOf({ spec: { app: 'pair', placement: { leader_allocation_id: 'a' }, ...spec } } as unknown as AppInstance, app);
    return wish.kind === 'ok' ? undefined : wish.problem.message;
  };
  test.each([
    ['that is whole', {}, undefined],
    ['without a required field', { placement: {} }, 'placement.leader_allocation_id: Required value'],
    [
      'with a misspelled field',
      { placement: { leader_allocation_id: 'a', folower: 'b' } },
      "placement.folower: is not a field of the App's schema",
    ],
    ['with a wrong type', { parameters: { greeting: 7 } }, 'parameters.greeting in body must be of type string'],
    ['for another version', { version: '9' }, 'the App pair has no version 9; it has 1, 2'],
  ])('%s', (_what, spec, message) => {
    const found = problem(spec);
    if (message === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(message);
  });

  test('gets the defaults of the schema and of the App', () => {
    const wish = wishOf({ spec: { app: 'pair', placement: { leader_allocation_id: 'a' } } } as unknown as AppInstance, app);
    expect(wish).toMatchObject({ value: { version: '1', parameters: { greeting: 'hello' } } });
  });
});

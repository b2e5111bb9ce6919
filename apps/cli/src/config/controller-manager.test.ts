import { writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { readControllerManagerConfig } from './controller-manager.ts';

function read(text: string): unknown {
  using directory = temporaryDirectory('config');
  const file = directory.join('manager.yaml');
  writeFileSync(file, text);
  try {
    return JSON.parse(JSON.stringify(readControllerManagerConfig(file)).replaceAll(directory.path, '/etc'));
  } catch (error) {
    return (error as Error).message.replace(`${directory.path}/`, '');
  }
}

test('a whole file is read, and paths are relative to it', () => {
  expect(
    read(`kubeconfigFile: manager.kubeconfig
listen: { host: 0.0.0.0, port: 0 }
leaderElection:
  name: ours
  leaseSeconds: 30
controllers: ["*", -garbage-collector]
concurrency:
  namespace: 2
useAccounts: false
signing:
  certificateFile: signer.crt
  keyFile: /keys/signer.key
`),
  ).toEqual({
    kubeconfigFile: '/etc/manager.kubeconfig',
    listen: { host: '0.0.0.0', port: 0 },
    leaderElection: { name: 'ours', leaseSeconds: 30 },
    controllers: ['*', '-garbage-collector'],
    concurrency: { namespace: 2 },
    useAccounts: false,
    signing: { certificateFile: '/etc/signer.crt', keyFile: '/keys/signer.key' },
  });
});

test('an empty file means the defaults', () => {
  expect(read('')).toEqual({});
});

test.each([
  ['listen:\n  port: -1\n', 'manager.yaml:2:9: expected a whole number from 0 to 65535, found "-1"'],
  ['useAccounts: "yes"\n', 'manager.yaml:1:14: expected true or false, found "yes"'],
  ['leaderElection:\n  enabled: 1\n', 'manager.yaml:2:12: expected true or false, found "1"'],
  ['controllers: all\n', 'manager.yaml:1:14: expected a list of names such as ["*", "-garbage-collector"], found "all"'],
  ['concurrency:\n  namespaces: 2\n', /^manager\.yaml:2:3: unknown setting "namespaces"; .* Did you mean "namespace"\?$/],
  [
    'controllers:\n  - "*"\n  - garbage\n',
    /^manager\.yaml:3:5: expected "\*" for all, or one of namespace, .*, with a dash before it to leave it out, found "garbage"$/,
  ],
  ['leaderElection: { leaseSeconds: 5 }\n', /^manager\.yaml:1:17: expected leaseSeconds > renewSeconds > retrySeconds, found 5, 10 and 2/],
  ['signing: { keyFile: a.key }\n', 'manager.yaml:1:10: expected both "certificateFile" and "keyFile", or neither'],
])('%j is refused with its place and what was expected', (text, message) => {
  if (typeof message === 'string') expect(read(text)).toBe(message);
  else expect(read(text)).toMatch(message);
});

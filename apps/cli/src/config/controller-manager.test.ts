import { writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { readProcessConfig } from './capstan.ts';
import { controllerManagerShape } from './controller-manager.ts';

/** Reads a file with these lines in its section `controllerManager`. */
function read(text: string): unknown {
  using directory = temporaryDirectory('config');
  const file = directory.join('capstan.yaml');
  writeFileSync(file, text === '' ? '' : `controllerManager:\n${text.replace(/^/gm, '  ').trimEnd()}\n`);
  try {
    return JSON.parse(
      JSON.stringify(readProcessConfig(file, 'controllerManager', controllerManagerShape).settings).replaceAll(directory.path, '/etc'),
    );
  } catch (error) {
    return (error as Error).message.replace(`${directory.path}/`, '');
  }
}

test('reads a complete file and resolves paths relative to it', () => {
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

test('uses the defaults for an empty file', () => {
  expect(read('')).toEqual({});
});

test.each([
  ['listen:\n  port: -1\n', 'capstan.yaml:3:11: expected a whole number from 0 to 65535, found "-1"'],
  ['useAccounts: "yes"\n', 'capstan.yaml:2:16: expected true or false, found "yes"'],
  ['leaderElection:\n  enabled: 1\n', 'capstan.yaml:3:14: expected true or false, found "1"'],
  ['controllers: all\n', 'capstan.yaml:2:16: expected a list of names such as ["*", "-garbage-collector"], found "all"'],
  ['concurrency:\n  namespaces: 2\n', /^capstan\.yaml:3:5: unknown setting "namespaces"; .* Did you mean "namespace"\?$/],
  [
    'controllers:\n  - "*"\n  - garbage\n',
    /^capstan\.yaml:4:7: expected "\*" for all, or one of namespace, .*, with a dash before it to exclude it, found "garbage"$/,
  ],
  ['leaderElection: { leaseSeconds: 5 }\n', /^capstan\.yaml:2:19: expected leaseSeconds > renewSeconds > retrySeconds, found 5, 10 and 2/],
  ['signing: { keyFile: a.key }\n', 'capstan.yaml:2:12: expected both "certificateFile" and "keyFile", or neither'],
])('rejects %j with its position and what was expected', (text, message) => {
  if (typeof message === 'string') expect(read(text)).toBe(message);
  else expect(read(text)).toMatch(message);
});

import { writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { readApiServerConfig } from './apiserver.ts';

function read(text: string): unknown {
  using directory = temporaryDirectory('config');
  const file = directory.join('apiserver.yaml');
  writeFileSync(file, text);
  try {
    return readApiServerConfig(file);
  } catch (error) {
    return (error as Error).message.replace(`${directory.path}/`, '');
  }
}

test('a whole file is read, and paths are relative to it', () => {
  using directory = temporaryDirectory('config');
  const file = directory.join('apiserver.yaml');
  writeFileSync(
    file,
    `dataDirectory: data
listen: { host: 0.0.0.0, port: 7443 }
etcd:
  endpoints:
    - http://127.0.0.1:2379
  keyFile: /etc/etcd.key
authentication:
  tokenFile: tokens.csv
workspaces:
  mounts: { enabled: true, backends: [{ url: https://a.example, authorityFile: ca.pem }] }
  outbound: { deny: [loopback, 10.0.0.0/8], allow: [10.1.0.0/16] }
runtimeConfig:
  admissionregistration.k8s.io/v1beta1: true
`,
  );
  expect(readApiServerConfig(file)).toEqual({
    dataDirectory: directory.join('data'),
    listen: { host: '0.0.0.0', port: 7443 },
    etcd: { endpoints: ['http://127.0.0.1:2379'], keyFile: '/etc/etcd.key' },
    authentication: { tokenFile: directory.join('tokens.csv') },
    workspaces: {
      mounts: { enabled: true, backends: [{ url: 'https://a.example', authorityFile: directory.join('ca.pem') }] },
      outbound: { deny: ['loopback', '10.0.0.0/8'], allow: ['10.1.0.0/16'] },
    },
    runtimeConfig: { 'admissionregistration.k8s.io/v1beta1': true },
  });
});

test('an empty file and an empty section mean the defaults', () => {
  expect(read('')).toEqual({});
  expect(read('# nothing\n')).toEqual({});
  expect(read('listen:\n')).toEqual({ listen: {} });
});

test.each([
  ['listen:\n  port: high\n', 'apiserver.yaml:2:9: expected a whole number from 1 to 65535, found "high"'],
  ['listen:\n  port: 70000\n', 'apiserver.yaml:2:9: expected a whole number from 1 to 65535, found "70000"'],
  ['listen:\n  port: [1]\n', 'apiserver.yaml:2:9: expected a whole number from 1 to 65535, found a list'],
  [
    'lisen:\n  port: 1\n',
    'apiserver.yaml:1:1: unknown setting "lisen"; expected one of dataDirectory, listen, etcd, runtimeConfig, admission, history, audit, authentication, authorization, workspaces. Did you mean "listen"?',
  ],
  ['listen:\n  prot: 1\n', 'apiserver.yaml:2:3: unknown setting "prot"; expected one of host, port, names. Did you mean "port"?'],
  ['listen: 6443\n', 'apiserver.yaml:1:9: expected a section with host, port, names, found "6443"'],
  [
    'admission:\n  disabledPlugins: [ServiceAccounts]\n',
    /^apiserver.yaml:2:21: expected one of LimitRanger, ServiceAccount, .*, found "ServiceAccounts"$/,
  ],
  ['authorization:\n  alwaysAllowPaths: /healthz\n', 'apiserver.yaml:2:21: expected a list of paths such as [/healthz], found "/healthz"'],
  [
    'workspaces:\n  outbound:\n    deny: [local]\n',
    'apiserver.yaml:3:12: expected loopback, linkLocal, private or a range such as 10.0.0.0/8, found "local"',
  ],
  ['workspaces:\n  mounts:\n    backends: [{ authorityFile: a }]\n', 'apiserver.yaml:3:16: expected "url", where mounts may lead'],
  [
    'workspaces:\n  mounts:\n    backends: [{ url: "https://a", keyFile: b }]\n',
    'apiserver.yaml:3:16: expected certificateFile and keyFile, or neither',
  ],
  ['audit:\n  mode: sometimes\n', 'apiserver.yaml:2:9: expected blocking or batch, found "sometimes"'],
  ['authentication:\n  tokenFile: ""\n', 'apiserver.yaml:2:14: expected a path, found ""'],
  ['etcd:\n  endpoints: []\n', 'apiserver.yaml:2:14: expected a list of URLs such as [http://127.0.0.1:2379], found a list'],
  ['etcd:\n  keyFile: a\n', 'apiserver.yaml:2:3: expected "endpoints", a list of URLs, in etcd'],
  ['listen: {}\nlisten: {}\n', 'apiserver.yaml:2:1: "listen" is given twice; keep one'],
  [
    '- a\n',
    'apiserver.yaml:1:1: expected a section with dataDirectory, listen, etcd, runtimeConfig, admission, history, audit, authentication, authorization, workspaces, found a list',
  ],
])('%j is refused with the place and what was expected', (text, message) => {
  if (typeof message === 'string') expect(read(text)).toBe(message);
  else expect(read(text)).toMatch(message);
});

test('text that is no YAML is refused with the place', () => {
  expect(read('listen: {\n')).toMatch(/^apiserver\.yaml:\d+:\d+: not valid YAML: /);
});

test('a file that is not there is named', () => {
  expect(() => readApiServerConfig('/nonexistent/a.yaml')).toThrow('/nonexistent/a.yaml: cannot be read (ENOENT)');
});

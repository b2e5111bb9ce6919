import { writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { apiServerShape } from './apiserver.ts';
import { readProcessConfig, readWholeConfig } from './capstan.ts';

/** Reads a file with these lines in its section `apiserver`. */
function read(text: string): unknown {
  using directory = temporaryDirectory('config');
  const file = directory.join('capstan.yaml');
  writeFileSync(file, text === '' ? '' : `apiserver:\n${text.replace(/^/gm, '  ').trimEnd()}\n`);
  try {
    return readProcessConfig(file, 'apiserver', apiServerShape);
  } catch (error) {
    return (error as Error).message.replace(`${directory.path}/`, '');
  }
}

test('reads a complete file and resolves paths relative to it', () => {
  using directory = temporaryDirectory('config');
  const file = directory.join('capstan.yaml');
  writeFileSync(
    file,
    `dataDirectory: data
apiserver:
  advertise: api.example.com:443
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
controllerManager:
  anything: [that, others, check]
`,
  );
  const { dataDirectory, settings } = readProcessConfig(file, 'apiserver', apiServerShape);
  expect(dataDirectory).toBe(directory.join('data'));
  expect(settings).toEqual({
    advertise: 'api.example.com:443',
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

test('uses the defaults for an empty file and an empty section', () => {
  expect(read('')).toEqual({ settings: {} });
  expect(read('# nothing\n')).toEqual({ settings: {} });
  expect(read('listen:\n')).toEqual({ settings: { listen: {} } });
});

test.each([
  ['listen:\n  port: high\n', 'capstan.yaml:3:11: expected a whole number from 1 to 65535, found "high"'],
  ['listen:\n  port: 70000\n', 'capstan.yaml:3:11: expected a whole number from 1 to 65535, found "70000"'],
  ['listen:\n  port: [1]\n', 'capstan.yaml:3:11: expected a whole number from 1 to 65535, found a list'],
  [
    'lisen:\n  port: 1\n',
    'capstan.yaml:2:3: unknown setting "lisen"; expected one of advertise, listen, etcd, runtimeConfig, admission, history, limits, kubelets, audit, unitLogs, artifacts, authentication, authorization, workspaces. Did you mean "listen"?',
  ],
  ['listen:\n  prot: 1\n', 'capstan.yaml:3:5: unknown setting "prot"; expected one of host, port, names. Did you mean "port"?'],
  ['listen: 6443\n', 'capstan.yaml:2:11: expected a section with host, port, names, found "6443"'],
  [
    'admission:\n  disabledPlugins: [ServiceAccounts]\n',
    /^capstan.yaml:3:23: expected one of NodeRestriction, LimitRanger, ServiceAccount, .*, found "ServiceAccounts"$/,
  ],
  ['authorization:\n  alwaysAllowPaths: /healthz\n', 'capstan.yaml:3:23: expected a list of paths such as [/healthz], found "/healthz"'],
  [
    'workspaces:\n  outbound:\n    deny: [local]\n',
    'capstan.yaml:4:14: expected loopback, linkLocal, private or a range such as 10.0.0.0/8, found "local"',
  ],
  [
    'workspaces:\n  mounts:\n    backends: [{ authorityFile: a }]\n',
    'capstan.yaml:4:18: expected "url", an address that mounts may point to',
  ],
  [
    'workspaces:\n  mounts:\n    backends: [{ url: "https://a", keyFile: b }]\n',
    'capstan.yaml:4:18: expected certificateFile and keyFile, or neither',
  ],
  ['advertise: http://a', 'capstan.yaml:2:14: expected a host such as api.example.com or api.example.com:443, found "http://a"'],
  ['audit:\n  mode: sometimes\n', 'capstan.yaml:3:11: expected blocking or batch, found "sometimes"'],
  ['authentication:\n  tokenFile: ""\n', 'capstan.yaml:3:16: expected a path, found ""'],
  ['etcd:\n  endpoints: []\n', 'capstan.yaml:3:16: expected a list of URLs such as [http://127.0.0.1:2379], found a list'],
  ['etcd:\n  keyFile: a\n', 'capstan.yaml:3:5: expected "endpoints", a list of URLs, in etcd'],
  ['listen: {}\nlisten: {}\n', 'capstan.yaml:3:3: "listen" is given twice; keep one'],
  [
    '- a\n',
    'capstan.yaml:2:3: expected a section with advertise, listen, etcd, runtimeConfig, admission, history, limits, kubelets, audit, unitLogs, artifacts, authentication, authorization, workspaces, found a list',
  ],
])('rejects %j with its position and what was expected', (text, message) => {
  if (typeof message === 'string') expect(read(text)).toBe(message);
  else expect(read(text)).toMatch(message);
});

test('rejects invalid YAML with its position', () => {
  expect(read('listen: {\n')).toMatch(/^capstan\.yaml:\d+:\d+: not valid YAML: /);
});

test('names a file that does not exist', () => {
  expect(() => readProcessConfig('/nonexistent/a.yaml', 'apiserver', apiServerShape)).toThrow(
    '/nonexistent/a.yaml: cannot be read (ENOENT)',
  );
});

test('names the section of a setting that belongs in one', () => {
  using directory = temporaryDirectory('config');
  const file = directory.join('capstan.yaml');
  const complaint = (text: string): string => {
    writeFileSync(file, text);
    try {
      return JSON.stringify(readWholeConfig(file));
    } catch (error) {
      return (error as Error).message.replace(`${directory.path}/`, '');
    }
  };
  expect(complaint('listen: { port: 1 }\n')).toBe(
    'capstan.yaml:1:1: "listen" belongs in the section "apiserver"; write "apiserver:" above it and indent it',
  );
  expect(complaint('signing: {}\n')).toContain('"signing" belongs in the section "controllerManager"');
  expect(complaint('apiservers: {}\n')).toContain(
    'expected one of dataDirectory, logFormat, apiserver, controllerManager, platformControllers, runtimeApi, console. Did you mean "apiserver"?',
  );
});

import { writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { readProcessConfig, readWholeConfig } from './capstan.ts';
import { platformControllersShape } from './platform-controllers.ts';

/** Reads a file with these lines. */
function read<T>(text: string, reader: (file: string) => T): T {
  using directory = temporaryDirectory('config');
  const file = directory.join('capstan.yaml');
  writeFileSync(file, text);
  return JSON.parse(JSON.stringify(reader(file)).replaceAll(directory.path, '/etc')) as T;
}

const own = (file: string) => readProcessConfig(file, 'platformControllers', platformControllersShape).settings;

test('reads its section and resolves paths relative to the file', () => {
  const text = `
platformControllers:
  kubeconfigFile: platform.kubeconfig
  listen: { host: 0.0.0.0, port: 0 }
  leaderElection: { enabled: true, leaseSeconds: 30 }
  nodes: { silentSeconds: 90 }
`;
  expect(read(text, own)).toEqual({
    kubeconfigFile: '/etc/platform.kubeconfig',
    listen: { host: '0.0.0.0', port: 0 },
    leaderElection: { enabled: true, leaseSeconds: 30 },
    nodes: { silentSeconds: 90 },
  });
  expect(read(text, readWholeConfig).platformControllers).toMatchObject({ listen: { port: '0' }, leaderElection: { enabled: 'true' } });
});

test.each([
  ['platformControllers: { listen: { port: high } }\n', 'expected a whole number from 0 to 65535, found "high"'],
  [
    'platformControllers: { controllers: ["*"] }\n',
    'unknown setting "controllers"; expected one of kubeconfigFile, listen, leaderElection, nodes',
  ],
  ['platformControllers: { nodes: { silentSeconds: 0 } }\n', 'expected a whole number from 1 to 86400, found "0"'],
  [
    'platformControllers: { leaderElection: { leaseSeconds: 5 } }\n',
    'expected leaseSeconds > renewSeconds > retrySeconds, found 5, 10 and 2',
  ],
])('rejects %j', (text, message) => {
  expect(() => read(text, own)).toThrow(message);
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../temporary.ts';
import { parseCommand, readSettings } from './options.ts';

test('reads words, flags with values and switches', () => {
  expect(parseCommand(['server', '--token', 'x', '--cluster-reset', '--cluster-reset-restore-path=/a=b', '--name', 'n'])).toEqual({
    words: ['server'],
    flags: { token: 'x', 'cluster-reset': true, 'cluster-reset-restore-path': '/a=b', name: 'n' },
  });
});

test('merges the files of a configuration: the last value wins, a plus adds, and flags come first', () => {
  using directory = temporaryDirectory('options');
  const config = directory.join('config.yaml');
  mkdirSync(`${config}.d`);
  writeFileSync(config, 'token: a\ntls-san: [one]\nnode-name: first\n');
  writeFileSync(`${config}.d/20-b.yaml`, 'tls-san+: [three]\nnode-name: last\n');
  writeFileSync(`${config}.d/10-a.yaml`, 'tls-san+: two\nnode-name: middle\n');
  writeFileSync(`${config}.d/ignored.txt`, 'node-name: none\n');
  expect(readSettings('rke2', { config, token: 'flag' })).toEqual({
    config,
    token: 'flag',
    'tls-san': ['one', 'two', 'three'],
    'node-name': 'last',
  });
});

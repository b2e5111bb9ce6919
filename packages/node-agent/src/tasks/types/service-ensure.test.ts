import { expect, test } from 'vitest';
import type { ServiceSpec } from '../../services/services.ts';
import type { TaskContext } from '../task-type.ts';
import { serviceEnsure } from './service-ensure.ts';

const context = { step: () => {}, reveal: async (text: unknown) => text } as unknown as TaskContext;
const kept = new Map<string, ServiceSpec>();
const type = serviceEnsure({
  hasSystemd: false,
  scripts: { find: async (name) => (name === 'web' ? '/scripts/web-1' : undefined) },
  services: {
    is: async (name, spec) => JSON.stringify(kept.get(name)) === JSON.stringify(spec),
    ensure: async (name, spec) => void kept.set(name, spec),
    stop: async (name) => void kept.delete(name),
  },
});

test('starts and stops a service with a command, once', async () => {
  const wanted = { name: 'web', state: 'running', command: ['/bin/web', '--port', '80'], environment: { A: 'b' } } as never;
  expect(await type.check(wanted, context)).toBe(false);
  await type.run(wanted, context);
  expect(kept.get('web')).toEqual({ command: ['/bin/web', '--port', '80'], environment: { A: 'b' } });
  expect(await type.check(wanted, context)).toBe(true);
  const stopped = { name: 'web', state: 'stopped', command: ['/bin/web'] } as never;
  expect(await type.check(stopped, context)).toBe(false);
  await type.run(stopped, context);
  expect(await type.check(stopped, context)).toBe(true);
});

test('needs a command where systemd does not run', async () => {
  await expect(type.check({ name: 'sshd', state: 'running' } as never, context)).rejects.toMatchObject({ code: 'NotSupported' });
});

test('runs a script of the catalog as a service', async () => {
  const wanted = { name: 'site', state: 'running', script: 'web', arguments: ['--port', '80'] } as never;
  expect(await type.check(wanted, context)).toBe(false);
  await type.run(wanted, context);
  expect(kept.get('site')).toEqual({ command: ['/scripts/web-1', '--port', '80'] });
  expect(await type.check(wanted, context)).toBe(true);
  const stopped = { name: 'site', state: 'stopped', script: 'web' } as never;
  await type.run(stopped, context);
  expect(kept.has('site')).toBe(false);
});

test('reports a script that is not in the catalog', async () => {
  const wanted = { name: 'site', state: 'running', script: 'other' } as never;
  await expect(type.run(wanted, context)).rejects.toMatchObject({ code: 'UnknownScript' });
});

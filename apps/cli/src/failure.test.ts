import { expect, test } from 'vitest';
import { explain } from './failure.ts';

const context = { dataDirectory: '/data', host: '127.0.0.1', port: 6443 };
const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

test.each([
  [coded('EADDRINUSE', 'listen EADDRINUSE'), 'portInUse', 'port 6443 on 127.0.0.1 is used'],
  [
    coded('locked', '/data/store is in use by process 7. Choose another directory'),
    'dataDirectoryHeld',
    'by process 7. Choose another directory with --data-dir.',
  ],
  [coded('EACCES', 'permission denied, mkdir'), 'dataDirectoryUnusable', 'Give this user permission'],
  [coded('ENOSPC', 'no space left'), 'dataDirectoryUnusable', 'no space left'],
  [coded('corrupt', 'page 3'), 'storeDamaged', 'capstan snapshot restore'],
  [coded('unavailable', 'cannot connect to etcd'), 'etcdUnreachable', 'cannot connect to etcd.'],
  [coded('outdated', 'etcd at x has version 3.4.9, but 3.5.8 or newer is required. Upgrade it'), 'etcdTooOld', '3.4.9'],
  [coded('otherInstallation', 'another API server uses this store'), 'otherInstallation', 'another API server'],
  [Object.assign(new Error('ca.crt: is no certificate'), { name: 'PkiError' }), 'badCertificate', 'ca.crt: is no certificate'],
])('explains %s with reason %s', (error, reason, message) => {
  const failure = explain(error, context);
  expect(failure.reason).toBe(reason);
  expect(failure.message).toContain(message);
});

test('looks at the cause of an error without a known code', () => {
  expect(explain(new Error('could not start', { cause: coded('EADDRINUSE', 'listen') }), context).reason).toBe('portInUse');
});

test('names the setting of a port that "capstan up" chose', () => {
  const used = Object.assign(coded('EADDRINUSE', 'listen'), { port: 6444, address: '127.0.0.1' });
  const ofRest = { ...context, port: 6444, portSetting: 'runtimeApi.listen.port' };
  expect(explain(used, ofRest).message).toContain('with "capstan up": with runtimeApi.listen.port in its configuration file');
});

test('names the port that is used, also if it is not the main one', () => {
  const used = Object.assign(coded('EADDRINUSE', 'listen'), { port: 10_259, address: '::1' });
  const { message } = explain(used, { ...context, portSetting: 'runtimeApi.listen.port' });
  expect(message).toContain('port 10259 on ::1 is used by another process. Choose another with --health-port, or stop');
});

test('keeps the stack of an unforeseen error', () => {
  const failure = explain(new TypeError('x is not a function'), context);
  expect(failure.reason).toBe('unexpected');
  expect(failure.message).toContain('failure.test.ts');
});

test('does not blame the directory for a privileged port', () => {
  const error = Object.assign(coded('EACCES', 'listen EACCES: permission denied 127.0.0.1:443'), { syscall: 'listen' });
  expect(explain(error, { ...context, port: 443 }).reason).toBe('usage');
});

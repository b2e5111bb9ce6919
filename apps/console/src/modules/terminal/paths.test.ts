import { expect, test } from 'vitest';
import { memberShellPath, podCommandPath, podShellPath } from './paths.ts';

const place = { workspace: 'root:main:default', namespace: 'default' };

test('opens bash in a Pod where there is one', () => {
  const { pathname, searchParams } = new URL(podShellPath({ ...place, pod: 'train', container: 'unit' }), 'http://localhost');
  expect(pathname).toBe('/kube/clusters/root:main:default/api/v1/namespaces/default/pods/train/exec');
  expect(searchParams.getAll('command').slice(0, 2)).toEqual(['sh', '-c']);
});

test('runs a command without a terminal, with every word as it is', () => {
  const command = ['cat', '--', "it's & <b>\n"];
  const { searchParams } = new URL(
    podCommandPath({ ...place, pod: 'train', container: 'unit' }, { command, hasInput: false }),
    'http://localhost',
  );
  expect(searchParams.getAll('command')).toEqual(command);
  expect([...new Set(searchParams.keys())]).toEqual(['container', 'stdout', 'stderr', 'command']);
});

test('names no command on a member: its node knows the shell of the person', () => {
  const { pathname, searchParams } = new URL(memberShellPath({ ...place, member: 'hpc-login-a1' }), 'http://localhost');
  expect(pathname).toBe('/kube/clusters/root:main:default/apis/apps.capstan.dev/v1alpha1/namespaces/default/appmembers/hpc-login-a1/exec');
  expect([...searchParams.keys()]).toEqual(['stdin', 'stdout', 'tty']);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { hasKilledIn } from './memory-kills.ts';
import { KernelRecords } from './records.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-kmsg-'));
afterAll(() => rmSync(directory, { recursive: true }));

const group = '/machine.slice/libpod-7f3a.scope/container';
const kill = (memory: string, prefix = '6,882,1505783388,-;') =>
  `${prefix}oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${memory},mems_allowed=0,oom_memcg=${memory},task_memcg=${memory},task=perl,pid=11058,uid=0\n`;

test.each([
  ['of the group', kill(group), true],
  ['of the group, as seen from outside of the namespace of the agent', kill(`/outer${group}`), true],
  ['of a group within it', kill(`${group}/inner`), true],
  ['of another group', kill('/machine.slice/libpod-0000.scope/container'), false],
  ['that a program has invented', kill(group, '12,882,1505783388,-;'), false],
  ['of the whole machine', kill(group).replace('oom_memcg=', 'global_oom,task_memcg='), false],
])('finds the end of a process for the memory %s: %#', async (_, text, expected) => {
  const file = join(directory, 'kmsg');
  writeFileSync(file, `4,1,1,-;something else\n${text}`);
  expect(await hasKilledIn(group, new KernelRecords(file))).toBe(expected);
});

test('knows nothing where the messages cannot be read', async () => {
  expect(await hasKilledIn(group, new KernelRecords(join(directory, 'none')))).toBe(false);
});

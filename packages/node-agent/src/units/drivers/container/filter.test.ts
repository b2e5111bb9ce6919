import { expect, test } from 'vitest';
import { stricter } from './filter.ts';

test('a filter loses what units must not do, and keeps the rest', () => {
  const strict = stricter({
    defaultAction: 'SCMP_ACT_ERRNO',
    archMap: [{ architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86'] }],
    syscalls: [
      { names: ['read', 'mount', 'clone'], action: 'SCMP_ACT_ALLOW' },
      { names: ['keyctl'], action: 'SCMP_ACT_ALLOW' },
    ],
  });
  const allowed = strict.syscalls
    .filter(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args === undefined)
    .flatMap(({ names }) => names);
  expect(allowed).toEqual(['read']);
  expect(strict.syscalls.find(({ names }) => names.includes('clone'))?.args).toHaveLength(1);
  expect(strict.archMap).toEqual([{ architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] }]);
});

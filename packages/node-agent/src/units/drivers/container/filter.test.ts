import { expect, test } from 'vitest';
import { othersThan, stricter } from './filter.ts';

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

test('a filter that allows only some calls refuses certain requests of ioctl', () => {
  const refused = [0x40086602, 0x401c5820];
  const matches = othersThan(refused);
  const isAllowed = (request: number): boolean =>
    matches.some(({ value, valueTwo }) => (BigInt(request) & BigInt(value)) === BigInt(valueTwo));
  for (const request of refused) {
    expect(isAllowed(request)).toBe(false);
    for (let bit = 0; bit < 32; bit++) expect(isAllowed(Number(BigInt(request) ^ (1n << BigInt(bit))))).toBe(true);
  }
  for (const request of [0, 0x5401, 0x80086601, 0xc020462a, 0xffffffff]) expect(isAllowed(request)).toBe(true);
  const strict = stricter({ defaultAction: 'SCMP_ACT_ERRNO', syscalls: [{ names: ['ioctl', 'read'], action: 'SCMP_ACT_ALLOW' }] });
  expect(strict.syscalls.filter(({ names, args }) => names.includes('ioctl') && args === undefined)).toEqual([]);
  expect(strict.syscalls.filter(({ names }) => names.includes('ioctl'))).toHaveLength(matches.length);
});

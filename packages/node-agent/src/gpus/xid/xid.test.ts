import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fixture } from '../testing.ts';
import { parseXids } from './kernel-log.ts';
import { describeXid } from './table.ts';

const clock = { bootedAt: 1_000_000, now: 9_000_000 };
const one = (line: string): ReturnType<typeof parseXids>[number] | undefined => parseXids(line, clock)[0];

describe('parseXids', () => {
  test('finds the Xid of a program that wrote to a wrong address (recorded, dmesg)', () => {
    expect(parseXids(fixture('nvidia-h200-loaded/dmesg.txt'), clock)).toEqual([
      {
        id: '[   49.105995] 0000:00:06 31',
        code: 31,
        pciBus: '0000:00:06',
        at: 1_049_106,
        pid: 599,
        processName: 'x',
        detail: expect.stringContaining('MMU Fault: ENGINE GRAPHICS') as string,
      },
    ]);
  });

  test('finds the same in the records of /dev/kmsg (recorded)', () => {
    expect(parseXids(fixture('nvidia-h200-loaded/kmsg.txt'), clock)).toMatchObject([
      { id: '4,360,49105995 0000:00:06 31', code: 31, at: 1_049_106, pid: 599 },
    ]);
  });

  test.each([
    [
      'a journal',
      'Oct 02 10:41:07 n1 kernel: NVRM: Xid (PCI:0000:3d:00): 79, pid=0, GPU has fallen off the bus.',
      { code: 79, pciBus: '0000:3d:00', at: 9_000_000 },
    ],
    [
      'a journal with times of Unix',
      '1763260800.500000 n1 kernel: NVRM: Xid (PCI:0000:3d:00): 79, GPU has fallen off the bus.',
      { at: 1_763_260_800_500 },
    ],
    [
      'an old driver',
      '[  966.503025] NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120',
      { code: 31, pciBus: '0000:01:00', at: 1_966_503 },
    ],
    ['a function of the bus', 'NVRM: Xid (PCI:0000:10:00.0): 79, x', { pciBus: '0000:10:00' }],
    ['a long domain', 'NVRM: Xid (PCI:00000001:10:00): 79, x', { pciBus: '0001:10:00' }],
    ['quoted names', "NVRM: Xid (PCI:0000:03:00): 31, pid='1234', name='python3', 'Illegal'", { pid: 1234, processName: 'python3' }],
    [
      'a change of the recovery action',
      'NVRM: Xid (PCI:0000:03:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)',
      { code: 154, recoveryAction: 'reboot' },
    ],
  ])('reads %s', (_, line, expected) => {
    expect(one(line)).toMatchObject(expected);
  });

  test('leaves out a process that the driver does not know', () => {
    expect(one('NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error')).not.toHaveProperty('pid');
    expect(one('NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error')).not.toHaveProperty('processName');
  });

  test('ignores what programs write', () => {
    expect(one('12,360,49105995,-;NVRM: Xid (PCI:0000:00:06): 79, forged')).toBeUndefined();
    expect(one('4,360,49105995,-;traps: NVRM: Xid (PCI:0000:00:06): 79, forged')).toBeUndefined();
    expect(one('[   49.105995] process NVRM: Xid (PCI:0000:00:06): 79, forged')).toBeUndefined();
  });

  test('skips other lines, hostile ones too', () => {
    fc.assert(fc.property(fc.string(), (text) => Array.isArray(parseXids(text, clock))));
    expect(parseXids(`NVRM: Xid (PCI:0000:b9:00): ${'7'.repeat(50)}, x\nNVRM: Xid (PCI:zz): 79\n${'x'.repeat(100_000)}`, clock)).toEqual(
      [],
    );
  });
});

describe('describeXid', () => {
  test.each([
    [79, 'condemns'],
    [74, 'condemns'],
    [48, 'condemns'],
    [64, 'condemns'],
    [95, 'condemns'],
    [119, 'reset'],
    [62, 'reset'],
    [63, 'watch'],
    [94, 'watch'],
    [13, 'application'],
    [31, 'application'],
    [43, 'application'],
    [45, 'application'],
    [9999, 'watch'],
  ])('%i: %s', (code, expected) => {
    expect(describeXid(code).class).toBe(expected);
  });
});

import { describe, expect, test } from 'vitest';
import { Findings } from './findings.ts';

function found(...pieces: string[]) {
  const findings = new Findings();
  for (const piece of pieces) findings.add(piece);
  return findings.end();
}

describe('findings', () => {
  test('are lines of their form', () => {
    expect(
      found(
        'removing\nresidue: /etc/slurm: not empty\nresidue: cni0: interface: up\r\n residue: x: y\nresidue: x\nresidue: : y\nresidue:  z: y\n',
      ),
    ).toEqual([
      { name: '/etc/slurm', message: 'not empty' },
      { name: 'cni0', message: 'interface: up' },
    ]);
  });

  test('may come in pieces, and the last line may have no end', () => {
    expect(found('resi', 'due: a', ': b\nresidue: c: d')).toEqual([
      { name: 'a', message: 'b' },
      { name: 'c', message: 'd' },
    ]);
  });

  test('with the same name become one', () => {
    expect(found('residue: a: b\nresidue: a: c\n')).toEqual([{ name: 'a', message: 'b; c' }]);
  });

  test('fit into a report', () => {
    const report = found(Array.from({ length: 300 }, (_, index) => `residue: ${index}: left\n`).join(''));
    expect(report).toHaveLength(256);
    expect(report.at(-1)).toEqual({ name: 'further', message: '45 further findings are in the output' });
    const [long] = found(`residue: ${'n'.repeat(300)}: ${'m'.repeat(2000)}\n`);
    expect([long?.name.length, long?.message.length]).toEqual([253, 1024]);
  });

  test('take bounded memory for an endless line', () => {
    const piece = 'x'.repeat(65_536);
    expect(found(...Array.from({ length: 1000 }, () => piece), '\nresidue: a: b\n')).toEqual([{ name: 'a', message: 'b' }]);
  });
});

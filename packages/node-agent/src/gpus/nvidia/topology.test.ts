import { describe, expect, test } from 'vitest';
import { GpuError } from '../errors.ts';
import { fixture } from '../testing.ts';
import { connectedGroups } from '../text/groups.ts';
import { parseTopology } from './topology.ts';

const eight = fixture('nvidia-h100x8/topo.txt');

describe('parseTopology', () => {
  test('reads the matrix of a single GPU, with its terminal escapes (recorded)', () => {
    expect(parseTopology(fixture('nvidia-h200/nvidia-smi-topo.txt'))).toEqual({ gpus: [{ numaNode: 0 }], links: [[0]] });
  });

  test('reads links and NUMA nodes beside the columns of network cards', () => {
    const { gpus, links } = parseTopology(eight);
    expect(gpus.map(({ numaNode }) => numaNode)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    expect(links[2]).toEqual([18, 18, 0, 18, 18, 18, 18, 18]);
  });

  test.each([
    ['no matrix', 'Legend:\n', 'Malformed'],
    ['a missing row', eight.replace(/^GPU5\t.*\n/m, ''), 'Incomplete'],
    ['a row that is cut', eight.replace(/^(GPU5\tNV18).*$/m, '$1'), 'Incomplete'],
    ['links that only one side has', eight.replace(/^(GPU5\t)NV18/m, '$1SYS'), 'Malformed'],
    ['an unknown kind of link', eight.replace('NV18', 'ERR!'), 'Malformed'],
  ])('rejects %s', (_, text, code) => {
    expect(() => parseTopology(text)).toThrow(expect.objectContaining({ code }) as Error);
  });

  test('rejects every cut of the matrix', () => {
    const matrixEnd = eight.indexOf('\nNIC0');
    for (let length = 0; length < matrixEnd - '\t\tN/A'.length - 2; length += 7)
      expect(() => parseTopology(eight.slice(0, length))).toThrow(GpuError);
  });
});

describe('connectedGroups', () => {
  test('divides a mesh in which not every pair is linked into groups in which every pair is', () => {
    const linked = new Set([
      '0-1',
      '0-2',
      '0-3',
      '1-2',
      '1-3',
      '2-3',
      '4-5',
      '4-6',
      '4-7',
      '5-6',
      '5-7',
      '6-7',
      '0-4',
      '1-5',
      '2-6',
      '3-7',
    ]);
    const links = (from: number, to: number): number => (linked.has(`${Math.min(from, to)}-${Math.max(from, to)}`) ? 2 : 0);
    expect(connectedGroups(8, links)).toEqual([
      { members: [0, 1, 2, 3], links: 2 },
      { members: [4, 5, 6, 7], links: 2 },
    ]);
  });

  test('finds no group without links', () => {
    expect(connectedGroups(3, () => 0)).toEqual([]);
  });
});

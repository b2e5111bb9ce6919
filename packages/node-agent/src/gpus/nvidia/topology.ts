import { stripVTControlCharacters } from 'node:util';
import { excerpt, GpuError } from '../errors.ts';
import { isAbsentWord } from '../text/measure.ts';

export interface Topology {
  /** By GPU, in the order of nvidia-smi's indices. */
  readonly gpus: readonly { readonly numaNode?: number }[];
  /** The number of NVLinks between two GPUs, by their indices; 0 if they reach each other over PCIe only. */
  readonly links: readonly (readonly number[])[];
}

/** Reads the matrix that `nvidia-smi topo -m` prints. */
export function parseTopology(text: string): Topology {
  // nvidia-smi underlines the header even when it prints to a pipe.
  const lines = stripVTControlCharacters(text).split(/\r?\n/);
  const at = lines.findIndex((line) => line.startsWith('\t') && /(?:^|\t)\s*GPU0\s*(?:\t|$)/.test(line));
  if (at === -1) throw new GpuError('Malformed', `expected the matrix of nvidia-smi topo -m, found "${excerpt(text)}"`);
  const header = lines[at]!.split('\t').map((cell) => cell.trim());
  const columns = header.flatMap((cell, column) => (/^GPU\d{1,3}$/.test(cell) ? [column] : []));
  const numaColumn = header.indexOf('NUMA Affinity');
  const rows = new Map(
    lines
      .slice(at + 1)
      .map((line) => cellsOf(line))
      .map((cells) => [cells[0]!, cells]),
  );
  const gpus: { numaNode?: number }[] = [];
  const links: number[][] = [];
  for (const [index, column] of columns.entries()) {
    const row = rows.get(header[column]!);
    if (header[column] !== `GPU${index}` || row === undefined || row.length < header.length) {
      throw new GpuError('Incomplete', `expected a whole row and a column for GPU${index} in the topology, found none`);
    }
    links.push(columns.map((to) => linksIn(row[to], { isSelf: to === column, name: header[column]! })));
    gpus.push(numaOf(row[numaColumn]));
  }
  checkSymmetric(links);
  return { gpus, links };
}

function cellsOf(line: string): string[] {
  return line.split('\t').map((cell) => cell.trim());
}

function linksIn(cell: string | undefined, { isSelf, name }: { isSelf: boolean; name: string }): number {
  const match = /^(?:(X)|NV(\d{1,3})|SYS|NODE|PHB|PXB|PIX|PSB)$/.exec(cell ?? '');
  if (match === null || (match[1] === 'X') !== isSelf) {
    throw new GpuError('Malformed', `expected a kind of link in the row of ${name} of the topology, found "${excerpt(cell ?? '')}"`);
  }
  return Number(match[2] ?? 0);
}

/** Only a single node is an affinity; a list such as `0-1` is none. */
function numaOf(cell: string | undefined): { numaNode?: number } {
  return cell !== undefined && !isAbsentWord(cell) && /^\d{1,4}$/.test(cell) ? { numaNode: Number(cell) } : {};
}

function checkSymmetric(links: readonly (readonly number[])[]): void {
  for (const [from, row] of links.entries()) {
    for (const [to, count] of row.entries()) {
      if (links[to]![from] !== count) throw new GpuError('Malformed', `GPU${from} and GPU${to} disagree about their links in the topology`);
    }
  }
}

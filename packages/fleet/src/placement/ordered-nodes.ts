import type { NodeRecord } from './node-record.ts';

/** Splitting at twice this many keeps a change cheap and lets a search skip that many nodes at once. */
const chunkSize = 64;

interface Chunk {
  readonly records: NodeRecord[];
  /** The most that one of them has free, unless this has to be computed again. */
  cpu: number;
  memory: number;
  isStale: boolean;
}

/** Nodes in the order of their names, which can be searched for free cpu and memory without looking at each. */
export class OrderedNodes {
  readonly #chunks: Chunk[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(record: NodeRecord): void {
    this.#size++;
    const at = Math.min(this.#chunkOf(record.name), this.#chunks.length - 1);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push({ records: [record], cpu: record.freeCpu, memory: record.freeMemory, isStale: false });
      return;
    }
    chunk.records.splice(position(chunk.records, record.name), 0, record);
    if (chunk.records.length < 2 * chunkSize) {
      chunk.cpu = Math.max(chunk.cpu, record.freeCpu);
      chunk.memory = Math.max(chunk.memory, record.freeMemory);
      return;
    }
    const upper: Chunk = { records: chunk.records.splice(chunkSize), cpu: 0, memory: 0, isStale: true };
    this.#chunks.splice(at + 1, 0, upper);
    chunk.isStale = true;
  }

  delete(record: NodeRecord): void {
    const at = this.#chunkOf(record.name);
    const chunk = this.#chunks[at]!;
    chunk.records.splice(position(chunk.records, record.name), 1);
    this.#size--;
    if (chunk.records.length === 0) this.#chunks.splice(at, 1);
    else chunk.isStale = true;
  }

  /** After the free cpu or memory of a node has changed. */
  refresh(record: NodeRecord): void {
    this.#chunks[this.#chunkOf(record.name)]!.isStale = true;
  }

  /** Nodes that have at least so much free. */
  *having(cpu: number, memory: number): Generator<NodeRecord> {
    for (const chunk of this.#chunks) {
      if (chunk.isStale) measure(chunk);
      if (chunk.cpu < cpu || chunk.memory < memory) continue;
      for (const record of chunk.records) if (record.freeCpu >= cpu && record.freeMemory >= memory) yield record;
    }
  }

  /** The first chunk that ends at or after the name. */
  #chunkOf(name: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#chunks[middle]!.records.at(-1)!.name < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function position(records: readonly NodeRecord[], name: string): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (records[middle]!.name < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

function measure(chunk: Chunk): void {
  let cpu = Number.NEGATIVE_INFINITY;
  let memory = Number.NEGATIVE_INFINITY;
  for (const { freeCpu, freeMemory } of chunk.records) {
    if (freeCpu > cpu) cpu = freeCpu;
    if (freeMemory > memory) memory = freeMemory;
  }
  chunk.cpu = cpu;
  chunk.memory = memory;
  chunk.isStale = false;
}

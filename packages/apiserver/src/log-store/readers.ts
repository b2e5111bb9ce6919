import { Readable } from 'node:stream';
import { status } from '@capstan/machinery';

/** At the same time: each holds a file open. */
const mostReaders = 64;

/** Counts those who read the store. */
export class Readers {
  #count = 0;

  read(parts: AsyncIterable<Buffer>): Readable {
    if (this.#count >= mostReaders) throw status.tooManyRequests(`${mostReaders} logs of the store are being read already`, 1);
    this.#count++;
    return Readable.from(parts, { objectMode: false }).once('close', () => this.#count--);
  }
}

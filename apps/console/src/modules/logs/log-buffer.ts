import { cleanLine } from './clean-line.ts';

export interface LogLine {
  /** Counts all lines, also those that made way. */
  readonly number: number;
  /** In RFC 3339 format; empty if the server sent none. */
  readonly time: string;
  readonly text: string;
}

const stamp = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) ?/;

/** The newest lines of an output, at most so many. */
export class LogBuffer {
  readonly #most: number;
  #lines: LogLine[] = [];
  #count = 0;

  constructor(most = 20_000) {
    this.#most = most;
  }

  /** Appends lines as the server sends them, with the time in front. Of a stream that began again, those until `after` are there already. */
  append(lines: readonly string[], after = ''): void {
    for (const line of lines) {
      const time = stamp.exec(line)?.[1] ?? '';
      if (after !== '' && nanoseconds(time) <= nanoseconds(after)) continue;
      const text = cleanLine(time === '' ? line : line.replace(stamp, ''));
      this.#lines.push({ number: ++this.#count, time, text });
    }
    // Rarely, so that each line is moved only a few times.
    if (this.#lines.length > this.#most * 1.1) this.#lines = this.#lines.slice(-this.#most);
  }

  /** The time of the newest line that has one; empty if none has. */
  get lastTime(): string {
    return this.#lines.findLast(({ time }) => time !== '')?.time ?? '';
  }

  /** A new array after every change, for readers that compare. */
  lines(): readonly LogLine[] {
    return this.#lines.length > this.#most ? this.#lines.slice(-this.#most) : this.#lines.slice();
  }

  /** How many lines made way. */
  get dropped(): number {
    return this.#count - Math.min(this.#lines.length, this.#most);
  }
}

/** Times with any number of digits after the point, so that they compare as texts. Servers send them in UTC. */
function nanoseconds(time: string): string {
  const [seconds = '', fraction = ''] = time.replace(/Z$/, '').split('.');
  return `${seconds}.${fraction.padEnd(9, '0')}`;
}

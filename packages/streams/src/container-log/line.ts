/** A line of a log file in Kubernetes' CRI format: `<time> <stream> <F or P> <text>`. A long line is in several parts, all but the last with P. */
export interface LogLine {
  /** As it is in the file, with nanoseconds. */
  readonly time: string;
  readonly isPartial: boolean;
  readonly text: Buffer;
}

const space = 0x20;
const partial = 0x50;

/** Undefined if the line is in another format, such as one that a crash has cut off. */
export function parseLine(line: Buffer): LogLine | undefined {
  const first = line.indexOf(space);
  const second = first < 0 ? -1 : line.indexOf(space, first + 1);
  if (second < 0 || line.length < second + 2) return undefined;
  // Tags may be several, separated by colons; the first says whether the line goes on.
  const third = line.indexOf(space, second + 1);
  const text = third < 0 ? Buffer.alloc(0) : line.subarray(third + 1);
  return { time: line.toString('latin1', 0, first), isPartial: line[second + 1] === partial, text };
}

import type { Readable } from 'node:stream';

/** Calls `write` with each complete line of a stream, and with the rest at its end. */
export function eachLine(stream: Readable, write: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) write(line);
  });
  stream.on('end', () => {
    if (rest !== '') write(rest);
  });
}

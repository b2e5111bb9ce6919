import { expect, test } from 'vitest';
import { childLog, type LogFormat, processLog } from './log.ts';

function logged(format: LogFormat, log: typeof processLog, line: string): string {
  let printed = '';
  log({ process: 'apiserver', format, print: (text) => (printed = text), now: () => new Date('2026-01-01T00:00:00Z') })(line);
  return printed;
}

const json = '{"time":"2026-01-01T00:00:00.000Z","process":"apiserver","message":"ready at \\"x\\""}';

test('prints lines as they are, or as JSON', () => {
  expect(logged('text', processLog, 'ready at "x"')).toBe('ready at "x"');
  expect(logged('json', processLog, 'ready at "x"')).toBe(json);
});

test('names the child whose line it is, once', () => {
  expect(logged('text', childLog, 'ready at "x"')).toBe('apiserver | ready at "x"');
  expect(logged('json', childLog, json)).toBe(json);
  expect(logged('json', childLog, 'ready at "x"')).toBe(json);
});

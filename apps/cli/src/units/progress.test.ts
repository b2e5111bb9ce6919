import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Progress } from './progress.ts';

function fakeStream(isTTY: boolean): { output: NodeJS.WriteStream; written: () => string } {
  let written = '';
  const write = (text: string): boolean => (written += text) !== '';
  return { output: { isTTY, columns: 40, write } as unknown as NodeJS.WriteStream, written: () => written };
}

test('a terminal has one line that changes, and is not wrapped', () => {
  const { output, written } = fakeStream(true);
  const progress = new Progress({ output });
  progress.show('Waiting');
  progress.show('Waiting');
  progress.show('x'.repeat(100), { isFleeting: true });
  progress.say('Done.');
  expect(written()).toBe(`\r\u001b[KWaiting\r\u001b[K${'x'.repeat(39)}\r\u001b[KDone.\n`);
});

test('elsewhere only states that last are told', async () => {
  const { output, written } = fakeStream(false);
  const progress = new Progress({ output, patience: 5 });
  progress.show('short');
  progress.show('Waiting: for a node');
  progress.show('50 %', { isFleeting: true });
  await sleep(30);
  progress.show('never told');
  progress.clear();
  await sleep(30);
  expect(written()).toBe('Waiting: for a node\n');
});

import { expect, test } from 'vitest';
import { refresh } from './refreshing.ts';

function record(isTerminal: boolean, answers: readonly (string | Error)[]): Promise<string> {
  const stop = new AbortController();
  let text = '';
  let at = 0;
  const running = refresh({
    look: () => {
      const answer = answers[at++]!;
      if (at === answers.length) stop.abort();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve([answer, 'end']);
    },
    isPassing: (error) => (error as Error).message === 'passing',
    isTerminal,
    write: (part) => (text += part),
    interval: 1,
    signal: stop.signal,
  });
  return running.then(() => text);
}

test('replaces what it showed on a terminal, and goes on after errors that pass', async () => {
  expect(await record(true, ['one', new Error('passing'), 'two'])).toBe(
    '\u001b[H\u001b[2Jone\nend\n\u001b[H\u001b[2Jpassing\n\u001b[H\u001b[2Jtwo\nend\n',
  );
});

test('separates tables by empty lines elsewhere, and ends with other errors', async () => {
  expect(await record(false, ['one', 'two'])).toBe('one\nend\n\ntwo\nend\n');
  await expect(record(false, ['one', new Error('lasting'), 'two'])).rejects.toThrow('lasting');
});

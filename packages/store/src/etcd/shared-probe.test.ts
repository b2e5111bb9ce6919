import { expect, it } from 'vitest';
import { SharedProbe } from './shared-probe.ts';

function makeProbe() {
  const sent: PromiseWithResolvers<number>[] = [];
  const probe = new SharedProbe(() => {
    const question = Promise.withResolvers<number>();
    sent.push(question);
    return question.promise;
  });
  return { sent, probe };
}

it('asks once for all callers who arrive during a request, after that request is answered', async () => {
  const { sent, probe } = makeProbe();
  const first = probe.ask();
  const second = probe.ask();
  const third = probe.ask();
  expect(sent).toHaveLength(1);
  sent[0]!.resolve(1);
  expect(await first).toBe(1);
  await Promise.resolve();
  expect(sent).toHaveLength(2);
  sent[1]!.resolve(2);
  expect(await second).toBe(2);
  expect(await third).toBe(2);
});

it('asks again after a failure', async () => {
  const { sent, probe } = makeProbe();
  const first = probe.ask();
  const second = probe.ask();
  sent[0]!.reject(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await new Promise(setImmediate);
  sent[1]!.resolve(2);
  expect(await second).toBe(2);
  const third = probe.ask();
  sent[2]!.resolve(3);
  expect(await third).toBe(3);
});

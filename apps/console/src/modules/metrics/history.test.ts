import { expect, test } from 'vitest';
import { seriesOf, withSample } from './history.ts';

test('keeps the samples of the span, each once', () => {
  let history = withSample([], { at: 10, values: { a: 1 } }, 60);
  history = withSample(history, { at: 10, values: { a: 9 } }, 60);
  history = withSample(history, { at: 40, values: { a: 2, b: 3 } }, 60);
  expect(withSample(history, { at: 75, values: {} }, 60).map(({ at }) => at)).toEqual([40, 75]);
  expect(seriesOf(history)).toEqual({
    times: [10, 40],
    series: [
      { label: 'a', values: [1, 2] },
      { label: 'b', values: [null, 3] },
    ],
  });
});

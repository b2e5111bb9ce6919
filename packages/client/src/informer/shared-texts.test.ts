import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SharedTexts } from './shared-texts.ts';

test('keeps every value unchanged', () => {
  const texts = new SharedTexts(5);
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify({ value });
      const copy: unknown = JSON.parse(text);
      texts.within(copy);
      expect(JSON.stringify(copy)).toBe(text);
    }),
  );
});

test('leaves a field named __proto__ alone', () => {
  const copy = JSON.parse('{"__proto__":"a text that is long enough","data":{"__proto__":{"x":"a text that is long enough"}}}') as object;
  new SharedTexts().within(copy);
  expect(JSON.stringify(copy)).toBe('{"__proto__":"a text that is long enough","data":{"__proto__":{"x":"a text that is long enough"}}}');
});

test('remembers each text once, and not too many', () => {
  const texts = new SharedTexts(10);
  for (let at = 0; at < 100; at++) texts.within({ name: 'the same all the time', list: ['the same all the time'] });
  expect(texts.size).toBe(1);
  for (let at = 0; at < 1000; at++) texts.of(`another one each time: ${at}`);
  expect(texts.size).toBeLessThanOrEqual(20);
});

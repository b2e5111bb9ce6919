import { expect, test } from 'vitest';
import { found, rank } from './find.ts';

test('all words have to occur, in any order and case', () => {
  expect(rank('UNIT train', 'train · GPU unit')).toBeDefined();
  expect(rank('unit serve', 'train · GPU unit')).toBeUndefined();
});

test('the beginning of a word counts more than its middle', () => {
  const choices = ['maintain', 'train', 'big train'];
  expect(found('train', choices, (choice) => choice)).toEqual(['train', 'big train']);
  expect(found('tain', ['stain', 'a tainted'], (choice) => choice)).toEqual(['a tainted', 'stain']);
});

test('an empty query keeps everything as it is', () => expect(found('', ['b', 'a'], (choice) => choice)).toEqual(['b', 'a']));

import type { KubeObject } from '@capstan/machinery';
import { expect, it } from 'vitest';
import { customPrinter } from './columns.ts';

const column = (jsonPath: string) => ({ name: 'a', type: 'string', format: '', description: '', priority: 0, jsonPath });
const object = (spec: unknown): KubeObject => ({ apiVersion: 'a/v1', kind: 'A', metadata: { name: 'one' }, spec }) as KubeObject;

it('limits the output of many columns that each print the whole object', () => {
  const printer = customPrinter(Array.from({ length: 1000 }, () => column('.spec')));
  const cells = printer.cells(object({ text: 'x'.repeat(100_000) }), new Date());
  expect(cells.length).toBe(1001);
  expect(cells.filter((cell) => cell !== null).length).toBe(12);
});

it('limits the work of many columns that each search a large object', () => {
  let looks = 0;
  const items = Array.from({ length: 1000 }, () => ({
    get a() {
      looks++;
      return 'x';
    },
  }));
  const printer = customPrinter(Array.from({ length: 1000 }, () => column(".spec[?(@.a=='y')].a")));
  expect(printer.cells(object(items), new Date()).filter((cell) => cell !== null)).toEqual(['one']);
  expect(looks).toBeLessThan(50_000);
});

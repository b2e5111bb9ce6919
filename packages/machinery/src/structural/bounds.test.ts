import { describe, expect, it } from 'vitest';
import { compileSchema } from './compiled.ts';

const list = (items: object) => compileSchema({ type: 'object', properties: { x: { type: 'array', items: items as never } } });

describe('whoever writes an object', () => {
  it('hears of the first thousand mistakes, without looking at the rest', () => {
    const seen: number[] = [];
    const items = Array.from({ length: 5000 }, (_, index) => ({
      get a() {
        seen.push(index);
        return 1;
      },
    }));
    const schema = list({ type: 'object', properties: { a: { type: 'string' } } });
    expect(schema.validate({ x: items }).length).toBe(1000);
    expect(Math.max(...seen)).toBe(999);
  });

  it('hears of the first thousand fields that are unknown; all are dropped', () => {
    const items = Array.from({ length: 5000 }, () => ({ a: 1 }));
    const object = { x: items };
    expect(list({ type: 'object' }).prune(object).length).toBe(1000);
    expect(object.x.every((item) => Object.keys(item).length === 0)).toBe(true);
  });

  it('cannot fill the memory with defaults', () => {
    const schema = list({ type: 'object', properties: { a: { type: 'string', default: 'x'.repeat(1000) } } });
    const few = { x: Array.from({ length: 1000 }, () => ({})) };
    expect(schema.applyDefaults(few)).toBe(true);
    expect(few.x.every((item) => 'a' in item)).toBe(true);
    const many = { x: Array.from({ length: 100_000 }, () => ({})) };
    expect(schema.applyDefaults(many)).toBe(false);
    expect(many.x.filter((item) => 'a' in item).length).toBeLessThan(3200);
  });

  it('cannot with those of nulls either', () => {
    const schema = list({ type: 'string', default: 'x'.repeat(1000) });
    expect(schema.applyDefaults({ x: Array.from({ length: 100_000 }, () => null) })).toBe(false);
  });
});

import { expect, it } from 'vitest';
import { measureAllocations } from './measure.ts';

it('measures grants of which none books a device twice', async () => {
  const rows = await measureAllocations({ nodes: 3, count: 12, clients: 4 });
  const valueIn = (what: string): number => rows.find((row) => row.what.endsWith(what))!.value;
  expect(valueIn('devices that were booked twice')).toBe(0);
  expect(valueIn('granted')).toBeGreaterThan(0);
}, 60_000);

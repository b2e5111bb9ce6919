import { expect, it } from 'vitest';
import { measurePlacement } from './measure.ts';

it('measures placements of which none books a device twice', () => {
  const rows = measurePlacement({ nodes: 130, count: 300 });
  const valueIn = (what: string): number => rows.find((row) => row.what.endsWith(what))!.value;
  expect(valueIn('devices that were booked twice')).toBe(0);
  expect(valueIn('gangs that were placed')).toBeGreaterThan(0);
  expect(valueIn('85 % full')).toBeGreaterThan(0);
});

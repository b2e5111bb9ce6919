import type { NodeUnitSpec } from '@capstan/api';

/** The number of a port that is given by its number or its name; undefined if there is no such port. */
export function portOf({ ports = [] }: Pick<NodeUnitSpec, 'ports'>, wanted: number | string): number | undefined {
  const text = String(wanted);
  const number = /^\d{1,5}$/.test(text) ? Number(text) : ports.find(({ name }) => name === text)?.port;
  return number !== undefined && number >= 1 && number <= 65535 ? number : undefined;
}

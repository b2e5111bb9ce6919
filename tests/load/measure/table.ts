import type { Measurement } from '../profiles/profile.ts';

export interface Column {
  readonly name: string;
  readonly measurements: readonly Measurement[];
}

/** A Markdown table: one row per measurement, one column per server, and the ratio of the last to the first. */
export function comparisonTable(columns: readonly Column[]): string {
  const [first, ...others] = columns;
  if (first === undefined) return '';
  const last = others.at(-1);
  const head = ['', ...columns.map((column) => column.name), ...(last === undefined ? [] : [`${last.name} / ${first.name}`])];
  const rows = first.measurements.map((measurement, row) => {
    const values = columns.map((column) => column.measurements[row]);
    return [measurement.what, ...values.map(formatted), ...(last === undefined ? [] : [ratio(measurement, last.measurements[row])])];
  });
  const widths = head.map((_, index) => Math.max(...[head, ...rows].map((row) => row[index]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index]!) : cell.padStart(widths[index]!))).join(' | ')} |`;
  const rule = `| ${widths.map((width, index) => (index === 0 ? '-'.repeat(width) : `${'-'.repeat(Math.max(1, width - 1))}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

export function formatted(measurement: Measurement | undefined): string {
  if (measurement === undefined || Number.isNaN(measurement.value)) return '–';
  const { value, unit } = measurement;
  if (unit === 'count') return String(value);
  if (unit === 'per second') return `${Math.round(value).toLocaleString('en-US')}/s`;
  return `${value >= 100 ? Math.round(value) : value.toPrecision(3)} ${unit}`;
}

function ratio(from: Measurement, to: Measurement | undefined): string {
  if (to === undefined || from.unit === 'count' || !(from.value > 0)) return '';
  return `${(to.value / from.value).toFixed(2)}×`;
}

import { Tooltip } from '@mantine/core';
import type { Cell } from './cells.ts';
import styles from './gpu-cells.module.css';

/** One square for each GPU: its colour is stronger with its utilisation. */
export function GpuCells({ cells }: { readonly cells: readonly Cell[] }) {
  return (
    <span className={styles['cells']} role="img" aria-label={summary(cells)}>
      {cells.map(({ uuid, state, utilization, text }) => (
        <Tooltip key={uuid} label={text} multiline maw={360}>
          <span className={styles['cell']} data-state={state}>
            {state === 'booked' && <span style={{ opacity: 0.25 + 0.75 * (utilization ?? 0.35) }} />}
          </span>
        </Tooltip>
      ))}
    </span>
  );
}

function summary(cells: readonly Cell[]): string {
  const counts = Map.groupBy(cells, ({ state }) => state);
  return [...counts].map(([state, of]) => `${of.length} ${state}`).join(', ') || 'no GPUs';
}

const legend: readonly (readonly [Cell['state'], string])[] = [
  ['free', 'free'],
  ['booked', 'booked, stronger with its utilisation'],
  ['cleaning', 'being cleaned'],
  ['degraded', 'degraded'],
  ['failed', 'failed or missing'],
];

export function GpuLegend() {
  return (
    <ul className={styles['legend']}>
      {legend.map(([state, words]) => (
        <li key={state}>
          <span className={styles['cell']} data-state={state} aria-hidden="true">
            {state === 'booked' && <span />}
          </span>
          {words}
        </li>
      ))}
    </ul>
  );
}

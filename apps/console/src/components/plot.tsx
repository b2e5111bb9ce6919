import { lazy, Suspense, useState } from 'react';
import styles from './plot.module.css';
import type { PlotProps } from './plot-canvas.tsx';
import { clockWords, colourOf, dayWords } from './plot-words.ts';

const Canvas = lazy(async () => ({ default: (await import('./plot-canvas.tsx')).PlotCanvas }));

/** Lines over time, with the values under the pointer, or the latest. The library is loaded with the first plot. */
export function Plot(props: PlotProps) {
  const { title, latest, times, series, format, bars = false } = props;
  const [pointed, setPointed] = useState<number>();
  const time = pointed === undefined ? undefined : times[pointed];
  const when = time === undefined ? undefined : bars ? dayWords(time) : clockWords(time, true);
  const wordsOf = (values: readonly (number | null)[]): string => {
    const value = values[when === undefined ? times.length - 1 : pointed!];
    return value === undefined || value === null ? '–' : format(value);
  };
  const [first] = series;
  const isSingle = series.length === 1 && first !== undefined;
  return (
    <figure className={styles['plot']}>
      <figcaption>
        <span>{title}</span>
        <span className={styles['latest']}>{when === undefined ? latest : isSingle ? `${when} · ${wordsOf(first.values)}` : when}</span>
      </figcaption>
      <Suspense fallback={<div className={styles['space']} />}>
        <Canvas {...props} onPoint={setPointed} />
      </Suspense>
      {!isSingle && (
        <ul className={styles['legend']}>
          {series.map(({ label, values }, index) => (
            <li key={label}>
              <span className={styles['swatch']} style={{ background: colourOf(index) }} aria-hidden="true" />
              {label} <span>{wordsOf(values)}</span>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

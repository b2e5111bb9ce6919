import { lazy, Suspense } from 'react';
import styles from './plot.module.css';
import type { PlotProps } from './plot-canvas.tsx';

const Canvas = lazy(async () => ({ default: (await import('./plot-canvas.tsx')).PlotCanvas }));

/** Lines over time. The library is loaded with the first plot. */
export function Plot(props: PlotProps) {
  return (
    <figure className={styles['plot']}>
      <figcaption>
        <span>{props.title}</span>
        <span className={styles['latest']}>{props.latest}</span>
      </figcaption>
      <Suspense fallback={<div className={styles['space']} />}>
        <Canvas {...props} />
      </Suspense>
    </figure>
  );
}

import styles from './meter.module.css';

/** How much of something is used. The number is always written beside the bar. */
export function Meter({ share, text }: { readonly share: number | undefined; readonly text: string }) {
  const tone = share === undefined || share < 0.8 ? 'good' : share < 0.95 ? 'warn' : 'bad';
  return (
    <span className={styles['meter']} data-tone={tone}>
      <span className={styles['bar']} aria-hidden="true">
        <span style={{ width: `${Math.round((share ?? 0) * 100)}%` }} />
      </span>
      {text}
    </span>
  );
}

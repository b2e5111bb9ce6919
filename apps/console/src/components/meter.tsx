import styles from './meter.module.css';

interface MeterProps {
  readonly share: number | undefined;
  readonly text: string;
  /** Whether a full bar is good: something is done, and not used up. */
  readonly isProgress?: boolean;
}

/** How much of something is used or done. The number is always written beside the bar. */
export function Meter({ share, text, isProgress = false }: MeterProps) {
  const tone = isProgress || share === undefined || share < 0.8 ? 'good' : share < 0.95 ? 'warn' : 'bad';
  return (
    <span className={styles['meter']} data-tone={tone}>
      <span className={styles['bar']} aria-hidden="true">
        <span style={{ width: `${Math.round((share ?? 0) * 100)}%` }} />
      </span>
      {text}
    </span>
  );
}

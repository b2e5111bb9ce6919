import styles from './status.module.css';

/** Good: nothing to do. Busy: something happens by itself. Warn: look at it. Bad: it failed. Idle: nothing runs. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A dot and a word: the colour never stands alone. */
export function Status({ tone, word }: { readonly tone: Tone; readonly word: string }) {
  return (
    <span className={styles['status']} data-tone={tone}>
      <span className={styles['dot']} aria-hidden="true" />
      {word}
    </span>
  );
}

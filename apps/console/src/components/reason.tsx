import type { ReactNode } from 'react';
import styles from './reason.module.css';
import type { Tone } from './status.tsx';

/** Says why something is as it is, and what can be done. */
export function ReasonBox({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <div className={styles['reason']} data-tone={tone}>
      {children}
    </div>
  );
}

import { Button, Loader } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';
import styles from './states.module.css';

/** Appears after a moment, so that quick answers do not flicker. */
export function Loading({ what = 'Loading' }: { readonly what?: string }) {
  return (
    <div className={styles['loading']} role="status">
      <Loader size={16} color="var(--text-faint)" />
      <span>{what}…</span>
    </div>
  );
}

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  /** The first thing to do. */
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div className={styles['notice']}>
      <Icon name={icon} size={22} className={styles['icon']!} />
      <h2>{title}</h2>
      {children !== undefined && <div className={styles['text']}>{children}</div>}
      {action}
    </div>
  );
}

/** The empty state of a part of a page: one sentence, with the first thing to do. */
export function Note({ children }: { readonly children: ReactNode }) {
  return <p className={styles['note']}>{children}</p>;
}

interface FailureProps {
  readonly title: string;
  /** The message of the server. */
  readonly detail?: string | undefined;
  /** The next thing to do. */
  readonly next: string;
  readonly onRetry?: (() => void) | undefined;
}

export function Failure({ title, detail, next, onRetry }: FailureProps) {
  return (
    <div className={styles['notice']} role="alert">
      <Icon name="warning" size={22} className={styles['bad']!} />
      <h2>{title}</h2>
      {detail !== undefined && <p className={styles['detail']}>{detail}</p>}
      <p className={styles['text']}>{next}</p>
      {onRetry !== undefined && (
        <Button variant="default" size="xs" leftSection={<Icon name="retry" size={14} />} onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

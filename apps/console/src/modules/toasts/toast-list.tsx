import { CloseButton } from '@mantine/core';
import { Icon } from '../../components/icon.tsx';
import styles from './toast-list.module.css';
import { dismiss, useToasts } from './toasts.ts';

export function Toasts() {
  const toasts = useToasts();
  return (
    <div className={styles['list']} role="status" aria-live="polite">
      {toasts.map(({ id, tone, text }) => (
        <div key={id} className={styles['toast']} data-tone={tone}>
          <Icon name={tone === 'good' ? 'check' : 'warning'} />
          <span>{text}</span>
          <CloseButton size="sm" aria-label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}

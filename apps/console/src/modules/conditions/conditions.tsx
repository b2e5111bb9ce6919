import type { Condition } from '@capstan/api';
import { Status } from '../../components/status.tsx';
import { Age } from '../format/age.tsx';
import styles from './conditions.module.css';

/** Conditions with their reasons: those that do not hold come first. */
export function Conditions({ conditions }: { readonly conditions: readonly Condition[] }) {
  const sorted = [...conditions].sort((one, other) => Number(one.status === 'True') - Number(other.status === 'True'));
  return (
    <ul className={styles['list']}>
      {sorted.map(({ type, status, reason, message, lastTransitionTime }) => (
        <li key={type}>
          <span className={styles['type']}>
            <Status tone={status === 'True' ? 'good' : status === 'False' ? 'warn' : 'idle'} word={type} />
          </span>
          <span className={styles['text']}>
            <span className={styles['reason']}>
              {status === 'True' && message === '' ? reason : `${reason}${message === '' ? '' : ': '}`}
            </span>
            {message}
          </span>
          <span className={styles['age']}>
            <Age of={lastTransitionTime} />
          </span>
        </li>
      ))}
    </ul>
  );
}

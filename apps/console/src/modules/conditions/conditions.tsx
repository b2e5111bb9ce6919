import type { Condition } from '@capstan/api';
import { Status } from '../../components/status.tsx';
import { Age } from '../format/age.tsx';
import styles from './conditions.module.css';

/** Conditions that describe something and are no trouble when they are false. */
const descriptions: ReadonlySet<string> = new Set(['InUse']);

/** Conditions with their reasons: those that do not hold come first. Once the object is over, they are no warnings any more. */
export function Conditions({ conditions, isOver = false }: { readonly conditions: readonly Condition[]; readonly isOver?: boolean }) {
  const toneOf = ({ type, status }: Pick<Condition, 'type' | 'status'>) =>
    status === 'True' ? 'good' : status === 'False' && !isOver && !descriptions.has(type) ? 'warn' : 'idle';
  const sorted = [...conditions].sort((one, other) => Number(one.status === 'True') - Number(other.status === 'True'));
  return (
    <ul className={styles['list']}>
      {sorted.map(({ type, status, reason, message, lastTransitionTime }) => (
        <li key={type}>
          <span className={styles['type']}>
            <Status tone={toneOf({ type, status })} word={type} />
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

import type { AppError } from '@capstan/api';
import { sentence } from '../format/format.ts';
import styles from './problem-list.module.css';
import { outputLines } from './state.ts';

interface ProblemListProps {
  readonly problems: readonly AppError[];
  /** When the platform tries again by itself; undefined if it does not. */
  readonly nextRetry?: string | undefined;
}

/** Problems with their place, the end of their output, and whether trying again helps. */
export function ProblemList({ problems, nextRetry }: ProblemListProps) {
  return (
    <ul className={styles['problems']}>
      {problems.map((problem, index) => {
        const { code, message, member, step, task, output } = problem;
        const place = [member, step].filter(Boolean).join(' · ');
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: problems have no identity, and their order is their importance.
          <li key={index} className={styles['problem']} data-tone={nextRetry === undefined ? 'bad' : 'warn'}>
            <p>
              <strong>{code}</strong> {place !== '' && <span className={styles['place']}>{place}</span>}
            </p>
            <p>{sentence(message)}</p>
            {output !== undefined && output.trim() !== '' && <pre className={styles['output']}>{outputLines(output).join('\n')}</pre>}
            <p className={styles['place']}>
              {retryWords(problem, nextRetry)}
              {task !== undefined && ` It was the task ${task}.`}
            </p>
          </li>
        );
      })}
    </ul>
  );
}

function retryWords({ retryable, userFixable }: AppError, nextRetry: string | undefined): string {
  if (nextRetry !== undefined) return `It is tried again by itself, ${nextRetry}.`;
  const again = retryable ? 'It is not tried again by itself; trying again may help.' : 'Trying again does not help.';
  return userFixable ? `${again} You can fix this.` : `${again} The owner of the platform can fix this.`;
}

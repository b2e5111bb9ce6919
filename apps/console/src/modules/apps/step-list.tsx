import type { AppStep } from '@capstan/api';
import { Status } from '../../components/status.tsx';
import { since } from '../format/format.ts';
import { useNow } from '../format/use-now.ts';
import { stepFace } from './state.ts';
import styles from './step-list.module.css';

interface StepListProps {
  readonly steps: readonly AppStep[];
  /** A plan has no states yet. */
  readonly isPlan?: boolean;
}

/** The steps of an operation. Those of one stage run side by side. */
export function StepList({ steps, isPlan = false }: StepListProps) {
  const stages = [...Map.groupBy(steps, ({ stage }) => stage)].sort(([one], [other]) => one - other);
  return (
    <ol className={styles['stages']}>
      {stages.map(([stage, group], index) => (
        <li key={stage} className={styles['stage']}>
          <span className={styles['number']}>{index + 1}</span>
          <ul className={styles['steps']}>
            {group.map((step) => (
              <li key={step.id} className={styles['step']} data-plan={isPlan || undefined}>
                {!isPlan && <Status {...stepFace(step)} />}
                <span className={styles['title']}>
                  {step.title}
                  {step.member !== undefined && <small>on {step.member}</small>}
                  {step.message !== undefined && <small className={styles['message']}>{step.message}</small>}
                </span>
                {!isPlan && <StepTime step={step} />}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

function StepTime({ step: { startedAt, finishedAt, attempts = 0 } }: { readonly step: AppStep }) {
  const now = useNow();
  if (startedAt === undefined) return null;
  const took = since(startedAt, finishedAt === undefined ? now : Date.parse(finishedAt));
  return <span className={styles['time']}>{attempts > 1 ? `${took}, attempt ${attempts}` : took}</span>;
}

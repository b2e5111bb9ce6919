import type { AppStep } from '@capstan/api';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { LongList } from '../../components/long-list.tsx';
import { Status } from '../../components/status.tsx';
import { since } from '../format/format.ts';
import { useNow } from '../format/use-now.ts';
import { stepFace } from './state.ts';
import styles from './step-list.module.css';

interface StepListProps {
  readonly steps: readonly AppStep[];
  /** A plan has no states yet. */
  readonly isPlan?: boolean;
  /** The name of the output of a step in addresses; undefined if it may not be read. */
  readonly outputOf?: OutputOf;
}

type OutputOf = (step: AppStep) => string | undefined;

/** The steps of an operation. Those of one stage run side by side. */
export function StepList({ steps, isPlan = false, outputOf }: StepListProps) {
  const inOrder = useMemo(() => steps.toSorted((one, other) => one.stage - other.stage), [steps]);
  return (
    <LongList of={inOrder} what="steps">
      {(shown) => <Stages steps={shown} isPlan={isPlan} outputOf={outputOf} />}
    </LongList>
  );
}

function Stages({
  steps,
  isPlan,
  outputOf,
}: Pick<StepListProps, 'steps'> & { readonly isPlan: boolean; readonly outputOf: OutputOf | undefined }) {
  return (
    <ol className={styles['stages']}>
      {[...Map.groupBy(steps, ({ stage }) => stage)].map(([stage, group], index) => (
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
                {!isPlan && (
                  <span className={styles['time']}>
                    <OutputLink step={step} output={outputOf?.(step)} />
                    <StepTime step={step} />
                  </span>
                )}
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
  return attempts > 1 ? `${took}, attempt ${attempts}` : took;
}

function OutputLink({ step: { title, member, node, task }, output }: { readonly step: AppStep; readonly output: string | undefined }) {
  if (output === undefined || node === undefined || task === undefined) return null;
  return (
    <Link to="." search={{ tab: 'logs', step: output }} aria-label={`Output of ${[title, member].filter(Boolean).join(' on ')}`}>
      Output
    </Link>
  );
}

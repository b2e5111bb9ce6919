import type { AppInstance, AppOperation } from '@capstan/api';
import { useState } from 'react';
import { LongList } from '../../components/long-list.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { ProblemList } from '../../modules/apps/problem-list.tsx';
import { operationFace } from '../../modules/apps/state.ts';
import { StepList } from '../../modules/apps/step-list.tsx';
import { outputId } from '../../modules/apps/step-outputs.ts';
import { useOperations } from '../../modules/apps/use-parts.ts';
import { Age } from '../../modules/format/age.tsx';
import { sentence, since } from '../../modules/format/format.ts';
import { useNow } from '../../modules/format/use-now.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import styles from './instance.module.css';

interface InstanceOperationsProps {
  readonly workspace: string;
  readonly instance: AppInstance;
  readonly canReadOutput: boolean;
}

/** Everything that was done with an instance, the newest first, with its steps. */
export function InstanceOperations({ canReadOutput, ...props }: InstanceOperationsProps) {
  const operations = useOperations(props);
  return (
    <FollowedView of={operations} what="operations">
      {(all) =>
        all.length === 0 ? (
          <Empty icon="more" title="No operations yet">
            The platform begins one when it deploys the instance.
          </Empty>
        ) : (
          <LongList of={all} what="operations">
            {(shown) => (
              <div className={styles['cards']}>
                {shown.map((operation, index) => (
                  <Operation key={operation.metadata.uid} operation={operation} isOpen={index === 0} canReadOutput={canReadOutput} />
                ))}
              </div>
            )}
          </LongList>
        )
      }
    </FollowedView>
  );
}

interface OperationProps {
  readonly operation: AppOperation;
  readonly isOpen: boolean;
  readonly canReadOutput: boolean;
}

function Operation({ operation, isOpen, canReadOutput }: OperationProps) {
  const { spec, status, metadata } = operation;
  const { state, progress } = status ?? {};
  const [isShown, setShown] = useState(isOpen);
  return (
    <details className={styles['card']} open={isOpen} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        <span className={styles['name']}>
          {sentence(spec.type)}
          {spec.member !== undefined && ` of ${spec.member}`}
          {spec.dryRun && ' (plan)'}
        </span>
        <Status {...operationFace(state)} />
        <span className={styles['soft']}>
          {progress !== undefined && progress.total > 0 && `${progress.completed} of ${progress.total} steps`}
        </span>
        <Duration operation={operation} />
        <span className={`${styles['soft']} ${styles['end']}`}>
          <Age of={metadata.creationTimestamp} /> ago
        </span>
      </summary>
      {isShown && <OperationBody operation={operation} canReadOutput={canReadOutput} />}
    </details>
  );
}

function OperationBody({ operation, canReadOutput }: Omit<OperationProps, 'isOpen'>) {
  const { spec, status } = operation;
  const { state, steps = [], errors = [], message, instructions } = status ?? {};
  return (
    <div className={styles['body']}>
      {message !== undefined && message !== '' && <span className={styles['soft']}>{sentence(message)}</span>}
      {instructions !== undefined && <span>{instructions}</span>}
      {errors.length > 0 && <ProblemList problems={errors} nextRetry={state === 'retrying' ? 'as its steps say' : undefined} />}
      {steps.length > 0 && (
        <StepList steps={steps} isPlan={spec.dryRun} outputOf={(step) => (canReadOutput ? outputId(operation, step) : undefined)} />
      )}
    </div>
  );
}

function Duration({ operation: { status } }: { readonly operation: AppOperation }) {
  const now = useNow();
  if (status?.startedAt === undefined) return null;
  const { startedAt, finishedAt } = status;
  return (
    <span className={styles['soft']}>
      {finishedAt === undefined ? `for ${since(startedAt, now)}` : `took ${since(startedAt, Date.parse(finishedAt))}`}
    </span>
  );
}

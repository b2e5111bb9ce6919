import { type AppOperationStatus, type AppStep, appOperationKind, finalOperationStates } from '@capstan/api';
import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import form from '../../components/form.module.css';
import { Section } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { type AppPlace, deployPlanned, dropPlan, planRest } from '../../modules/apps/actions.ts';
import { ProblemList } from '../../modules/apps/problem-list.tsx';
import { StepList } from '../../modules/apps/step-list.tsx';
import { count, sentence } from '../../modules/format/format.ts';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { useAction } from '../../modules/toasts/use-action.ts';
import styles from './plan-view.module.css';

interface PlanViewProps extends AppPlace {
  readonly instance: string;
  readonly operation: string;
  readonly onBack: () => void;
}

/** The steps that a deployment would take. The person deploys it or goes back to the form. */
export function PlanView({ workspace, namespace, instance, operation, onBack }: PlanViewProps) {
  const place = { workspace, namespace };
  const navigate = useNavigate();
  const found = useLiveObject(appOperationKind, { ...place, name: operation });
  const deploy = useAction(() => deployPlanned(place, instance, operation), {
    done: `${instance} is being deployed`,
    onDone: () => void navigate({ to: '/w/$workspace/apps/$namespace/$name', params: { workspace, namespace, name: instance } }),
  });
  const cancel = useAction(() => dropPlan(place, instance), { onDone: onBack });
  const isLeaving = deploy.isPending || deploy.isSuccess;
  return (
    <FollowedView of={found} what="operations">
      {(content) => {
        if (content === undefined && !isLeaving && !cancel.isPending)
          return (
            <Empty icon="app" title="The plan is no longer there" action={<Button onClick={onBack}>Back to the form</Button>}>
              A plan that nobody deploys is deleted after a few minutes.
            </Empty>
          );
        const { state = 'pending' } = content?.status ?? {};
        const isPlanned = finalOperationStates.has(state);
        return (
          <div className={styles['plan']}>
            {isPlanned ? <Plan {...place} instance={instance} status={content?.status ?? {}} /> : <Loading what={`Planning ${instance}`} />}
            <div className={form['buttons']}>
              {state === 'succeeded' && (
                <Button size="sm" loading={isLeaving} onClick={() => deploy.mutate()}>
                  Deploy
                </Button>
              )}
              <Button variant="default" size="sm" loading={cancel.isPending} disabled={isLeaving} onClick={() => cancel.mutate()}>
                {state === 'failed' ? 'Back to the form' : 'Cancel'}
              </Button>
            </div>
          </div>
        );
      }}
    </FollowedView>
  );
}

interface PlanProps extends AppPlace {
  readonly instance: string;
  readonly status: AppOperationStatus;
}

function Plan({ instance, status, ...place }: PlanProps) {
  const { state, steps = [], errors = [], message, progress } = status;
  if (state !== 'succeeded')
    return (
      <Section title="It cannot be deployed like this">
        {errors.length > 0 ? (
          <ProblemList problems={errors} />
        ) : (
          <p className={form['fault']}>{sentence(message ?? 'the plan has failed')}</p>
        )}
      </Section>
    );
  const all = Math.max(steps.length, progress?.total ?? 0);
  return (
    <Section title="Plan" note={`${count(all, 'step')}. Steps beside one number run side by side. Nothing was done yet.`}>
      <StepList steps={steps} isPlan />
      {steps.length < all && <RestOfPlan {...place} instance={instance} shown={steps.length} all={all} />}
    </Section>
  );
}

interface RestProps extends AppPlace {
  readonly instance: string;
  /** How many steps are shown already. */
  readonly shown: number;
  readonly all: number;
}

/** An operation has room for a part of a long plan, so the steps after it are planned when somebody wants to see them. */
function RestOfPlan({ instance, shown, all, ...place }: RestProps) {
  const [steps, setSteps] = useState<readonly AppStep[]>();
  const plan = useAction(async () => setSteps(await planRest(place, { instance, skipSteps: shown })));
  if (steps === undefined)
    return (
      <div className={form['buttons']}>
        <Button variant="default" loading={plan.isPending} onClick={() => plan.mutate()}>
          Plan the steps after these
        </Button>
        <span className={form['hint']}>
          The first {shown.toLocaleString('en')} of {count(all, 'step')} are planned here.
        </span>
      </div>
    );
  const known = shown + steps.length;
  return (
    <>
      <StepList steps={steps} isPlan />
      {steps.length > 0 && known < all && <RestOfPlan {...place} instance={instance} shown={known} all={all} />}
    </>
  );
}

import type { AppInstance, AppOperation } from '@capstan/api';
import { Select } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { mostOptions } from '../../components/most-options.ts';
import { Empty } from '../../components/states.tsx';
import { operationFace, stepFace } from '../../modules/apps/state.ts';
import { chosenOutput, outputsOf, type StepOutput } from '../../modules/apps/step-outputs.ts';
import { useOperations } from '../../modules/apps/use-parts.ts';
import { sentence } from '../../modules/format/format.ts';
import { LogView } from '../../modules/logs/log-view.tsx';
import { stepLogPath } from '../../modules/logs/paths.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import styles from './instance.module.css';

interface InstanceLogsProps {
  readonly workspace: string;
  readonly instance: AppInstance;
}

/** The output of the steps of an instance, live: of the one in the address, or of the one that people look for. */
export function InstanceLogs(props: InstanceLogsProps) {
  const operations = useOperations(props);
  const { step } = useSearch({ strict: false });
  return (
    <FollowedView of={operations} what="operations">
      {(all) => {
        const outputs = outputsOf(all.filter(({ spec }) => !spec.dryRun));
        const chosen = chosenOutput(outputs, step);
        return chosen === undefined ? (
          <Empty icon="terminal" title="There is no output yet">
            It appears here as soon as a step runs a program on a node.
          </Empty>
        ) : (
          <div className={styles['logs']}>
            <StepChoice outputs={outputs} chosen={chosen} />
            <StepLog workspace={props.workspace} output={chosen} />
          </div>
        );
      }}
    </FollowedView>
  );
}

function StepChoice({ outputs, chosen }: { readonly outputs: readonly StepOutput[]; readonly chosen: StepOutput }) {
  const navigate = useNavigate();
  const groups = [...Map.groupBy(outputs, ({ operation }) => operation)].map(([operation, own]) => ({
    group: operationWords(operation),
    items: own.map(({ id, step }) => ({
      value: id,
      label: `${[step.title, step.member].filter(Boolean).join(' · ')}: ${stepFace(step).word.toLowerCase()}`,
    })),
  }));
  return (
    <Select
      label="Step"
      data={groups}
      value={chosen.id}
      allowDeselect={false}
      searchable
      limit={mostOptions}
      maw={560}
      onChange={(id) => void navigate({ to: '.', search: { tab: 'logs', ...(id !== null && { step: id }) }, replace: true })}
    />
  );
}

/** `Repair of lab-gpu-10: failed (lab-repair-2)`. */
function operationWords({ metadata, spec, status }: AppOperation): string {
  const what = `${sentence(spec.type)}${spec.member === undefined ? '' : ` of ${spec.member}`}`;
  return `${what}: ${operationFace(status?.state).word.toLowerCase()} (${metadata.name})`;
}

function StepLog({ workspace, output: { id, operation, step } }: { readonly workspace: string; readonly output: StepOutput }) {
  const { name = '', namespace = '' } = operation.metadata;
  const path = (): string => stepLogPath({ workspace, namespace, name, step: step.id });
  const run = `${namespace}/${id} ${step.task} ${step.attempts ?? 0} ${step.startedAt ?? ''}`;
  return (
    <LogView
      name={`${name}-${step.id}`}
      source={{ path, isRunning: step.state === 'running', run }}
      missing="The step has printed nothing yet, or its output is not kept any more."
    />
  );
}

import { type NodeTask, nodeNamespace, nodeTaskKind, platformWorkspace } from '@capstan/api';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Note } from '../../components/states.tsx';
import { Status, type Tone } from '../../components/status.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { Age } from '../../modules/format/age.tsx';
import { count } from '../../modules/format/format.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { LogView } from '../../modules/logs/log-view.tsx';
import { taskLogPath } from '../../modules/logs/paths.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import styles from './node-tasks.module.css';

const taskTones: Readonly<Record<string, Tone>> = {
  Pending: 'warn',
  Running: 'busy',
  Succeeded: 'good',
  Failed: 'bad',
  Cancelled: 'idle',
  Unknown: 'warn',
};

const phaseOf = ({ status }: NodeTask): string => status?.phase ?? 'Pending';

const nameColumn: Column<NodeTask> = { id: 'name', header: 'Task', value: ({ metadata }) => metadata.name };
/** Leads to the output of the task, below the table. */
const linkedNameColumn: Column<NodeTask> = {
  ...nameColumn,
  cell: ({ metadata: { name = '' } }) => (
    <Link to="." search={{ task: name }} resetScroll={false}>
      {name}
    </Link>
  ),
};

const columns: readonly Column<NodeTask>[] = [
  { id: 'type', header: 'Type', value: ({ spec }) => spec.type, wideOnly: true },
  {
    id: 'phase',
    header: 'Phase',
    value: phaseOf,
    cell: (task) => <Status tone={taskTones[phaseOf(task)] ?? 'idle'} word={phaseOf(task)} />,
  },
  { id: 'message', header: 'Message', value: ({ status }) => status?.error?.message ?? status?.step ?? '', grow: true },
  {
    id: 'age',
    header: 'Age',
    value: ({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''),
    cell: ({ metadata }) => <Age of={metadata.creationTimestamp} />,
    align: 'end',
  },
];
const newestFirst = { id: 'age', desc: true };

/** The tasks of a node, and the output of the one in the address. */
export function NodeTasks({ node }: { readonly node: string }) {
  const namespace = nodeNamespace(node);
  const tasks = useLive(nodeTaskKind, { workspace: platformWorkspace, namespace });
  const canRead = useCan({ workspace: platformWorkspace, namespace, verb: 'get', kind: nodeTaskKind, subresource: 'log' });
  const { task: wanted } = useSearch({ strict: false });
  const rows = useMemo(() => (tasks.state === 'content' ? tasks.content : []), [tasks]);
  const shown = canRead ? rows.find(({ metadata }) => metadata.name === wanted) : undefined;
  return (
    <FollowedView of={tasks} what="tasks">
      {() =>
        rows.length === 0 ? (
          <Note>No tasks. Run one with capstan task run {node} gpu.inspect.</Note>
        ) : (
          <>
            <DataTable
              label="Tasks"
              columns={[canRead ? linkedNameColumn : nameColumn, ...columns]}
              rows={rows}
              idOf={({ metadata }) => metadata.uid!}
              sortBy={newestFirst}
            />
            <p className="visually-hidden">{count(rows.length, 'task')}</p>
            {shown !== undefined && <TaskLog node={node} task={shown} />}
          </>
        )
      }
    </FollowedView>
  );
}

function TaskLog({ node, task }: { readonly node: string; readonly task: NodeTask }) {
  const { name = '', uid } = task.metadata;
  const path = (): string => taskLogPath({ node, task: name });
  const run = `${uid} ${task.status?.attempt ?? task.spec.attempt} ${task.status?.startedAt ?? ''}`;
  return (
    <div className={styles['output']}>
      <h3>Output of {name}</h3>
      <LogView
        name={name}
        source={{ path, isRunning: phaseOf(task) === 'Running', run }}
        missing="The task has printed nothing yet, or its output is not kept any more."
      />
    </div>
  );
}

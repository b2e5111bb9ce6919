import type { GPUUnit } from '@capstan/api';
import { Checkbox } from '@mantine/core';
import { useState } from 'react';
import { LogView } from '../logs/log-view.tsx';
import { podLogPath } from '../logs/paths.ts';
import { isRunning } from './state.ts';

interface UnitLogsProps {
  readonly workspace: string;
  readonly unit: GPUUnit;
  readonly container: string;
}

/** The output of a unit, of its Pod. */
export function UnitLogs({ workspace, unit, container }: UnitLogsProps) {
  const { name = '', namespace = '' } = unit.metadata;
  const [previous, setPrevious] = useState(false);
  const path = (since: string): string => podLogPath({ workspace, namespace, name, container, previous }, since);
  return (
    <LogView
      name={name}
      source={{ path, isRunning: !previous && isRunning(unit), run: `${namespace}/${name} ${runOf(unit)} ${previous}` }}
      options={
        (unit.status?.restarts ?? 0) > 0 && (
          <Checkbox
            size="xs"
            label="Before the last restart"
            checked={previous}
            onChange={(event) => setPrevious(event.currentTarget.checked)}
          />
        )
      }
    />
  );
}

/** Another run of the program has another output. */
function runOf({ status }: GPUUnit): string {
  return `${status?.run ?? 0}.${status?.restarts ?? 0}.${status?.startedAt ?? ''}`;
}

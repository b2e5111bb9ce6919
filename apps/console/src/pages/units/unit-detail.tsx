import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { Tabs } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { Page } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { EventList } from '../../modules/events/event-list.tsx';
import { podKind } from '../../modules/kube/core-kinds.ts';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { LogView } from '../../modules/logs/log-view.tsx';
import { FollowedView } from '../../modules/problems/views.tsx';
import { isRunning, stateOf } from '../../modules/units/state.ts';
import { UnitActions } from '../../modules/units/unit-actions.tsx';
import { UnitMetrics } from '../../modules/units/unit-metrics.tsx';
import { UnitOverview } from './unit-overview.tsx';

const Terminal = lazy(async () => ({ default: (await import('../../modules/terminal/terminal.tsx')).Terminal }));

/** The container of the Pod that shows a unit. */
const container = 'unit';

export function UnitDetail() {
  const { workspace = '', namespace = '', name = '' } = useParams({ strict: false });
  const found = useLiveObject(gpuUnitKind, { workspace, namespace, name });
  const unit = found.state === 'content' ? found.content : undefined;
  const navigate = useNavigate();
  return (
    <Page
      title={name}
      above={
        <Link to="/w/$workspace/units" params={{ workspace }}>
          GPU units
        </Link>
      }
      beside={unit !== undefined && <Status {...stateOf(unit)} />}
      actions={
        unit !== undefined && (
          <UnitActions
            workspace={workspace}
            unit={unit}
            onDeleted={() => void navigate({ to: '/w/$workspace/units', params: { workspace } })}
          />
        )
      }
    >
      <FollowedView of={found} what="GPU units">
        {(content) =>
          content === undefined ? (
            <Empty icon="unit" title={`There is no unit ${name}`}>
              It was deleted, or never existed in the namespace {namespace} of {workspace}.
            </Empty>
          ) : (
            <UnitTabs workspace={workspace} unit={content} />
          )
        }
      </FollowedView>
    </Page>
  );
}

function UnitTabs({ workspace, unit }: { readonly workspace: string; readonly unit: GPUUnit }) {
  const { name = '', namespace = '' } = unit.metadata;
  const { tab = 'overview' } = useSearch({ strict: false });
  const navigate = useNavigate();
  const place = { workspace, namespace };
  const [canRead, canEnter, canGetExec, canMeasure] = useCanEach([
    { ...place, verb: 'get', kind: podKind, subresource: 'log', name },
    { ...place, verb: 'create', kind: podKind, subresource: 'exec', name },
    { ...place, verb: 'get', kind: podKind, subresource: 'exec', name },
    { ...place, verb: 'get', kind: { group: 'metrics.k8s.io', resource: 'pods' }, name },
  ]);
  const hasShell = canEnter === true && canGetExec === true;
  const show = (next: string | null): void =>
    void navigate({
      to: '/w/$workspace/units/$namespace/$name',
      params: { workspace, namespace, name },
      search: { tab: next ?? 'overview' },
      replace: true,
    });
  return (
    <Tabs value={tab} onChange={show} keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="overview">Overview</Tabs.Tab>
        {canRead && <Tabs.Tab value="logs">Logs</Tabs.Tab>}
        {hasShell && <Tabs.Tab value="terminal">Terminal</Tabs.Tab>}
        {canMeasure && <Tabs.Tab value="metrics">Metrics</Tabs.Tab>}
        <Tabs.Tab value="events">Events</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="overview">
        <UnitOverview workspace={workspace} unit={unit} />
      </Tabs.Panel>
      <Tabs.Panel value="logs">
        <LogView
          source={{
            ...place,
            pod: name,
            container,
            run: `${unit.status?.run ?? 0}.${unit.status?.restarts ?? 0}.${unit.status?.startedAt ?? ''}`,
          }}
          hasPrevious={(unit.status?.restarts ?? 0) > 0}
        />
      </Tabs.Panel>
      <Tabs.Panel value="terminal">
        {isRunning(unit) ? (
          <Suspense fallback={<Loading what="Loading the terminal" />}>
            <Terminal {...place} pod={name} container={container} />
          </Suspense>
        ) : (
          <Empty icon="terminal" title="No shell while the unit does not run">
            Start the unit; a shell can be opened as soon as its program runs.
          </Empty>
        )}
      </Tabs.Panel>
      <Tabs.Panel value="metrics">
        <UnitMetrics {...place} name={name} />
      </Tabs.Panel>
      <Tabs.Panel value="events">
        <EventList {...place} kind={gpuUnitKind.kind} name={name} />
      </Tabs.Panel>
    </Tabs>
  );
}

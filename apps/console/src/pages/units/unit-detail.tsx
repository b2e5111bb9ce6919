import { allocationKind, type GPUUnit, gpuUnitKind } from '@capstan/api';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useMemo } from 'react';
import { LinkedTabs } from '../../components/linked-tabs.tsx';
import { Page } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useAccessEach } from '../../modules/access/use-can.ts';
import { EventList } from '../../modules/events/event-list.tsx';
import { YamlLink } from '../../modules/explorer/yaml-link.tsx';
import { podKind } from '../../modules/kube/core-kinds.ts';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { podShellPath } from '../../modules/terminal/paths.ts';
import { isRunning, stateOf } from '../../modules/units/state.ts';
import { UnitActions } from '../../modules/units/unit-actions.tsx';
import { UnitLogs } from '../../modules/units/unit-logs.tsx';
import { UnitMetrics } from '../../modules/units/unit-metrics.tsx';
import { UnitOverview } from './unit-overview.tsx';

const FileBrowser = lazy(async () => ({ default: (await import('../../modules/files/file-browser.tsx')).FileBrowser }));
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
          <>
            <YamlLink workspace={workspace} namespace={namespace} name={name} kind={gpuUnitKind} />
            <UnitActions
              workspace={workspace}
              unit={unit}
              onDeleted={() => void navigate({ to: '/w/$workspace/units', params: { workspace } })}
            />
          </>
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
  const place = { workspace, namespace };
  const rights = useAccessEach([
    { ...place, verb: 'get', kind: podKind, subresource: 'log', name },
    { ...place, verb: 'create', kind: podKind, subresource: 'exec', name },
    { ...place, verb: 'get', kind: podKind, subresource: 'exec', name },
    { ...place, verb: 'get', kind: { group: 'metrics.k8s.io', resource: 'pods' }, name },
  ]);
  const [canRead, canEnter, canGetExec, canMeasure] = rights.map((access) => access === 'allowed');
  // The tab in the address may be one that only some may see.
  if (rights.includes('unknown')) return <Loading />;
  const tabs = [
    { isOffered: true, id: 'overview', label: 'Overview', content: () => <UnitOverview workspace={workspace} unit={unit} /> },
    {
      isOffered: canRead,
      id: 'logs',
      label: 'Logs',
      content: () => <UnitLogs workspace={workspace} unit={unit} container={container} />,
    },
    { isOffered: canEnter && canGetExec, id: 'terminal', label: 'Terminal', content: () => <Shell workspace={workspace} unit={unit} /> },
    { isOffered: canEnter && canGetExec, id: 'files', label: 'Files', content: () => <Files workspace={workspace} unit={unit} /> },
    { isOffered: canMeasure, id: 'metrics', label: 'Metrics', content: () => <UnitMetrics {...place} name={name} /> },
    { isOffered: true, id: 'events', label: 'Events', content: () => <UnitEvents workspace={workspace} unit={unit} /> },
  ];
  return <LinkedTabs tabs={tabs.filter(({ isOffered }) => isOffered)} />;
}

/** The events of the unit, of the Pod that shows it, and of its allocation. */
function UnitEvents({ workspace, unit }: { readonly workspace: string; readonly unit: GPUUnit }) {
  const { name = '', namespace = '' } = unit.metadata;
  const { allocation } = unit.status ?? {};
  const own = allocation === undefined ? [] : [{ kind: allocationKind.kind, name: allocation }];
  const objects = [{ kind: gpuUnitKind.kind, name }, { kind: 'Pod', name }, ...own];
  return <EventList workspace={workspace} namespace={namespace} objects={objects} />;
}

function Shell({ workspace, unit }: { readonly workspace: string; readonly unit: GPUUnit }) {
  const { name = '', namespace = '' } = unit.metadata;
  if (!isRunning(unit))
    return (
      <Empty icon="terminal" title="No shell while the unit does not run">
        Start the unit; a shell can be opened as soon as its program runs.
      </Empty>
    );
  return (
    <Suspense fallback={<Loading what="Loading the terminal" />}>
      <Terminal path={podShellPath({ workspace, namespace, pod: name, container })} />
    </Suspense>
  );
}

function Files({ workspace, unit }: { readonly workspace: string; readonly unit: GPUUnit }) {
  const { name = '', namespace = '' } = unit.metadata;
  const place = useMemo(() => ({ workspace, namespace, pod: name, container }), [workspace, namespace, name]);
  if (!isRunning(unit))
    return (
      <Empty icon="storage" title="No files while the unit does not run">
        Start the unit to see its files. Files that should outlive it belong into a storage.
      </Empty>
    );
  return (
    <Suspense fallback={<Loading />}>
      <FileBrowser place={place} />
    </Suspense>
  );
}

import { gpuUnitKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty, Note } from '../../components/states.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { usePerson } from '../../modules/session/person.ts';
import { useWorkloads } from '../../modules/workloads/use-workloads.ts';
import { WorkloadRows } from '../../modules/workloads/workload-rows.tsx';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';
import { NodeAttention } from './node-attention.tsx';
import { WorkspacesBelow } from './workspaces-below.tsx';

export function Home() {
  const workspace = useWorkspace();
  const workloads = useWorkloads(workspace);
  const units = useLive(gpuUnitKind, { workspace });
  const canCreate = useCan({ workspace, namespace: 'default', verb: 'create', kind: gpuUnitKind });
  const { isPlatformOwner } = usePerson();
  const hasNoUnits = workloads.state === 'error' && workloads.status.code === 404;
  const create = canCreate && units.state === 'content' && (
    <Button component={Link} to={`/w/${workspace}/units/new`} leftSection={<Icon name="plus" size={13} />}>
      New unit
    </Button>
  );
  return (
    <Page title="Home" actions={create}>
      {isPlatformOwner && <NodeAttention workspace={workspace} />}
      {hasNoUnits && <WorkspacesBelow workspace={workspace} />}
      {!hasNoUnits && (
        <FollowedView of={workloads} what="GPU units">
          {({ attention, active, over }) =>
            attention.length + active.length + over.length === 0 ? (
              <Empty icon="home" title="Nothing runs here yet" action={create}>
                {canCreate
                  ? 'Start a program on GPUs. This page then says how it is, and what to do if it waits.'
                  : 'Programs of this workspace appear here.'}
              </Empty>
            ) : (
              <>
                <Section title="Needs attention" count={attention.length}>
                  {attention.length === 0 ? (
                    <Note>Nothing. Everything that should run does.</Note>
                  ) : (
                    <WorkloadRows workspace={workspace} rows={attention} />
                  )}
                </Section>
                <Section title="Active" count={active.length}>
                  {active.length === 0 ? <Note>Nothing runs at the moment.</Note> : <WorkloadRows workspace={workspace} rows={active} />}
                </Section>
                {over.length > 0 && (
                  <Section title="Ended lately" count={over.length}>
                    <WorkloadRows workspace={workspace} rows={over.slice(0, 8)} />
                  </Section>
                )}
              </>
            )
          }
        </FollowedView>
      )}
    </Page>
  );
}

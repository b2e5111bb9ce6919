import { type FleetQuota, fleetQuotaKind, platformWorkspace } from '@capstan/api';
import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/page.tsx';
import { Empty, Note } from '../../components/states.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { Limits } from '../../modules/allocations/limits.tsx';
import { kubeClient } from '../../modules/kube/client.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { limitedBy, limitsWords } from '../../modules/quotas/words.ts';
import { useAction } from '../../modules/toasts/use-action.ts';
import { QuotaDialog } from './quota-dialog.tsx';

const platform = { workspace: platformWorkspace };

export function Quotas({ workspace, isOwner }: { readonly workspace: string; readonly isOwner: boolean }) {
  return (
    <>
      <Section title="Limits that hold here">
        <Limits
          workspace={workspace}
          empty={<Note>No limit is known for {workspace}. Limits appear with the first order of a workspace that has some.</Note>}
        />
      </Section>
      {isOwner && <AllQuotas workspace={workspace} />}
    </>
  );
}

function AllQuotas({ workspace }: { readonly workspace: string }) {
  const quotas = useLive(fleetQuotaKind, platform);
  const [canCreate, canUpdate, canDelete] = useCanEach(
    ['create', 'update', 'delete'].map((verb) => ({ ...platform, verb, kind: fleetQuotaKind })),
  );
  const [isAdding, setAdding] = useState(false);
  const [changed, setChanged] = useState<FleetQuota>();
  const [leaving, setLeaving] = useState<FleetQuota>();
  const remove = useAction(
    (quota: FleetQuota) => kubeClient(platformWorkspace).resource<FleetQuota>(fleetQuotaKind).delete(quota.metadata.name!),
    {
      done: (quota) => `${limitedBy(quota)} is no longer limited by ${quota.metadata.name}`,
    },
  );
  const columns = useMemo(
    (): readonly Column<FleetQuota>[] => [
      { id: 'workspace', header: 'Workspace', value: limitedBy },
      { id: 'limits', header: 'At most', value: ({ spec }) => limitsWords(spec.limits), grow: true },
      ...(canUpdate || canDelete
        ? [
            {
              id: 'actions',
              header: '',
              value: () => undefined,
              cell: (quota: FleetQuota) => (
                <div className={form['rowButtons']}>
                  {canUpdate && (
                    <Button variant="default" size="compact-xs" onClick={() => setChanged(quota)}>
                      Change
                    </Button>
                  )}
                  {canDelete && (
                    <Button variant="default" size="compact-xs" onClick={() => setLeaving(quota)}>
                      Delete
                    </Button>
                  )}
                </div>
              ),
              align: 'end' as const,
            },
          ]
        : []),
    ],
    [canUpdate, canDelete],
  );
  const add = canCreate && (
    <Button leftSection={<Icon name="plus" size={13} />} onClick={() => setAdding(true)}>
      Limit a workspace
    </Button>
  );
  return (
    <Section title="All quotas of the platform" actions={add}>
      <FollowedView of={quotas} what="quotas">
        {(rows) =>
          rows.length === 0 ? (
            <Empty icon="tenancy" title="No workspace is limited">
              A quota limits a workspace and everything below it. An order beyond it waits; nothing is taken from anybody.
            </Empty>
          ) : (
            <DataTable label="Quotas" columns={columns} rows={rows} idOf={({ metadata }) => metadata.name!} />
          )
        }
      </FollowedView>
      {isAdding && <QuotaDialog workspace={workspace} onClose={() => setAdding(false)} />}
      {changed !== undefined && <QuotaDialog workspace={workspace} quota={changed} onClose={() => setChanged(undefined)} />}
      {leaving !== undefined && (
        <Confirm
          title={`Delete the quota of ${limitedBy(leaving)}?`}
          action="Delete"
          onConfirm={() => remove.mutate(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          Orders that wait because of it go on.
        </Confirm>
      )}
    </Section>
  );
}

import { type FleetLimits, type FleetQuota, fleetQuotaKind, platformWorkspace } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { Button, NumberInput, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/page.tsx';
import { Empty, Note } from '../../components/states.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { Limits } from '../../modules/allocations/limits.tsx';
import { kubeClient } from '../../modules/kube/client.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { limitedBy, limitsWords, modelsIn } from '../../modules/quotas/words.ts';
import { useAction } from '../../modules/toasts/use-action.ts';

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
  const [canCreate, canDelete] = useCanEach(['create', 'delete'].map((verb) => ({ ...platform, verb, kind: fleetQuotaKind })));
  const [isAdding, setAdding] = useState(false);
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
      ...(canDelete
        ? [
            {
              id: 'actions',
              header: '',
              value: () => undefined,
              cell: (quota: FleetQuota) => (
                <Button variant="default" size="compact-xs" onClick={() => setLeaving(quota)}>
                  Delete
                </Button>
              ),
              align: 'end' as const,
            },
          ]
        : []),
    ],
    [canDelete],
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
      {isAdding && <AddQuota workspace={workspace} onClose={() => setAdding(false)} />}
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

/** Limits that are amounts, each with its label and an example. */
const amounts: readonly (readonly [keyof FleetLimits, string, string])[] = [
  ['storage', 'Storage', '10Ti'],
  ['gpuMemory', 'GPU memory', '640Gi'],
  ['cpu', 'Cores', '64'],
  ['memory', 'Memory', '1Ti'],
];

function AddQuota({ workspace, onClose }: { readonly workspace: string; readonly onClose: () => void }) {
  const [path, setPath] = useState(workspace);
  const [gpus, setGpus] = useState<number | string>('');
  const [allocations, setAllocations] = useState<number | string>('');
  const [modelText, setModelText] = useState('');
  const [amountTexts, setAmountTexts] = useState<Readonly<Partial<Record<keyof FleetLimits, string>>>>({});
  const models = modelsIn(modelText);
  const given = Object.entries(amountTexts).filter(([, text]) => text !== '');
  const limits = {
    ...Object.fromEntries(given),
    ...(gpus !== '' && { gpus: Number(gpus) }),
    ...(allocations !== '' && { allocations: Number(allocations) }),
    ...(models !== undefined && Object.keys(models).length > 0 && { models }),
  };
  const isGood = path !== '' && models !== undefined && given.every(([, text]) => isQuantity(text)) && Object.keys(limits).length > 0;
  const create = useAction(
    () => {
      const quota = {
        apiVersion: `${fleetQuotaKind.group}/${fleetQuotaKind.version}`,
        kind: fleetQuotaKind.kind,
        metadata: { generateName: `${path.replaceAll(':', '-')}-` },
        spec: { workspace: path, limits },
      } as unknown as FleetQuota;
      return kubeClient(platformWorkspace).resource<FleetQuota>(fleetQuotaKind).create(quota);
    },
    { done: `${path} is limited`, onDone: onClose },
  );
  return (
    <FormDialog
      title="Limit a workspace"
      action="Limit"
      isDisabled={!isGood}
      isPending={create.isPending}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Workspace"
        description="Such as root:acme, or user:ann for a home."
        value={path}
        onChange={(event) => setPath(event.currentTarget.value.trim())}
        data-autofocus
      />
      <NumberInput label="GPUs of all models" placeholder="no limit" min={0} value={gpus} onChange={setGpus} />
      <TextInput
        label="GPUs by model"
        placeholder="H100=8, H200=4"
        value={modelText}
        error={models === undefined ? 'Such as H100=8, H200=4' : undefined}
        onChange={(event) => setModelText(event.currentTarget.value)}
      />
      <div className={form['row']}>
        {amounts.map(([field, label, example]) => {
          const text = amountTexts[field] ?? '';
          return (
            <TextInput
              key={field}
              label={label}
              placeholder={`no limit, or ${example}`}
              value={text}
              error={text === '' || isQuantity(text) ? undefined : `An amount, such as ${example}`}
              onChange={(event) => setAmountTexts({ ...amountTexts, [field]: event.currentTarget.value.trim() })}
            />
          );
        })}
      </div>
      <NumberInput label="Allocations" placeholder="no limit" min={0} value={allocations} onChange={setAllocations} />
    </FormDialog>
  );
}

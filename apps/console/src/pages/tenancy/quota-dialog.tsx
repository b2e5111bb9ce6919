import { type FleetQuota, fleetQuotaKind, platformWorkspace } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { NumberInput, TextInput } from '@mantine/core';
import { useState } from 'react';
import { FormDialog } from '../../components/dialog.tsx';
import form from '../../components/form.module.css';
import { kubeClient } from '../../modules/kube/client.ts';
import { type AmountField, draftOf, limitsIn, type QuotaDraft } from '../../modules/quotas/draft.ts';
import { limitedBy, modelsIn } from '../../modules/quotas/words.ts';
import { useAction } from '../../modules/toasts/use-action.ts';

/** Limits that are amounts, each with its label and an example. */
const amounts: readonly (readonly [AmountField, string, string])[] = [
  ['storage', 'Storage', '10Ti'],
  ['gpuMemory', 'GPU memory', '640Gi'],
  ['cpu', 'Cores', '64'],
  ['memory', 'Memory', '1Ti'],
];

interface QuotaDialogProps {
  readonly workspace: string;
  /** The one to change; undefined for a new one. */
  readonly quota?: FleetQuota;
  readonly onClose: () => void;
}

/** The limits of a workspace. An empty field is no limit. */
export function QuotaDialog({ workspace, quota, onClose }: QuotaDialogProps) {
  const [path, setPath] = useState(quota === undefined ? workspace : limitedBy(quota));
  const [draft, setDraft] = useState(() => draftOf(quota?.spec.limits ?? {}));
  const change = (part: Partial<QuotaDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const limits = limitsIn(draft);
  const put = useAction(
    () => {
      const quotas = kubeClient(platformWorkspace).resource<FleetQuota>(fleetQuotaKind);
      if (quota !== undefined) return quotas.update({ ...quota, spec: { ...quota.spec, limits: limits! } });
      return quotas.create({
        apiVersion: `${fleetQuotaKind.group}/${fleetQuotaKind.version}`,
        kind: fleetQuotaKind.kind,
        metadata: { generateName: `${path.replaceAll(':', '-')}-` },
        spec: { workspace: path, limits },
      } as unknown as FleetQuota);
    },
    { done: `${path} is limited`, onDone: onClose },
  );
  return (
    <FormDialog
      title={quota === undefined ? 'Limit a workspace' : `Change the limits of ${path}`}
      action={quota === undefined ? 'Limit' : 'Change'}
      isDisabled={path === '' || limits === undefined}
      isPending={put.isPending}
      onSubmit={() => put.mutate()}
      onClose={onClose}
    >
      {quota === undefined ? (
        <TextInput
          label="Workspace"
          description="Such as root:acme, or user:ann for a home."
          value={path}
          onChange={(event) => setPath(event.currentTarget.value.trim())}
          data-autofocus
        />
      ) : (
        <p className={form['hint']}>Orders that have their devices keep them, also beyond a lower limit.</p>
      )}
      <NumberInput
        label="GPUs of all models"
        placeholder="no limit"
        min={0}
        value={draft.gpus}
        onChange={(gpus) => change({ gpus })}
        {...(quota !== undefined && { 'data-autofocus': true })}
      />
      <TextInput
        label="GPUs by model"
        placeholder="H100=8, H200=4"
        value={draft.models}
        error={modelsIn(draft.models) === undefined ? 'Such as H100=8, H200=4' : undefined}
        onChange={(event) => change({ models: event.currentTarget.value })}
      />
      <div className={form['row']}>
        {amounts.map(([field, label, example]) => {
          const text = draft[field];
          return (
            <TextInput
              key={field}
              label={label}
              placeholder={`no limit, or ${example}`}
              value={text}
              error={text === '' || isQuantity(text) ? undefined : `An amount, such as ${example}`}
              onChange={(event) => change({ [field]: event.currentTarget.value.trim() })}
            />
          );
        })}
      </div>
      <NumberInput
        label="Allocations"
        placeholder="no limit"
        min={0}
        value={draft.allocations}
        onChange={(allocations) => change({ allocations })}
      />
    </FormDialog>
  );
}

import { type Offering, offeringKind, platformWorkspace } from '@capstan/api';
import { Button, Checkbox, NumberInput, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/page.tsx';
import { Note } from '../../components/states.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { kubeClient } from '../../modules/kube/client.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { emptyOffering, faultIn, type OfferingDraft, offeringOf } from '../../modules/offerings/draft.ts';
import { offeringWords } from '../../modules/offerings/words.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { useAction } from '../../modules/toasts/use-action.ts';

const columns: readonly Column<Offering>[] = [
  { id: 'name', header: 'Name', value: ({ metadata }) => metadata.name },
  { id: 'words', header: 'Gives', value: offeringWords, grow: true },
];

const deletingColumn = (onDelete: (offering: Offering) => void): Column<Offering> => ({
  id: 'actions',
  header: '',
  value: () => undefined,
  cell: (offering) => (
    <Button variant="default" size="compact-xs" aria-label={`Delete ${offering.metadata.name}`} onClick={() => onDelete(offering)}>
      Delete
    </Button>
  ),
  align: 'end',
});
const byName = { id: 'name' };

/** Parts of nodes that can be ordered. Owners of the platform offer more. */
export function Offerings({ workspace }: { readonly workspace: string }) {
  const offerings = useLive(offeringKind, { workspace });
  const [canOffer, canDelete] = useCanEach(
    ['create', 'delete'].map((verb) => ({ workspace: platformWorkspace, verb, kind: offeringKind })),
  );
  const [isOffering, setOffering] = useState(false);
  const [leaving, setLeaving] = useState<Offering>();
  const remove = useAction(
    ({ metadata }: Offering) => kubeClient(platformWorkspace).resource<Offering>(offeringKind).delete(metadata.name!),
    { done: ({ metadata }) => `${metadata.name} is not offered any more` },
  );
  const shown = useMemo(() => (canDelete ? [...columns, deletingColumn(setLeaving)] : columns), [canDelete]);
  const offer = canOffer && (
    <Button variant="default" leftSection={<Icon name="plus" size={13} />} onClick={() => setOffering(true)}>
      New offering
    </Button>
  );
  return (
    <Section title="Offerings" note="Parts of nodes that can be ordered here." actions={offer}>
      <FollowedView of={offerings} what="offerings">
        {(rows) =>
          rows.length === 0 ? (
            <Note>
              Nothing is offered yet.{' '}
              {canOffer
                ? 'Offer a part of your nodes, so that others can order it.'
                : 'Units can ask for their own amounts. The owner of the platform can offer more.'}
            </Note>
          ) : (
            <DataTable label="Offerings" columns={shown} rows={rows} idOf={({ metadata }) => metadata.name!} sortBy={byName} />
          )
        }
      </FollowedView>
      {isOffering && <NewOffering onClose={() => setOffering(false)} />}
      {leaving !== undefined && (
        <Confirm
          title={`Delete the offering ${leaving.metadata.name}?`}
          action="Delete"
          onConfirm={() => remove.mutate(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          Nobody can order it any more, and orders of it that wait stay in the queue. Orders that have their devices keep them.
        </Confirm>
      )}
    </Section>
  );
}

function NewOffering({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState(emptyOffering);
  const change = (part: Partial<OfferingDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const fault = faultIn(draft);
  const create = useAction(() => kubeClient(platformWorkspace).resource<Offering>(offeringKind).create(offeringOf(draft)), {
    done: `${draft.name} is offered to everybody`,
    onDone: onClose,
  });
  return (
    <FormDialog
      title="New offering"
      action="Offer"
      isDisabled={fault !== undefined}
      isPending={create.isPending}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        placeholder="h100-4"
        value={draft.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        data-autofocus
      />
      <div className={form['row']}>
        <NumberInput label="GPUs" min={0} max={1024} value={draft.gpus} onChange={(gpus) => change({ gpus: Number(gpus) || 0 })} />
        <TextInput
          label="Model"
          placeholder="any"
          value={draft.model}
          onChange={(event) => change({ model: event.currentTarget.value.trim() })}
        />
      </div>
      <Checkbox
        label="Connected by NVLink"
        checked={draft.isLinked}
        disabled={draft.gpus < 2}
        onChange={(event) => change({ isLinked: event.currentTarget.checked })}
      />
      <Checkbox
        label="A whole node, and nobody else on it"
        checked={draft.isWhole}
        onChange={(event) => change({ isWhole: event.currentTarget.checked })}
      />
      <div className={form['row']}>
        <TextInput
          label="Cores"
          placeholder="the share of the GPUs"
          disabled={draft.isWhole}
          value={draft.cpu}
          onChange={(event) => change({ cpu: event.currentTarget.value.trim() })}
        />
        <TextInput
          label="Memory"
          placeholder="the share of the GPUs"
          disabled={draft.isWhole}
          value={draft.memory}
          onChange={(event) => change({ memory: event.currentTarget.value.trim() })}
        />
      </div>
      {fault !== undefined && draft.name !== '' && <p className={form['fault']}>{fault}</p>}
    </FormDialog>
  );
}

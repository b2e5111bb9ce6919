import { NumberInput, SegmentedControl, TextInput } from '@mantine/core';
import form from '../../components/form.module.css';
import { OfferingSelect } from '../../modules/offerings/offering-select.tsx';
import type { UnitFields } from './unit-fields.ts';

const waysToAsk = [
  { value: 'offering', label: 'An offering' },
  { value: 'resources', label: 'My own amounts' },
];

export function ResourceFields({ workspace, draft, faults, change }: UnitFields) {
  return (
    <fieldset className={form['group']}>
      <legend>Resources</legend>
      <SegmentedControl
        size="xs"
        data={waysToAsk}
        value={draft.by}
        onChange={(by) => change({ by: by as typeof draft.by })}
        w="fit-content"
      />
      {draft.by === 'offering' ? (
        <OfferingSelect
          workspace={workspace}
          value={draft.offering || null}
          error={faults.offering}
          onChange={(offering) => change({ offering: offering ?? '' })}
        >
          Ask for your own amounts, or let the owner of the platform create an offering.
        </OfferingSelect>
      ) : (
        <div className={form['row']}>
          <NumberInput label="GPUs" min={0} max={1024} value={draft.gpus} onChange={(gpus) => change({ gpus: Number(gpus) || 0 })} />
          <TextInput
            label="Model"
            placeholder="any"
            disabled={draft.gpus === 0}
            value={draft.model}
            onChange={(event) => change({ model: event.currentTarget.value })}
          />
          <TextInput label="Cores" value={draft.cpu} error={faults.cpu} onChange={(event) => change({ cpu: event.currentTarget.value })} />
          <TextInput
            label="Memory"
            value={draft.memory}
            error={faults.memory}
            onChange={(event) => change({ memory: event.currentTarget.value })}
          />
        </div>
      )}
      <NumberInput
        label="Nodes"
        description="The program runs on each of them, all or none."
        min={1}
        max={1024}
        value={draft.nodes}
        onChange={(nodes) => change({ nodes: Math.max(1, Number(nodes) || 1) })}
        styles={{ wrapper: { maxWidth: 180 } }}
      />
    </fieldset>
  );
}

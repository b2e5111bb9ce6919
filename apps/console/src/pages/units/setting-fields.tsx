import { gpuStorageKind } from '@capstan/api';
import { Checkbox, Select, TextInput } from '@mantine/core';
import form from '../../components/form.module.css';
import { mostOptions } from '../../components/most-options.ts';
import { Rows } from '../../components/rows.tsx';
import { useLive } from '../../modules/live/use-live.ts';
import type { UnitFields } from './unit-fields.ts';

const policies = [
  { value: 'Never', label: 'Never' },
  { value: 'OnFailure', label: 'When it fails' },
  { value: 'Always', label: 'Always' },
];

/** Everything that most units can do without. */
export function SettingFields(fields: UnitFields) {
  const { draft, faults, change } = fields;
  return (
    <>
      <fieldset className={form['group']}>
        <legend>Environment</legend>
        <Rows rows={draft.env} empty={{ name: '', value: '' }} what="variable" fault={faults.env} onChange={(env) => change({ env })}>
          {({ name, value }, set) => (
            <>
              <TextInput
                aria-label="Name of the variable"
                placeholder="NAME"
                value={name}
                onChange={(event) => set({ name: event.currentTarget.value })}
              />
              <TextInput
                aria-label="Its value"
                placeholder="value"
                value={value}
                onChange={(event) => set({ value: event.currentTarget.value })}
              />
            </>
          )}
        </Rows>
      </fieldset>
      <fieldset className={form['group']}>
        <legend>Ports</legend>
        <Rows
          rows={draft.ports}
          empty={{ name: 'http', port: '8080' }}
          what="port"
          fault={faults.ports}
          onChange={(ports) => change({ ports })}
        >
          {({ name, port }, set) => (
            <>
              <TextInput
                aria-label="Name of the port"
                placeholder="http"
                value={name}
                onChange={(event) => set({ name: event.currentTarget.value })}
              />
              <TextInput
                aria-label="Its number"
                inputMode="numeric"
                value={port}
                onChange={(event) => set({ port: event.currentTarget.value })}
              />
            </>
          )}
        </Rows>
      </fieldset>
      <Mounts {...fields} />
      <fieldset className={form['group']}>
        <legend>Lifetime</legend>
        <div className={form['row']}>
          <Select
            label="Restart"
            data={policies}
            value={draft.restartPolicy}
            allowDeselect={false}
            onChange={(policy) => change({ restartPolicy: policy as typeof draft.restartPolicy })}
          />
          <TextInput
            label="Stop after"
            placeholder="no limit"
            value={draft.maxDuration}
            error={faults.maxDuration}
            onChange={(event) => change({ maxDuration: event.currentTarget.value })}
          />
          <TextInput
            label="Stop when idle for"
            placeholder="never"
            value={draft.idleTimeout}
            error={faults.idleTimeout}
            onChange={(event) => change({ idleTimeout: event.currentTarget.value })}
          />
        </div>
      </fieldset>
    </>
  );
}

function Mounts({ workspace, namespace, draft, faults, change }: UnitFields) {
  const storages = useLive(gpuStorageKind, { workspace, namespace });
  const names = storages.state === 'content' ? storages.content.map(({ metadata }) => metadata.name!) : [];
  if (names.length === 0 && draft.mounts.length === 0) return null;
  return (
    <fieldset className={form['group']}>
      <legend>Storages</legend>
      <Rows
        rows={draft.mounts}
        empty={{ storage: names[0] ?? '', path: '/data', readOnly: false }}
        what="storage"
        fault={faults.mounts}
        onChange={(mounts) => change({ mounts })}
      >
        {({ storage, path, readOnly }, set) => (
          <>
            <Select
              aria-label="Storage"
              data={names}
              value={storage || null}
              searchable
              limit={mostOptions}
              onChange={(chosen) => set({ storage: chosen ?? '' })}
            />
            <TextInput aria-label="Path inside the unit" value={path} onChange={(event) => set({ path: event.currentTarget.value })} />
            <Checkbox mt={8} label="Read only" checked={readOnly} onChange={(event) => set({ readOnly: event.currentTarget.checked })} />
          </>
        )}
      </Rows>
    </fieldset>
  );
}

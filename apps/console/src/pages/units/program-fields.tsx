import { Textarea, TextInput } from '@mantine/core';
import form from '../../components/form.module.css';
import type { UnitFields } from './unit-fields.ts';

export function ProgramFields({ draft, faults, change }: UnitFields) {
  return (
    <fieldset className={form['group']}>
      <legend>Program</legend>
      <TextInput
        label="Container image"
        description="Without one, the command runs on the file system of the node, which it can only read."
        placeholder="registry.example.com/team/train:1"
        value={draft.image}
        onChange={(event) => change({ image: event.currentTarget.value })}
      />
      <Textarea
        label="Command"
        description="Words as in a shell; nothing is expanded. With an image, it may be empty."
        placeholder="python3 train.py --epochs 3"
        autosize
        minRows={2}
        maxRows={8}
        value={draft.command}
        error={faults.command}
        onChange={(event) => change({ command: event.currentTarget.value })}
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
      />
    </fieldset>
  );
}

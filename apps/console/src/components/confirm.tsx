import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormDialog } from './dialog.tsx';

interface ConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  /** The verb on the button. */
  readonly action: string;
  /** Has to be typed, for actions that cannot be undone and hurt others. */
  readonly typed?: string | undefined;
  readonly isDangerous?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function Confirm({ title, children, action, typed, isDangerous = true, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState('');
  return (
    <FormDialog
      title={title}
      action={action}
      isDangerous={isDangerous}
      isActionFocused={typed === undefined}
      isDisabled={typed !== undefined && text !== typed}
      onSubmit={() => {
        onConfirm();
        onClose();
      }}
      onClose={onClose}
    >
      <div>{children}</div>
      {typed !== undefined && (
        <TextInput
          label={`Type ${typed} to confirm`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
      )}
    </FormDialog>
  );
}

import { Button, Modal, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import styles from './confirm.module.css';
import { useReturnFocus } from './use-return-focus.ts';

interface ConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  /** The verb on the button. */
  readonly action: string;
  /** Has to be typed, for actions that cannot be undone and hurt others. */
  readonly typed?: string;
  readonly isDangerous?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function Confirm({ title, children, action, typed, isDangerous = true, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState('');
  useReturnFocus();
  return (
    <Modal opened onClose={onClose} title={title} centered size="md">
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
          onClose();
        }}
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
        <div className={styles['buttons']}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            {...(isDangerous && { color: 'red' })}
            disabled={typed !== undefined && text !== typed}
            {...(typed === undefined && { 'data-autofocus': true })}
          >
            {action}
          </Button>
        </div>
      </form>
    </Modal>
  );
}

import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import form from './form.module.css';
import { useReturnFocus } from './use-return-focus.ts';

interface DialogProps {
  readonly title: string;
  readonly size?: 'md' | 'xl';
  /** Only a button closes it, because its content cannot be had again. */
  readonly isKept?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that is in the document only while it is open. The focus then returns to where it was. */
export function Dialog({ title, size = 'md', isKept = false, onClose, children }: DialogProps) {
  useReturnFocus();
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      centered
      size={size}
      closeOnClickOutside={!isKept}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </Modal>
  );
}

interface FormDialogProps extends DialogProps {
  /** The verb on the button. */
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly isPending?: boolean;
  /** Enter does it, because there is nothing to fill in. */
  readonly isActionFocused?: boolean;
  readonly onSubmit: () => void;
}

/** A dialog with a form and its two buttons. */
export function FormDialog({
  action,
  isDangerous = false,
  isDisabled = false,
  isPending = false,
  isActionFocused = false,
  onSubmit,
  children,
  ...dialog
}: FormDialogProps) {
  return (
    <Dialog {...dialog}>
      <form
        className={form['group']}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
        <div className={form['endButtons']}>
          <Button variant="default" onClick={dialog.onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            {...(isDangerous && { color: 'red' })}
            disabled={isDisabled}
            loading={isPending}
            {...(isActionFocused && { 'data-autofocus': true })}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

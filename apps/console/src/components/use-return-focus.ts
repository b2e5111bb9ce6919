import { useEffect, useState } from 'react';

/** Gives the focus back to where it was before a dialog appeared, for dialogs that are in the document only while they are open. */
export function useReturnFocus(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // After the dialog has left the document: until then, it keeps the focus.
      setTimeout(() => {
        if (before instanceof HTMLElement && before.isConnected && document.activeElement === document.body) before.focus();
      });
    },
    [before],
  );
}

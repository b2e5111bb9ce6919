import { useSyncExternalStore } from 'react';

/** The same width as in the style sheets. */
const narrow = matchMedia('(max-width: 720px)');

function subscribe(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

/** Whether the screen is that of a phone. */
export const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => narrow.matches);

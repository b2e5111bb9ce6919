import { useSyncExternalStore } from 'react';

export interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Errors stay until somebody closes them. */
export function toast(tone: Toast['tone'], text: string): void {
  const id = ++lastId;
  set([...toasts.slice(-3), { id, tone, text }]);
  if (tone === 'good') setTimeout(() => dismiss(id), 5000);
}

export function dismiss(id: number): void {
  set(toasts.filter((one) => one.id !== id));
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
}

import { type ReactNode, useEffect } from 'react';

let locks = 0;

/**
 * Stands in for the library of the same name, which Mantine's dialogs use: that one adds style elements at run time, which the policy of the pages forbids. The page behind a
 * dialog does not scroll.
 */
export function RemoveScroll({ enabled = true, children }: { readonly enabled?: boolean; readonly children?: ReactNode }) {
  useEffect(() => {
    if (!enabled) return;
    const { style } = document.documentElement;
    locks++;
    style.overflow = 'hidden';
    return () => {
      if (--locks === 0) style.removeProperty('overflow');
    };
  }, [enabled]);
  return <div>{children}</div>;
}

RemoveScroll.classNames = { zeroRight: '', fullWidth: '' };

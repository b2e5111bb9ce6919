import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { addressOf, folderAt } from './listing.ts';

/** The folder that is shown. It is in the address, so that links lead to it and the browser goes back to the one before. */
export function useFolder(root: string, start: string): readonly [folder: string, open: (folder: string) => void] {
  const { folder: named } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [outside, setOutside] = useState<{ readonly folder: string; readonly from: string | undefined }>();
  const open = useCallback(
    (folder: string): void => {
      const address = addressOf(root, folder);
      setOutside(address === undefined ? { folder, from: named } : undefined);
      if (address !== undefined)
        void navigate({ to: '.', search: (before: object) => ({ ...before, folder: address }), resetScroll: false });
    },
    [root, named, navigate],
  );
  // The browser went back or forth since.
  const isOutside = outside !== undefined && outside.from === named;
  return [isOutside ? outside.folder : (folderAt(root, named) ?? start), open];
}

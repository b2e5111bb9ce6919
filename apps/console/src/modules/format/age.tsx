import { dateTime, since } from './format.ts';
import { useNow } from './use-now.ts';

/** How long ago something was; the exact time when pointed at. */
export function Age({ of }: { readonly of: string | null | undefined }) {
  const now = useNow();
  return (
    <time dateTime={of ?? ''} title={dateTime(of)}>
      {since(of, now)}
    </time>
  );
}

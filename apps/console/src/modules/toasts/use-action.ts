import { useMutation } from '@tanstack/react-query';
import { messageOf, toast } from './toasts.ts';

/** Something that a button does. It says how it went; the page changes by itself, because it is live. */
export function useAction<T = void>(
  act: (input: T) => Promise<unknown>,
  { done, onDone }: { readonly done?: string | ((input: T) => string); readonly onDone?: (input: T) => void } = {},
) {
  return useMutation({
    mutationFn: act,
    onSuccess: (_result, input) => {
      if (done !== undefined) toast('good', typeof done === 'string' ? done : done(input));
      onDone?.(input);
    },
    onError: (error) => toast('bad', messageOf(error)),
  });
}

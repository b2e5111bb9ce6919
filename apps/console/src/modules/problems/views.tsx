import type { ReactNode } from 'react';
import { Failure, Loading } from '../../components/states.tsx';
import type { Followed } from '../live/protocol.ts';
import { requestFailed } from '../live/use-live.ts';
import { problemOf, problemOfStatus } from './problem.ts';

interface FollowedViewProps<T> {
  readonly of: Followed<T>;
  /** The plural for people, such as `GPU units`. */
  readonly what: string;
  readonly children: (content: T) => ReactNode;
}

/** Loading, error and content of something that is followed. The content decides when it is empty. */
export function FollowedView<T>({ of, what, children }: FollowedViewProps<T>) {
  if (of.state === 'loading') return <Loading what={`Loading ${what}`} />;
  if (of.state === 'content') return children(of.content);
  const problem = problemOfStatus(of.status, what);
  return <Failure {...problem} onRetry={problem.isRetriable ? requestFailed : undefined} />;
}

interface AskedViewProps<T> {
  readonly of: { readonly data: T | undefined; readonly error: unknown; readonly refetch: () => unknown };
  readonly what: string;
  readonly children: (content: T) => ReactNode;
}

/** The same for something that is asked for once. */
export function AskedView<T>({ of, what, children }: AskedViewProps<T>) {
  if (of.data !== undefined) return children(of.data);
  if (of.error === null || of.error === undefined) return <Loading what={`Loading ${what}`} />;
  const problem = problemOf(of.error, what);
  return <Failure {...problem} onRetry={problem.isRetriable ? () => void of.refetch() : undefined} />;
}

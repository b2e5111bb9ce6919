import { type AppInstance, type AppMember, type AppOperation, appMemberKind, appOperationKind } from '@capstan/api';
import { useMemo } from 'react';
import { type LiveItems, useLive } from '../live/use-live.ts';

interface InstanceOf {
  readonly workspace: string;
  readonly instance: AppInstance;
}

function ofInstance<T extends AppMember | AppOperation>(items: LiveItems<T>, name: string): LiveItems<T> {
  return items.state === 'content' ? { state: 'content', content: items.content.filter(({ spec }) => spec.instance === name) } : items;
}

export function useMembers({ workspace, instance }: InstanceOf): LiveItems<AppMember> {
  const { name = '', namespace = '' } = instance.metadata;
  const members = useLive(appMemberKind, { workspace, namespace });
  return useMemo(() => ofInstance<AppMember>(members, name), [members, name]);
}

const began = ({ metadata }: AppOperation): string => metadata.creationTimestamp ?? '';

/** The newest first. */
export function byAge(one: AppOperation, other: AppOperation): number {
  return (
    (other.status?.sequence ?? Number.MAX_VALUE) - (one.status?.sequence ?? Number.MAX_VALUE) || began(other).localeCompare(began(one))
  );
}

export function useOperations({ workspace, instance }: InstanceOf): LiveItems<AppOperation> {
  const { name = '', namespace = '' } = instance.metadata;
  const operations = useLive(appOperationKind, { workspace, namespace });
  return useMemo(() => {
    const own = ofInstance<AppOperation>(operations, name);
    return own.state === 'content' ? { state: 'content', content: own.content.toSorted(byAge) } : own;
  }, [operations, name]);
}

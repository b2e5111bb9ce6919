import { gpuUnitKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useCan } from '../access/use-can.ts';
import { usePerson } from '../session/person.ts';
import type { Advice } from './advice.ts';

interface AdviceLinkProps {
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
  readonly advice: Advice;
  /** The page on which the workload is shown. */
  readonly page?: 'units' | 'apps';
  /** The page on which the button is has no need for a link to itself. */
  readonly isOnDetail?: boolean;
}

/** Leads to the place where something can be done. */
export function AdviceLink({ workspace, namespace, name, advice, page = 'units', isOnDetail = false }: AdviceLinkProps) {
  const { isPlatformOwner } = usePerson();
  const canCreate = useCan({ workspace, namespace, verb: 'create', kind: gpuUnitKind });
  const detail = `/w/${workspace}/${page}/${namespace}/${name}`;
  const target = {
    logs: `${detail}?tab=logs`,
    detail: isOnDetail ? undefined : detail,
    queue: `/w/${workspace}/allocations`,
    limits: `/w/${workspace}/tenancy?tab=quotas`,
    workspace: `/w/${workspace}/tenancy`,
    storage: `/w/${workspace}/storages`,
    fleet: isPlatformOwner ? `/w/${workspace}/fleet` : undefined,
    new: canCreate ? `/w/${workspace}/units/new` : undefined,
  }[advice.place];
  if (target === undefined) return null;
  return (
    <Button component={Link} to={target} variant="default" size="compact-xs">
      {advice.action}
    </Button>
  );
}

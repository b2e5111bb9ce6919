import { allocationKind } from '@capstan/api';
import { Link } from '@tanstack/react-router';

interface AllocationLinkProps {
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
}

const { group, version, resource } = allocationKind;

/** Leads to an allocation, which has no page of its own but that of every object. */
export function AllocationLink({ workspace, namespace, name }: AllocationLinkProps) {
  return (
    <Link
      to="/w/$workspace/api/$group/$version/$resource/$namespace/$name"
      params={{ workspace, group, version, resource, namespace, name }}
    >
      {name}
    </Link>
  );
}

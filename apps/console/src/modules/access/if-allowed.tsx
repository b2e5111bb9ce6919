import type { ReactNode } from 'react';
import { Empty, Loading } from '../../components/states.tsx';
import type { Access } from './use-can.ts';

interface IfAllowedProps {
  readonly access: Access;
  /** The thing that the person may not do, such as `create units`. */
  readonly what: string;
  readonly workspace: string;
  readonly children: ReactNode;
}

/** A form, for those who may send it: nobody should fill in fields in vain. */
export function IfAllowed({ access, what, workspace, children }: IfAllowedProps) {
  if (access === 'unknown') return <Loading what="Asking for your rights" />;
  if (access === 'allowed') return children;
  return (
    <Empty icon="tenancy" title={`You may not ${what} in ${workspace}`}>
      Ask an administrator of the workspace for the role user, or switch to another workspace.
    </Empty>
  );
}

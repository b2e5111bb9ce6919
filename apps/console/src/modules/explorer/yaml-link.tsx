import type { KindReference } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { groupInPath } from './kinds.ts';

interface YamlLinkProps {
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
  readonly kind: Pick<KindReference, 'group' | 'version' | 'resource'>;
}

/** Leads to the whole object as YAML, for everything that has no button. */
export function YamlLink({ workspace, namespace, name, kind: { group, version, resource } }: YamlLinkProps) {
  return (
    <Button component={Link} to={`/w/${workspace}/api/${groupInPath(group)}/${version}/${resource}/${namespace}/${name}`} variant="default">
      YAML
    </Button>
  );
}

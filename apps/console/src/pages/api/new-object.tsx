import { resourceForKind } from '@capstan/client/browser';
import type { KubeObject } from '@capstan/machinery/objects';
import { Link, useNavigate } from '@tanstack/react-router';
import { Page } from '../../components/page.tsx';
import { IfAllowed } from '../../modules/access/if-allowed.tsx';
import { useWriteAccess } from '../../modules/access/use-can.ts';
import { DocumentError } from '../../modules/explorer/document.ts';
import { groupInPath } from '../../modules/explorer/kinds.ts';
import { ObjectEditor } from '../../modules/explorer/object-editor.tsx';
import { kubeClient } from '../../modules/kube/client.ts';
import { toast } from '../../modules/toasts/toasts.ts';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';

const example = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: default
data:
  level: info
`;

/** Creates or updates the object, as kubectl apply does on the server. */
async function applyIn(workspace: string, object: KubeObject, dryRun: boolean): Promise<KubeObject> {
  const client = kubeClient(workspace);
  const type = await resourceForKind(client, object.apiVersion, object.kind);
  if (type === undefined) throw new DocumentError(`${workspace} has no kind ${object.kind} in ${object.apiVersion}`);
  const namespace = type.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
  return client
    .resource<KubeObject>(type)
    .in(namespace)
    .apply(object, { fieldManager: 'capstan-console', fieldValidation: 'Strict', dryRun });
}

export function NewObject() {
  const workspace = useWorkspace();
  const navigate = useNavigate();
  const access = useWriteAccess(workspace);
  const open = async (object: KubeObject): Promise<void> => {
    const type = await resourceForKind(kubeClient(workspace), object.apiVersion, object.kind);
    const { name = '', namespace = '-' } = object.metadata;
    toast('good', `${name} was applied`);
    if (type === undefined) return;
    const { group, version, resource } = type;
    await navigate({
      to: '/w/$workspace/api/$group/$version/$resource/$namespace/$name',
      params: { workspace, group: groupInPath(group), version, resource, namespace, name },
    });
  };
  return (
    <Page
      title="Create from YAML"
      above={
        <Link to="/w/$workspace/api" params={{ workspace }}>
          API
        </Link>
      }
    >
      <IfAllowed access={access} what="create or change anything" workspace={workspace}>
        <ObjectEditor
          workspace={workspace}
          initial={example}
          mayWrite
          action="Apply"
          write={(object, dryRun) => applyIn(workspace, object, dryRun)}
          onWritten={(object) => void open(object)}
        />
      </IfAllowed>
    </Page>
  );
}

import { type GPUStorage, gpuUnitKind, storageHelperRoot } from '@capstan/api';
import { Button } from '@mantine/core';
import { useEffect, useMemo, useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { Failure, Loading, Note } from '../../components/states.tsx';
import { useCanEach } from '../access/use-can.ts';
import { FileBrowser } from '../files/file-browser.tsx';
import { sentence } from '../format/format.ts';
import { podKind } from '../kube/core-kinds.ts';
import { useLiveObject } from '../live/use-live.ts';
import { useAction } from '../toasts/use-action.ts';
import { isOver, isRunning, stateOf } from '../units/state.ts';
import { accessorOf, createAccessor, hasNode, removeAccessor } from './accessor.ts';

interface StorageFilesProps {
  readonly workspace: string;
  readonly storage: GPUStorage;
}

/** The files of a storage, through a small unit that exists while they are shown. */
export function StorageFiles({ workspace, storage }: StorageFilesProps) {
  const { namespace = '' } = storage.metadata;
  const [accessor, setAccessor] = useState<string>();
  const [canCreate, ...canEnter] = useCanEach([
    { workspace, namespace, verb: 'create', kind: gpuUnitKind },
    ...['create', 'get'].map((verb) => ({ workspace, namespace, verb, kind: podKind, subresource: 'exec' })),
  ]);
  const open = useAction(async () => {
    const id = crypto.getRandomValues(new Uint8Array(3)).reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '');
    setAccessor((await createAccessor(workspace, accessorOf(storage, id))).metadata.name);
  });
  if (accessor !== undefined)
    return (
      <OpenFiles
        workspace={workspace}
        namespace={namespace}
        accessor={accessor}
        isReadOnly={storage.spec.snapshotOf !== undefined}
        onClose={() => setAccessor(undefined)}
      />
    );
  if (!hasNode(storage)) return <Note>It is on no node yet. Its files can be seen here after the first unit has mounted it.</Note>;
  if (canCreate !== true || canEnter.includes(false)) return <Note>Ask for the rights to create units and to run commands in them.</Note>;
  return (
    <div>
      <Button variant="default" leftSection={<Icon name="storage" size={13} />} loading={open.isPending} onClick={() => open.mutate()}>
        Open the files
      </Button>
    </div>
  );
}

interface OpenFilesProps {
  readonly workspace: string;
  readonly namespace: string;
  readonly accessor: string;
  /** Files of a snapshot never change. */
  readonly isReadOnly: boolean;
  readonly onClose: () => void;
}

function OpenFiles({ workspace, namespace, accessor, isReadOnly, onClose }: OpenFilesProps) {
  const unit = useLiveObject(gpuUnitKind, { workspace, namespace, name: accessor });
  const place = useMemo(() => ({ workspace, namespace, pod: accessor, container: 'unit' }), [workspace, namespace, accessor]);
  useEffect(() => {
    const remove = (): void => removeAccessor({ workspace, namespace }, accessor);
    window.addEventListener('pagehide', remove);
    return () => {
      window.removeEventListener('pagehide', remove);
      remove();
    };
  }, [workspace, namespace, accessor]);
  const found = unit.state === 'content' ? unit.content : undefined;
  if (found === undefined) return <Loading what="Opening the storage" />;
  if (isRunning(found)) return <FileBrowser place={place} root={storageHelperRoot} start={storageHelperRoot} isReadOnly={isReadOnly} />;
  const { word, reason } = stateOf(found);
  if (isOver(found))
    return (
      <Failure
        title="The files are closed"
        detail={sentence(reason || word)}
        next="They are open for an hour. Open them again."
        onRetry={onClose}
      />
    );
  return <Loading what={`Opening the storage: ${reason || word}`} />;
}

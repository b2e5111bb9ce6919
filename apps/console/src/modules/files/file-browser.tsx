import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { downloadBlob } from '../../components/download.ts';
import { Icon } from '../../components/icon.tsx';
import { Failure, Loading, Note } from '../../components/states.tsx';
import { Age } from '../format/age.tsx';
import { bytes } from '../format/format.ts';
import type { ContainerPlace } from '../terminal/paths.ts';
import { messageOf, toast } from '../toasts/toasts.ts';
import styles from './file-browser.module.css';
import { type FileEntry, pathIn, pathParts, shownName } from './listing.ts';
import { listFolder, readFile, sizeProblem, writeFile } from './transfers.ts';
import { useFolder } from './use-folder.ts';
import { useTransfers } from './use-transfers.ts';

interface FileBrowserProps {
  readonly place: ContainerPlace;
  /** The outermost folder that is shown as such. */
  readonly root?: string;
  /** Where it begins; the folder in which programs start if absent. */
  readonly start?: string;
  readonly isReadOnly?: boolean;
}

/** The files in a container: folders to open, files to download, and uploads. */
export function FileBrowser({ place, root = '/', start = '', isReadOnly = false }: FileBrowserProps) {
  const [folder, setFolder] = useFolder(root, start);
  const [overwriting, setOverwriting] = useState<readonly File[]>();
  const input = useRef<HTMLInputElement>(null);
  const queries = useQueryClient();
  const transfers = useTransfers();
  const queryKey = ['files', place, folder];
  const asked = useQuery({
    queryKey,
    queryFn: ({ signal }) => listFolder(place, folder, { signal }),
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  const listing = asked.data;
  const here = listing?.folder ?? folder;

  const download = (entry: FileEntry): void => {
    const { name = '', kind, size } = entry;
    const problem = kind === 'file' ? sizeProblem(size) : undefined;
    if (problem !== undefined) return toast('bad', `${entry.shown}: ${problem}`);
    const run = async (watched: object): Promise<void> =>
      downloadBlob(kind === 'folder' ? `${name}.tar` : name, await readFile(place, pathIn(here, name), watched));
    void transfers.start([{ name, total: kind === 'file' ? size : undefined, run }]);
  };
  const upload = async (files: readonly File[]): Promise<void> => {
    await transfers.start(
      files.map((file) => ({
        name: file.name,
        total: file.size,
        run: (watched) => writeFile(place, pathIn(here, file.name), { file, ...watched }),
      })),
    );
    await queries.invalidateQueries({ queryKey });
  };
  const choose = (files: readonly File[]): void => {
    const known = new Set(listing?.entries.map(({ name }) => name));
    if (files.some(({ name }) => known.has(name))) setOverwriting(files);
    else void upload(files);
  };
  const latest = useRef(download);
  latest.current = download;
  const columns = useMemo(
    () => columnsFor({ onOpen: ({ name = '' }) => setFolder(pathIn(here, name)), onDownload: (entry) => latest.current(entry) }),
    [here, setFolder],
  );
  return (
    <div className={styles['browser']}>
      <div className={styles['bar']}>
        <nav aria-label="Folder" className={styles['path']}>
          {pathParts(here, root).map(({ path, shown }) => (
            <button key={path} type="button" onClick={() => setFolder(path)}>
              {shown}
            </button>
          ))}
        </nav>
        <Button
          variant="default"
          leftSection={<Icon name="retry" size={13} />}
          loading={asked.isFetching}
          onClick={() => void asked.refetch()}
        >
          Refresh
        </Button>
        {!isReadOnly && (
          <Button
            variant="default"
            leftSection={<Icon name="plus" size={13} />}
            disabled={listing === undefined || transfers.current !== undefined}
            onClick={() => input.current?.click()}
          >
            Upload
          </Button>
        )}
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={({ currentTarget }) => {
            choose([...(currentTarget.files ?? [])]);
            currentTarget.value = '';
          }}
        />
      </div>
      <div role="status" className={styles['transfer']}>
        {transfers.current !== undefined && (
          <>
            <span>
              {transfers.current.shown}: {bytes(transfers.current.done)}
              {transfers.current.total !== undefined && ` of ${bytes(transfers.current.total)}`}
            </span>
            <Button variant="default" size="compact-xs" onClick={transfers.cancel}>
              Cancel
            </Button>
          </>
        )}
      </div>
      {asked.error !== null ? (
        <Failure
          title="The folder cannot be read"
          detail={shownName(messageOf(asked.error))}
          next="Go to another folder, or try again. Reading files needs the program sh in the unit."
          onRetry={() => void asked.refetch()}
        />
      ) : listing === undefined ? (
        <Loading what="Reading the folder" />
      ) : listing.entries.length === 0 ? (
        <Note>The folder is empty.</Note>
      ) : (
        <DataTable label="Files" columns={columns} rows={listing.entries} idOf={({ shown, name }) => name ?? `?${shown}`} sortBy={byName} />
      )}
      {overwriting !== undefined && (
        <Confirm
          title="Replace files?"
          action="Replace"
          onConfirm={() => void upload(overwriting)}
          onClose={() => setOverwriting(undefined)}
        >
          Some of these names exist in the folder. Their contents are replaced.
        </Confirm>
      )}
    </div>
  );
}

const byName = { id: 'name' };

interface EntryActions {
  readonly onOpen: (entry: FileEntry) => void;
  readonly onDownload: (entry: FileEntry) => void;
}

function columnsFor({ onOpen, onDownload }: EntryActions): readonly Column<FileEntry>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      // Folders come first.
      value: ({ kind, shown }) => `${kind === 'folder' ? '0' : '1'}${shown}`,
      cell: (entry) =>
        entry.name !== undefined && (entry.kind === 'folder' || entry.kind === 'link' || entry.kind === undefined) ? (
          <button type="button" className={styles['open']} title={entry.shown} onClick={() => onOpen(entry)}>
            <bdi>{entry.shown}</bdi>
            {entry.kind === 'folder' && '/'}
          </button>
        ) : (
          <bdi title={entry.name === undefined ? 'Its name is not UTF-8. Rename it in a terminal.' : entry.shown}>{entry.shown}</bdi>
        ),
      grow: true,
    },
    { id: 'size', header: 'Size', value: ({ kind, size }) => (kind === 'file' ? size : undefined), cell: sizeCell, align: 'end' },
    {
      id: 'changed',
      header: 'Changed',
      value: ({ changedAt }) => changedAt,
      cell: ({ changedAt }) => <Age of={changedAt === undefined ? undefined : new Date(changedAt).toISOString()} />,
      align: 'end',
      wideOnly: true,
    },
    {
      id: 'actions',
      header: '',
      value: () => undefined,
      cell: (entry) =>
        entry.name !== undefined &&
        entry.kind !== 'other' && (
          <Button variant="default" size="compact-xs" aria-label={`Download ${entry.shown}`} onClick={() => onDownload(entry)}>
            Download
          </Button>
        ),
      align: 'end',
    },
  ];
}

function sizeCell({ kind, size }: FileEntry): string {
  if (kind === 'link' || kind === 'other') return kind === 'link' ? 'link' : 'special';
  return kind === 'file' && size !== undefined ? bytes(size) : '–';
}

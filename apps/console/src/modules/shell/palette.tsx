import { appInstanceKind, appKind, gpuNodeKind, gpuStorageKind, gpuUnitKind, platformWorkspace } from '@capstan/api';
import { Modal } from '@mantine/core';
import { type NavigateOptions, useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useMemo, useState } from 'react';
import { Icon, type IconName } from '../../components/icon.tsx';
import { useReturnFocus } from '../../components/use-return-focus.ts';
import { useCanEach } from '../access/use-can.ts';
import { useLive } from '../live/use-live.ts';
import { usePerson } from '../session/person.ts';
import { recentWorkspaces } from '../workspaces/recent.ts';
import { useWorkspace } from '../workspaces/use-workspace.ts';
import { found } from './find.ts';
import { destinations } from './navigation.ts';
import styles from './palette.module.css';

interface Choice {
  readonly id: string;
  readonly label: string;
  readonly note: string;
  readonly icon: IconName;
  readonly words?: string | undefined;
  readonly to: string;
  readonly params: Readonly<Record<string, string>>;
}

const most = 12;

/** At once: the dialog would do it a moment later, and the first letters of a fast typist would be lost. */
const focus = (element: HTMLElement | null): void => element?.focus();

function useChoices(): readonly Choice[] {
  const workspace = useWorkspace();
  const { isPlatformOwner } = usePerson();
  const units = useLive(gpuUnitKind, { workspace });
  const instances = useLive(appInstanceKind, { workspace });
  const apps = useLive(appKind, { workspace });
  const storages = useLive(gpuStorageKind, { workspace });
  const nodes = useLive(isPlatformOwner ? gpuNodeKind : undefined, { workspace: platformWorkspace });
  const [canRun, canDeploy] = useCanEach(
    [gpuUnitKind, appInstanceKind].map((kind) => ({ workspace, namespace: 'default', verb: 'create', kind })),
  );
  return useMemo(() => {
    const pages = destinations
      .flat()
      .filter(({ isForOwners }) => isForOwners !== true || isPlatformOwner)
      .map(({ label, to, icon, words }): Choice => ({ id: to, label, note: 'page', icon, words, to, params: { workspace } }));
    const create: Choice = {
      id: 'new-unit',
      label: 'New GPU unit',
      note: 'create',
      icon: 'plus',
      words: 'run start',
      to: '/w/$workspace/units/new',
      params: { workspace },
    };
    const objects = (
      [
        [units, 'GPU unit', 'unit', '/w/$workspace/units/$namespace/$name'],
        [instances, 'app', 'app', '/w/$workspace/apps/$namespace/$name'],
        [storages, 'storage', 'storage', '/w/$workspace/storages/$namespace/$name'],
        [nodes, 'node', 'fleet', '/w/$workspace/fleet/$name'],
      ] as const
    ).flatMap(([list, note, icon, to]) =>
      (list.state === 'content' ? list.content : []).map(({ metadata }): Choice => {
        const { name = '', namespace = '' } = metadata;
        return { id: `${to} ${namespace}/${name}`, label: name, note, icon, to, params: { workspace, namespace, name } };
      }),
    );
    const catalog = (apps.state === 'content' ? apps.content : []).map(({ metadata: { name = '' }, spec }): Choice => {
      const to = '/w/$workspace/catalog/$app';
      return {
        id: `${to} ${name}`,
        label: `Deploy ${spec.displayName}`,
        note: 'create',
        icon: 'plus',
        to,
        params: { workspace, app: name },
      };
    });
    const workspaces = recentWorkspaces()
      .filter((path) => path !== workspace)
      .map(
        (path): Choice => ({ id: path, label: path, note: 'workspace', icon: 'switch', to: '/w/$workspace', params: { workspace: path } }),
      );
    return [...pages, ...(canRun && units.state === 'content' ? [create] : []), ...(canDeploy ? catalog : []), ...objects, ...workspaces];
  }, [workspace, isPlatformOwner, canRun, canDeploy, units, instances, apps, storages, nodes]);
}

/** Finds pages, objects and workspaces by a few letters. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const choices = useChoices();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  useReturnFocus();
  const shown = found(query, choices, ({ label, note, words = '' }) => `${label} ${note} ${words}`).slice(0, most);
  const choose = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    onClose();
    void navigate({ to: choice.to, params: choice.params as Record<string, string> } as unknown as NavigateOptions);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((at + step + shown.length) % Math.max(1, shown.length));
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      choose(shown[at]);
    }
  };
  return (
    <Modal opened onClose={onClose} withCloseButton={false} padding={0} size="lg" yOffset="12vh" aria-label="Search or jump to">
      <input
        ref={focus}
        className={styles['query']}
        placeholder="Search pages, units, apps, storages, nodes and workspaces"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={shown[at] === undefined ? undefined : `palette-${at}`}
        aria-label="Search"
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        data-autofocus
      />
      <div id="palette-choices" role="listbox" aria-label="Results" className={styles['choices']}>
        {shown.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox above.
          <div
            key={choice.id}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className={styles['choice']}
            onMouseMove={() => setAt(index)}
            onClick={() => choose(choice)}
          >
            <Icon name={choice.icon} />
            <span>{choice.label}</span>
            <small>{choice.note}</small>
          </div>
        ))}
        {shown.length === 0 && (
          <p className={styles['none']}>Nothing is called that. Names of other workspaces appear after you have visited them.</p>
        )}
      </div>
    </Modal>
  );
}

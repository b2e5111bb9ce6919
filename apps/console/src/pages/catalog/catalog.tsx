import { type App, appInstanceKind, appKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { defaultVersion, supportOf } from '../../modules/apps/catalog.ts';
import { count } from '../../modules/format/format.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';
import styles from './catalog.module.css';

export function Catalog() {
  const workspace = useWorkspace();
  const apps = useLive(appKind, { workspace });
  const canCreate = useCan({ workspace, namespace: 'default', verb: 'create', kind: appInstanceKind });
  return (
    <Page title="Catalog">
      <FollowedView of={apps} what="apps">
        {(all) =>
          all.length === 0 ? (
            <Empty icon="catalog" title="The catalog is empty">
              The owner of the platform adds apps to it.
            </Empty>
          ) : (
            <ul className={styles['apps']}>
              {all
                .toSorted((one, other) => one.spec.displayName.localeCompare(other.spec.displayName))
                .map((app) => (
                  <Entry key={app.metadata.name} workspace={workspace} app={app} canCreate={canCreate} />
                ))}
            </ul>
          )
        }
      </FollowedView>
    </Page>
  );
}

interface EntryProps {
  readonly workspace: string;
  readonly app: App;
  readonly canCreate: boolean;
}

function Entry({ workspace, app, canCreate }: EntryProps) {
  const { displayName, description, promises = [], exclusions = [], components, access = [] } = app.spec;
  const support = supportOf(app);
  return (
    <li className={styles['app']}>
      <header>
        <h2>{displayName}</h2>
        <span className={styles['support']} data-support={app.spec.support}>
          {support.word}
        </span>
      </header>
      {description !== undefined && <p>{description}</p>}
      <p className={styles['soft']}>{support.meaning}</p>
      <dl className={styles['facts']}>
        <Fact name="Version" value={defaultVersion(app)} />
        <Fact name="Members" value={components.map(({ title }) => title).join(', ')} />
        <Fact name="Access" value={access.join(', ')} />
      </dl>
      {promises.length + exclusions.length > 0 && (
        <details className={styles['terms']}>
          <summary>
            {count(promises.length, 'promise')}, {count(exclusions.length, 'exclusion')}
          </summary>
          <Lines title="The platform promises" lines={promises} />
          <Lines title="It does not promise" lines={exclusions} />
        </details>
      )}
      {canCreate && (
        <footer>
          <Button component={Link} to={`/w/${workspace}/catalog/${app.metadata.name}`} aria-label={`Deploy ${displayName}`}>
            Deploy
          </Button>
        </footer>
      )}
    </li>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  if (value === '') return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Lines({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}

import { type App, appInstanceKind, appKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { defaultVersion, supportOf } from '../../modules/apps/catalog.ts';
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
        <span className={styles['support']} title={support.meaning} data-support={app.spec.support}>
          {support.word}
        </span>
      </header>
      {description !== undefined && <p>{description}</p>}
      <p className={styles['soft']}>
        <strong>{support.word}:</strong> {support.meaning}
      </p>
      <Lines title="The platform promises" lines={promises} />
      <Lines title="It does not promise" lines={exclusions} />
      <footer>
        <span className={styles['soft']}>
          {[`Version ${defaultVersion(app)}`, components.map(({ title }) => title).join(', '), access.join(', ')]
            .filter(Boolean)
            .join(' · ')}
        </span>
        {canCreate && (
          <Button component={Link} to={`/w/${workspace}/catalog/${app.metadata.name}`} size="xs">
            Deploy
          </Button>
        )}
      </footer>
    </li>
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

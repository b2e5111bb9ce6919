import { Link } from '@tanstack/react-router';
import { Empty } from '../../components/states.tsx';
import { useChildren } from '../../modules/workspaces/switcher.tsx';
import styles from './node-attention.module.css';

/** In a workspace without units, such as an organization, the way leads to the workspaces below it. */
export function WorkspacesBelow({ workspace }: { readonly workspace: string }) {
  const children = useChildren(workspace);
  return (
    <Empty icon="tenancy" title={`Nothing runs in ${workspace} itself`}>
      {children.length === 0 ? (
        'Units run in projects and homes. Create a project under Tenancy, or switch to another workspace.'
      ) : (
        <>
          <p>Units run in projects and homes. Below it are:</p>
          <ul className={styles['plain']}>
            {children.map((path) => (
              <li key={path}>
                <Link to="/w/$workspace" params={{ workspace: path }}>
                  {path}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </Empty>
  );
}

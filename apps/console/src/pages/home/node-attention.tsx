import { gpuNodeKind, platformWorkspace } from '@capstan/api';
import { Link } from '@tanstack/react-router';
import { Section } from '../../components/page.tsx';
import { Status } from '../../components/status.tsx';
import { needsHelp, stateOf } from '../../modules/fleet/node-state.ts';
import { sentence } from '../../modules/format/format.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import styles from './node-attention.module.css';

/** Nodes that an owner of the platform should look at. Nothing if all are fine, or before that is known. */
export function NodeAttention({ workspace }: { readonly workspace: string }) {
  const nodes = useLive(gpuNodeKind, { workspace: platformWorkspace });
  if (nodes.state === 'error')
    return (
      <Section title="Nodes that need help">
        <FollowedView of={nodes} what="nodes">
          {() => null}
        </FollowedView>
      </Section>
    );
  const troubled = (nodes.state === 'content' ? nodes.content : []).filter(needsHelp);
  if (troubled.length === 0) return null;
  return (
    <Section title="Nodes that need help" count={troubled.length}>
      <ul className={styles['nodes']}>
        {troubled.map((node) => {
          const name = node.metadata.name!;
          const { tone, word, reason } = stateOf(node);
          return (
            <li key={name}>
              <Status tone={tone} word={word} />
              <Link to="/w/$workspace/fleet/$name" params={{ workspace, name }}>
                {name}
              </Link>
              <span>{sentence(reason)}</span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

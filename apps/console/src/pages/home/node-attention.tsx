import { Link } from '@tanstack/react-router';
import { Section } from '../../components/page.tsx';
import { Status } from '../../components/status.tsx';
import { needsHelp, stateOf } from '../../modules/fleet/node-state.ts';
import { useFleet } from '../../modules/fleet/use-fleet.ts';
import { sentence } from '../../modules/format/format.ts';
import styles from './node-attention.module.css';

/** Nodes that an owner of the platform should look at. Nothing if all are fine. */
export function NodeAttention({ workspace }: { readonly workspace: string }) {
  const fleet = useFleet();
  const troubled = (fleet.state === 'content' ? fleet.content : []).filter(({ node }) => needsHelp(node));
  if (troubled.length === 0) return null;
  return (
    <Section title="Nodes that need help" count={troubled.length}>
      <ul className={styles['nodes']}>
        {troubled.map(({ node }) => {
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

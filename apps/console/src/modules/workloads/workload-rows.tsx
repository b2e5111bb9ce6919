import { Link } from '@tanstack/react-router';
import { Status } from '../../components/status.tsx';
import { Age } from '../format/age.tsx';
import { count, sentence } from '../format/format.ts';
import { AdviceLink } from '../units/advice-link.tsx';
import { kindsOf, type Workload } from './workload.ts';
import styles from './workload-rows.module.css';

/** A page that nobody would read to its end helps nobody, and takes long to draw. */
const most = 50;

/** Workloads with their reasons and the next thing to do. */
export function WorkloadRows({ workspace, rows }: { readonly workspace: string; readonly rows: readonly Workload[] }) {
  return (
    <ul className={styles['rows']}>
      {rows.slice(0, most).map((row) => (
        <Row key={row.id} workspace={workspace} row={row} />
      ))}
      {rows.length > most && (
        <li className={styles['more']}>
          {kindsOf(rows.slice(most)).map(({ kind, amount }) => (
            <Link key={kind} to={`/w/$workspace/${kind}s`} params={{ workspace }}>
              and {count(amount, `more ${kind}`)}
            </Link>
          ))}
        </li>
      )}
    </ul>
  );
}

function Row({ workspace, row }: { readonly workspace: string; readonly row: Workload }) {
  const { name, namespace, tone, word, reason, advice, resources, place, since, lastLine } = row;
  const page = row.kind === 'unit' ? 'units' : 'apps';
  const isFine = tone === 'good' || tone === 'idle';
  return (
    <li className={styles['row']}>
      <span className={styles['status']}>
        <Status tone={tone} word={word} />
      </span>
      <span className={styles['main']}>
        <Link to={`/w/$workspace/${page}/$namespace/$name`} params={{ workspace, namespace, name }} className={styles['name']!}>
          {name}
        </Link>
        <span className={styles['facts']}>{[resources, place].filter(Boolean).join(' · ')}</span>
        {!isFine && reason !== '' && <span className={styles['reason']}>{sentence(reason)}</span>}
        {lastLine !== undefined && <code className={styles['line']}>{lastLine}</code>}
        {!isFine && advice !== undefined && advice.text !== '' && <span className={styles['advice']}>{advice.text}</span>}
      </span>
      <span className={styles['action']}>
        {!isFine && advice !== undefined && <AdviceLink {...{ workspace, namespace, name, advice, page }} />}
      </span>
      <span className={styles['age']}>
        <Age of={since} />
      </span>
    </li>
  );
}

import type { AppInstance } from '@capstan/api';
import { Link } from '@tanstack/react-router';
import { Meter } from '../../components/meter.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { ReasonBox } from '../../components/reason.tsx';
import { Status } from '../../components/status.tsx';
import { OperationButtons } from '../../modules/apps/operation-buttons.tsx';
import { ProblemList } from '../../modules/apps/problem-list.tsx';
import { healthFace, operationFace, progressOf, reporterWords, reportWords, retriesAt, stateOf } from '../../modules/apps/state.ts';
import { useOperations } from '../../modules/apps/use-parts.ts';
import { Conditions } from '../../modules/conditions/conditions.tsx';
import { dateTime, sentence } from '../../modules/format/format.ts';
import styles from './instance.module.css';

interface OverviewProps {
  readonly workspace: string;
  readonly instance: AppInstance;
}

export function InstanceOverview({ workspace, instance }: OverviewProps) {
  const { metadata, spec, status } = instance;
  const { lastOperation, lastErrors = [], residues = [], conditions = [], members, reported } = status ?? {};
  const progress = progressOf(instance);
  const nextRetry = retryWords(retriesAt(instance));
  return (
    <div className={styles['stack']}>
      <Reason workspace={workspace} instance={instance} />
      <Facts
        facts={[
          [
            'App',
            <Link key="app" to="/w/$workspace/catalog" params={{ workspace }}>
              {spec.app}
            </Link>,
          ],
          ['Version', status?.version ?? spec.version ?? '–'],
          ['Health', <Status key="health" {...healthFace(status?.health)} />],
          ['Phase', status?.phase ?? '–'],
          ['Progress', progress && <Meter key="progress" share={progress.share} text={progress.text} isProgress />],
          ['Members', members && `${members.healthy} of ${members.total} healthy`],
          ['Certificates expire', status?.certificatesExpireAt && dateTime(status.certificatesExpireAt)],
          ['Should be', spec.paused ? 'paused: nothing is changed' : spec.stopped ? 'stopped' : 'running'],
          ['Created', dateTime(metadata.creationTimestamp)],
        ]}
      />
      <OperationButtons workspace={workspace} instance={instance} />
      {reported !== undefined && (
        <Section title="Reported by the app" note="A hint, which expires. The platform does not act on it.">
          <Facts
            facts={[
              ['Phase', reportWords(reported)],
              ['By', reporterWords(reported.source)],
              ['At', dateTime(reported.reportedAt)],
              ['Expires', dateTime(reported.expiresAt)],
            ]}
          />
        </Section>
      )}
      {lastOperation !== undefined && (
        <Section title="Last operation">
          <Facts
            facts={[
              ['Type', sentence(lastOperation.type)],
              ['State', <Status key="state" {...operationFace(lastOperation.state)} />],
              ['Step', lastOperation.step],
              ['Message', lastOperation.message && sentence(lastOperation.message)],
              ['Attempts', attempts(lastOperation)],
              ['Next try', nextRetry],
            ]}
          />
        </Section>
      )}
      {lastErrors.length > 0 && (
        <Section title="Problems" count={lastErrors.length}>
          <ProblemList problems={lastErrors} nextRetry={nextRetry} />
        </Section>
      )}
      {residues.length > 0 && (
        <Section title="Left on nodes" count={residues.length}>
          <ul>
            {residues.map(({ node, name, message }) => (
              <li key={`${node} ${name}`}>
                {node}: {name}: {message}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {conditions.length > 0 && (
        <Section title="Conditions">
          <Conditions conditions={conditions} isOver={status?.state === 'stopped'} />
        </Section>
      )}
    </div>
  );
}

const retryWords = (time: string | undefined): string | undefined =>
  time === undefined || time === 'soon' ? time : `at ${dateTime(time)}`;

function attempts({
  attempts: made = 0,
  attemptLimit,
}: {
  readonly attempts?: number;
  readonly attemptLimit?: number;
}): string | undefined {
  if (made === 0) return undefined;
  return attemptLimit === undefined ? String(made) : `${made} of ${attemptLimit}`;
}

/** Why it is as it is. An operation that waits for a person says what to do. */
function Reason({ workspace, instance }: OverviewProps) {
  const operations = useOperations({ workspace, instance });
  const { tone, word, reason } = stateOf(instance);
  const waiting =
    operations.state === 'content' ? operations.content.find(({ status }) => status?.state === 'needs_intervention') : undefined;
  if (reason === '' || tone === 'good') return null;
  return (
    <ReasonBox tone={tone}>
      <p>
        <strong>{word}.</strong> {sentence(reason)}
      </p>
      {waiting?.status?.instructions !== undefined && <p>{waiting.status.instructions}</p>}
    </ReasonBox>
  );
}

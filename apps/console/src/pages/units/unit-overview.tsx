import type { GPUUnit } from '@capstan/api';
import { Link } from '@tanstack/react-router';
import { Command } from '../../components/copy.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { ReasonBox } from '../../components/reason.tsx';
import { AllocationLink } from '../../modules/allocations/allocation-link.tsx';
import { Conditions } from '../../modules/conditions/conditions.tsx';
import { Age } from '../../modules/format/age.tsx';
import { dateTime, sentence } from '../../modules/format/format.ts';
import { adviceFor } from '../../modules/units/advice.ts';
import { AdviceLink } from '../../modules/units/advice-link.tsx';
import { askedFor, isOver, lastLinesOf, membersOf, nodesOf, programOf, stateOf } from '../../modules/units/state.ts';
import { UnitMembers } from './unit-members.tsx';
import styles from './unit-overview.module.css';

interface OverviewProps {
  readonly workspace: string;
  readonly unit: GPUUnit;
}

export function UnitOverview({ workspace, unit }: OverviewProps) {
  const { spec, status } = unit;
  return (
    <div className={styles['overview']}>
      <Reason workspace={workspace} unit={unit} />
      <Facts
        facts={[
          ['Resources', askedFor(unit)],
          ['Node', nodesOf(unit) || '–'],
          [
            'Allocation',
            status?.allocation && (
              <AllocationLink key="allocation" workspace={workspace} namespace={unit.metadata.namespace!} name={status.allocation} />
            ),
          ],
          [
            'Started',
            status?.startedAt === undefined ? (
              '–'
            ) : (
              <span key="started">
                <Age of={status.startedAt} /> ago
              </span>
            ),
          ],
          ['Ended', status?.finishedAt === undefined ? undefined : dateTime(status.finishedAt)],
          ['Exit code', status?.exitCode],
          ['Starts', status?.run],
          ['Restarts', status?.restarts ?? 0],
          ['Restart policy', spec.restartPolicy],
          ['Network', spec.network],
          ['Time limit', spec.maxDuration],
          ['Stops when idle for', spec.idleTimeout],
          ['Created', dateTime(unit.metadata.creationTimestamp)],
        ]}
      />
      <Section title="Program">
        <Command text={programOf(unit)} label="Copy the program" />
      </Section>
      {(status?.conditions ?? []).length > 0 && (
        <Section title="Conditions">
          <Conditions conditions={status!.conditions!} isOver={isOver(unit)} />
        </Section>
      )}
      {membersOf(unit).length > 0 && (
        <Section title="On its nodes">
          <UnitMembers unit={unit} />
        </Section>
      )}
      <Ports unit={unit} />
      <Settings workspace={workspace} unit={unit} />
    </div>
  );
}

/** Why it is as it is, and what can be done. */
function Reason({ workspace, unit }: OverviewProps) {
  const { tone, reason } = stateOf(unit);
  const advice = adviceFor(unit);
  const lastLines = tone === 'bad' ? lastLinesOf(unit) : [];
  if (reason === '' || tone === 'good') return null;
  const { name = '', namespace = '' } = unit.metadata;
  return (
    <ReasonBox tone={tone}>
      <p>{sentence(reason)}.</p>
      {lastLines.length > 0 && <pre className={styles['lines']}>{lastLines.join('\n')}</pre>}
      {advice !== undefined && (
        <p className={styles['advice']}>
          {advice.text} <AdviceLink {...{ workspace, namespace, name, advice }} isOnDetail />
        </p>
      )}
    </ReasonBox>
  );
}

function Ports({ unit }: { readonly unit: GPUUnit }) {
  const { ports = [], access } = unit.spec;
  if (ports.length === 0) return null;
  const { name = '', namespace = '' } = unit.metadata;
  return (
    <Section title="Ports" note="Each command opens the port on your machine.">
      <ul className={styles['ports']}>
        {ports.map((port) => (
          <li key={port.name}>
            <span>
              {port.name}, port {port.port}
            </span>
            <Command text={`capstan port-forward ${name} ${port.port}${namespace === 'default' ? '' : ` --namespace ${namespace}`}`} />
            {access?.port === port.name && access.scheme !== 'tcp' && (
              <p>
                Then open {access.scheme}://127.0.0.1:{port.port} in a browser.
              </p>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Settings({ workspace, unit }: OverviewProps) {
  const { env = [], mounts = [] } = unit.spec;
  const { namespace = '' } = unit.metadata;
  if (env.length === 0 && mounts.length === 0) return null;
  return (
    <Section title="Environment and storages">
      <Facts
        facts={[
          ...env.map(({ name, value, secret, configMap }) => {
            const from = secret ?? configMap;
            const text =
              from === undefined ? value : `from the ${secret === undefined ? 'ConfigMap' : 'Secret'} ${from.name}, key ${from.key}`;
            return [name, text] as const;
          }),
          ...mounts.map(
            ({ storage, path, readOnly }) =>
              [
                path,
                <span key={path}>
                  <Link to="/w/$workspace/storages/$namespace/$name" params={{ workspace, namespace, name: storage }}>
                    {storage}
                  </Link>
                  {readOnly && ', read only'}
                </span>,
              ] as const,
          ),
        ]}
      />
    </Section>
  );
}

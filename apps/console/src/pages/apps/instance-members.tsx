import type { AppInstance, AppMember } from '@capstan/api';
import { LongList } from '../../components/long-list.tsx';
import { Facts } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { AllocationLink } from '../../modules/allocations/allocation-link.tsx';
import { OperationButtons } from '../../modules/apps/operation-buttons.tsx';
import { ProblemList } from '../../modules/apps/problem-list.tsx';
import { healthFace, memberFace, memberReportFace, operationFace, reporterWords } from '../../modules/apps/state.ts';
import { useMembers } from '../../modules/apps/use-parts.ts';
import { dateTime, sentence } from '../../modules/format/format.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import styles from './instance.module.css';

interface MembersProps {
  readonly workspace: string;
  readonly instance: AppInstance;
}

/** The nodes that take part in an instance. */
export function InstanceMembers(props: MembersProps) {
  const members = useMembers(props);
  return (
    <FollowedView of={members} what="members">
      {(all) =>
        all.length === 0 ? (
          <Empty icon="fleet" title="No members yet">
            They appear when the platform begins the deployment.
          </Empty>
        ) : (
          <LongList of={all} what="members">
            {(shown) => (
              <ul className={styles['cards']}>
                {shown.map((member) => (
                  <Member key={member.metadata.name} {...props} member={member} />
                ))}
              </ul>
            )}
          </LongList>
        )
      }
    </FollowedView>
  );
}

function Member({ workspace, instance, member }: MembersProps & { readonly member: AppMember }) {
  const { metadata, spec, status } = member;
  const { lastOperation, lastErrors = [], message, reported } = status ?? {};
  return (
    <li className={styles['card']}>
      <div className={styles['member']}>
        <span className={styles['name']}>{metadata.name}</span>
        <Status {...memberFace(member)} />
        {message !== undefined && message !== '' && <span className={styles['soft']}>{sentence(message)}</span>}
      </div>
      <div className={styles['body']}>
        <Facts
          isPlain
          facts={[
            ['Component', spec.component],
            ['Node', spec.node],
            [
              'Allocation',
              <AllocationLink key="allocation" workspace={workspace} namespace={metadata.namespace!} name={spec.allocation} />,
            ],
            ['Address', status?.endpoint ?? status?.address ?? '–'],
            ['Health', <Status key="health" {...healthFace(status?.health)} />],
            [
              'Reported',
              reported && (
                <span
                  key="reported"
                  title={`By ${reporterWords(reported.source)} at ${dateTime(reported.reportedAt)}. A hint, which expires.`}
                >
                  <Status {...memberReportFace(reported)} />
                </span>
              ),
            ],
            [
              'Last operation',
              lastOperation && (
                <Status key="operation" tone={operationFace(lastOperation.state).tone} word={operationWords(lastOperation)} />
              ),
            ],
          ]}
        />
        {lastErrors.length > 0 && <ProblemList problems={lastErrors} />}
        <OperationButtons workspace={workspace} instance={instance} member={metadata.name!} />
      </div>
    </li>
  );
}

const operationWords = ({ type, state }: NonNullable<NonNullable<AppMember['status']>['lastOperation']>): string =>
  `${sentence(type)}: ${operationFace(state).word.toLowerCase()}`;

import { auditPath, fleetQuotaKind, platformWorkspace, usagePath, workspaceKind } from '@capstan/api';
import { clusterRoleBindingKind } from '@capstan/client/browser';
import { LinkedTabs } from '../../components/linked-tabs.tsx';
import { Page } from '../../components/page.tsx';
import { Loading } from '../../components/states.tsx';
import { useAccessEach } from '../../modules/access/use-can.ts';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';
import { AuditSearch } from './audit-search.tsx';
import { Members } from './members.tsx';
import { Quotas } from './quotas.tsx';
import { Usage } from './usage.tsx';
import { Workspaces } from './workspaces.tsx';

/** The workspace itself: what is below it, who may do what, and what it uses. */
export function Tenancy() {
  const workspace = useWorkspace();
  const rights = useAccessEach([
    { workspace, verb: 'list', kind: workspaceKind },
    { workspace, verb: 'list', kind: clusterRoleBindingKind },
    { workspace: platformWorkspace, verb: 'list', kind: fleetQuotaKind },
    { workspace, verb: 'get', url: usagePath },
    { workspace, verb: 'get', url: auditPath },
  ]);
  const [hasWorkspaces, hasMembers, hasQuotas, hasUsage, hasAudit] = rights.map((access) => access === 'allowed');
  const tabs = [
    {
      isOffered: true,
      id: 'workspaces',
      label: 'Workspaces',
      content: () => <Workspaces workspace={workspace} mayList={hasWorkspaces === true} />,
    },
    { isOffered: hasMembers, id: 'members', label: 'Members', content: () => <Members workspace={workspace} /> },
    { isOffered: true, id: 'quotas', label: 'Quotas', content: () => <Quotas workspace={workspace} isOwner={hasQuotas === true} /> },
    { isOffered: hasUsage, id: 'usage', label: 'Usage', content: () => <Usage workspace={workspace} /> },
    { isOffered: hasAudit, id: 'audit', label: 'Audit', content: () => <AuditSearch workspace={workspace} /> },
  ];
  return (
    <Page title="Tenancy" beside={<span>{workspace}</span>}>
      {rights.includes('unknown') ? <Loading /> : <LinkedTabs tabs={tabs.filter(({ isOffered }) => isOffered)} />}
    </Page>
  );
}

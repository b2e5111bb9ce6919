/** Labels of Kubernetes' domains that a kubelet may set on its own node. */
const ofKubelets: ReadonlySet<string> = new Set([
  ...['hostname', 'os', 'arch'].map((name) => `kubernetes.io/${name}`),
  ...['zone', 'region'].flatMap((name) => [`topology.kubernetes.io/${name}`, `failure-domain.beta.kubernetes.io/${name}`]),
  ...['instance-type', 'os', 'arch'].map((name) => `beta.kubernetes.io/${name}`),
  'node.kubernetes.io/instance-type',
]);
const domainsOfKubelets = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const kubernetesDomains = ['kubernetes.io', 'k8s.io'];
const restrictedDomains = ['node-restriction.kubernetes.io'];

type Labels = Readonly<Record<string, string>>;

/** The labels that differ and that a node may not change, sorted: workloads rely on them to stay away from untrusted nodes. */
export function forbiddenLabels(before: Labels, after: Labels): string[] {
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((key) => before[key] !== after[key]);
  return changed.filter(isForbidden).sort();
}

function isForbidden(key: string): boolean {
  if (isIn(key, restrictedDomains)) return true;
  return isIn(key, kubernetesDomains) && !ofKubelets.has(key) && !isIn(key, domainsOfKubelets);
}

function isIn(key: string, domains: readonly string[]): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return false;
  const prefix = key.slice(0, slash);
  return domains.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`));
}

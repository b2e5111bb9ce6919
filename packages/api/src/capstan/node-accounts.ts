/** The group of node agents. Their certificates name it as the only organization. */
export const nodeAgentGroup = 'system:capstan-node-agents';
/** The group of machines that hold a token to enrol with, and nothing else yet. */
export const nodeEnrollmentGroup = 'system:capstan-node-enrollments';

const agentPrefix = 'system:capstan-node-agent:';
const enrollmentPrefix = 'system:capstan-node-enrollment:';

/** The user of the agent on a node. */
export const nodeAgentUser = (node: string): string => agentPrefix + node;
/** The user of a machine that is about to become a node. */
export const nodeEnrollmentUser = (node: string): string => enrollmentPrefix + node;

/** The node of an agent; undefined for other users. */
export const nodeOfAgent = (user: string): string | undefined => after(agentPrefix, user);
/** The node of a machine that is about to become one; undefined for other users. */
export const nodeOfEnrollment = (user: string): string | undefined => after(enrollmentPrefix, user);

function after(prefix: string, user: string): string | undefined {
  return user.startsWith(prefix) && user.length > prefix.length ? user.slice(prefix.length) : undefined;
}

/** The namespace in `root:platform` that belongs to the agent of a node: its Lease is there. */
export const nodeNamespace = (node: string): string => `node-${node}`;

/** The node of a namespace; undefined for other namespaces. */
export const nodeOfNamespace = (namespace: string): string | undefined => after('node-', namespace);

/** A name for a node: a DNS label that leaves room for `node-` in the name of its namespace. */
export const isNodeName = (name: string): boolean => /^[a-z0-9]([-a-z0-9]{0,56}[a-z0-9])?$/.test(name);

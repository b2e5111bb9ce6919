import { immutable, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { object, optional, text } from '../definition/schema.ts';
import { fleetGroup, keyHash } from './fields.ts';

export const nodeEnrollmentKind = defineKind({
  group: fleetGroup,
  kind: 'NodeEnrollment',
  plural: 'nodeenrollments',
  categories: ['capstan'],
  scope: 'Cluster',
  description:
    'Permission for one machine to become one node. `capstan node enroll` creates it and prints the command to run on the machine. ' +
    'The token in that command is the name of this object and a secret, of which only the hash is stored.',
  versions: {
    v1alpha1: {
      spec: object('Who may enrol, and until when.', {
        node: text('Name of the GPUNode that the machine becomes.', {
          minLength: 1,
          maxLength: 58,
          pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
          rules: [immutable],
        }),
        secretHash: keyHash('SHA-256 of the secret in the token.', { rules: [immutable] }),
        expiresAt: timestamp('Time after which the token is no longer accepted.'),
      }),
      status: object('How the enrolment was used.', {
        key: optional(keyHash('Hash of the only public key that this enrolment serves.')),
        nodeUid: optional(text('UID of the GPUNode.', { maxLength: 64 })),
        usedAt: optional(timestamp('Time at which it was used.')),
        replay: optional(
          object('The last attempt to use the token with another key: somebody else has seen it.', {
            key: keyHash('Hash of the other public key.'),
            at: timestamp('Time of the attempt.'),
          }),
        ),
      }),
      columns: [
        { name: 'Node', type: 'string', path: '.spec.node' },
        { name: 'Expires', type: 'string', path: '.spec.expiresAt' },
        { name: 'Used', type: 'date', path: '.status.usedAt' },
        { name: 'Replayed', type: 'date', path: '.status.replay.at' },
      ],
    },
  },
});

export type NodeEnrollment = ObjectOf<typeof nodeEnrollmentKind>;

/** The token that a machine enrols with: the name of the enrolment and its secret. */
export const enrollmentToken = (enrollment: string, secret: string): string => `${enrollment}.${secret}`;

/** The parts of a token; undefined if it is none. */
export function parseEnrollmentToken(token: string): { readonly enrollment: string; readonly secret: string } | undefined {
  const match = /^([a-z0-9][-a-z0-9]{0,62})\.([\w-]{43})$/.exec(token);
  return match === null ? undefined : { enrollment: match[1]!, secret: match[2]! };
}

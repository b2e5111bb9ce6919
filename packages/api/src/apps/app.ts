import { objectName } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import {
  anything,
  choice,
  flag,
  integer,
  keyedList,
  list,
  object,
  optional,
  type ReadOf,
  text,
  withDefault,
} from '../definition/schema.ts';
import { keyHash } from '../fleet/fields.ts';
import { appsGroup, word } from './fields.ts';

/** The address of an artifact is its hash, so that a version always installs the same bytes. */
const artifact = object('A file that the platform serves to nodes.', {
  name: text('Name by which steps refer to it.', { minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' }),
  sha256: keyHash('SHA-256 of the file, which the owner has added with `capstan artifact add`.'),
});

const version = object('A version that tenants can choose.', {
  name: text('Name, such as `v1.34.1+rke2r1`.', { minLength: 1, maxLength: 64 }),
  isDefault: withDefault(flag('Whether it is chosen if nobody says otherwise.'), false),
  artifacts: optional(keyedList('Files that nodes need for it.', artifact, { keys: ['name'], maxItems: 64 })),
});

const component = object('A role that members have.', {
  name: word('Name, such as `server`.'),
  title: text('Name for people.', { maxLength: 128 }),
  minimum: withDefault(integer('The least number of members.', { minimum: 0, maximum: 1024 }), 0),
  maximum: optional(integer('The largest number of members.', { minimum: 1, maximum: 1024 })),
});

const operation = object('Something that can be done with an instance or a member.', {
  name: word('Name, which is the type of its AppOperations.'),
  title: text('Name for people.', { maxLength: 128 }),
  scope: choice('Whether it works on an instance or on one member.', ['instance', 'member']),
  description: optional(text('Its effect, for people.', { maxLength: 1024 })),
  isDestructive: withDefault(flag('Whether it should be confirmed.'), false),
  parameters: optional(anything('JSON schema of its parameters.')),
});

const script = object('A NodeScript.', {
  name: objectName('Its name.'),
  sha256: optional(keyHash('SHA-256 of its content. Any content that the owner has given it if absent.')),
});

const pathPrefix = text('A folder or file on nodes.', { minLength: 2, maxLength: 512, pattern: '^/[^\\x00]*$' });
const name = text('Name.', { minLength: 1, maxLength: 128 });

const permitted = object('Everything that steps of the app may do on nodes. The platform refuses a plan with anything else.', {
  scripts: optional(keyedList('Scripts that steps may run.', script, { keys: ['name'], maxItems: 64 })),
  paths: optional(list('Where steps may write files.', pathPrefix, { maxItems: 64 })),
  packages: optional(list('Packages that steps may install and remove.', name, { maxItems: 64 })),
  services: optional(list('Services of the machine that steps may start and stop.', name, { maxItems: 64 })),
  commands: optional(
    list('Programs that may be the command of such a service: its first argument, a whole path.', pathPrefix, { maxItems: 64 }),
  ),
});

const adapter = object(
  'The program that turns instances into steps.',
  {
    builtIn: optional(word('Name of an adapter that is a part of Capstan, such as `slurm`.')),
    url: optional(text('Address of a provider’s own adapter.', { maxLength: 2048, pattern: '^https?://' })),
    caBundle: optional(
      text('Certificates of the authorities that may have signed the certificate of the adapter, in PEM.', { maxLength: 65_536 }),
    ),
    secretName: optional(
      objectName('Secret in the namespace `apps` of root:platform whose key `token` is sent to the adapter as a bearer token.'),
    ),
  },
  { rules: [{ rule: 'has(self.builtIn) != has(self.url)', message: 'must have either builtIn or url' }] },
);

export const appKind = defineKind({
  group: appsGroup,
  kind: 'App',
  plural: 'apps',
  categories: ['capstan'],
  scope: 'Cluster',
  description: 'An entry of the catalog: a distributed system that the platform deploys on allocations of a tenant.',
  versions: {
    v1alpha1: {
      spec: object('The app.', {
        displayName: text('Name for people, such as `Self-managed Kubernetes (RKE2)`.', { minLength: 1, maxLength: 128 }),
        description: optional(text('Description in a few sentences.', { maxLength: 4096 })),
        support: choice('Who operates instances: the platform, the tenant with help of the platform, or nobody but the tenant.', [
          'managed',
          'self-managed',
          'community',
        ]),
        promises: optional(list('Promises of the platform.', text('One promise.', { maxLength: 512 }), { maxItems: 16 })),
        exclusions: optional(
          list('Things that the platform does not promise.', text('One exclusion.', { maxLength: 512 }), { maxItems: 16 }),
        ),
        adapter,
        versions: keyedList('Versions that can be chosen.', version, { keys: ['name'], minItems: 1, maxItems: 64 }),
        placement: anything(
          'JSON schema of `placement` of its instances. Fields whose `format` is `allocation` name Allocations of the namespace of the instance.',
        ),
        parameters: optional(anything('JSON schema of `parameters` of its instances.')),
        components: keyedList('The roles of members.', component, { keys: ['name'], minItems: 1, maxItems: 16 }),
        operations: optional(keyedList('Operations beside those of every app.', operation, { keys: ['name'], maxItems: 32 })),
        permitted: optional(permitted),
        repairAfterProbes: optional(
          integer('How many probes of a member must fail in a row before the platform repairs it by itself. 3 if absent.', {
            minimum: 1,
            maximum: 100,
          }),
        ),
        access: optional(
          list('How instances are used.', choice('A way to use them.', ['kubeconfig', 'shell', 'endpoint']), { maxItems: 3 }),
        ),
      }),
      columns: [
        { name: 'Title', type: 'string', path: '.spec.displayName' },
        { name: 'Support', type: 'string', path: '.spec.support' },
        { name: 'Versions', type: 'string', path: '.spec.versions[*].name', priority: 1 },
      ],
    },
  },
});

export type App = ObjectOf<typeof appKind>;
export type AppSpec = App['spec'];
export type AppPermitted = ReadOf<typeof permitted>;

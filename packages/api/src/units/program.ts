import { duration, intOrString, labelName, objectName } from '../definition/common.ts';
import {
  choice,
  flag,
  integer,
  keyedList,
  list,
  object,
  optional,
  type ReadOf,
  type Rule,
  text,
  withDefault,
} from '../definition/schema.ts';

/** The program of a unit: the fields that a GPUUnit and the NodeUnits made of it have in common. */

export const restartPolicies = ['Never', 'OnFailure', 'Always'] as const;
export type RestartPolicy = (typeof restartPolicies)[number];

export const unitNetworks = ['Isolated', 'Host', 'None'] as const;
export type UnitNetwork = (typeof unitNetworks)[number];

const word = (description: string) => text(description, { maxLength: 32768 });
const envName = text('Name of the variable.', { minLength: 1, maxLength: 256, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' });

const keyOf = (description: string) =>
  object(
    description,
    {
      name: objectName('Name of the object, in the same namespace.'),
      key: text('Key in its data.', { minLength: 1, maxLength: 253 }),
      optional: optional(flag('Whether the variable is left out if the object or the key does not exist. Otherwise the unit waits.')),
    },
    { atomic: true },
  );

const one: Rule = {
  rule: '[has(self.value), has(self.secret), has(self.configMap)].filter(x, x).size() == 1',
  message: 'must have exactly one of value, secret and configMap',
};

const variable = object(
  'An environment variable.',
  {
    name: envName,
    value: optional(word('Its value.')),
    secret: optional(keyOf('A key of a Secret. Nodes get the value when the unit starts; it is not stored with the unit.')),
    configMap: optional(keyOf('A key of a ConfigMap.')),
  },
  { rules: [one] },
);

const portNumber = integer('Port that the program listens on.', { minimum: 1, maximum: 65535, format: 'int32' });

const port = object('A port of the unit.', { name: labelName('Name of the port.'), port: portNumber });

const probe = (description: string) =>
  object(
    description,
    {
      http: optional(
        object('A request that must be answered with 200 to 399.', {
          path: withDefault(text('Path of the request.', { maxLength: 1024, pattern: '^/' }), '/'),
          port: intOrString('Number or name of a port.', { maxLength: 63 }),
        }),
      ),
      tcp: optional(object('A connection that must be accepted.', { port: intOrString('Number or name of a port.', { maxLength: 63 }) })),
      command: optional(list('A command inside the unit that must exit with 0.', word('One word.'), { minItems: 1, maxItems: 256 })),
      initialDelay: withDefault(duration('Time before the first probe.'), '0s'),
      period: withDefault(duration('Time between two probes.'), '10s'),
      timeout: withDefault(duration('How long one probe may take.'), '1s'),
      failures: withDefault(integer('So many failures in a row count.', { minimum: 1, maximum: 1000 }), 3),
    },
    {
      rules: [
        {
          rule: '[has(self.http), has(self.tcp), has(self.command)].filter(x, x).size() == 1',
          message: 'must have exactly one of http, tcp and command',
        },
      ],
    },
  );

const mount = object('A storage that the program sees as a directory.', {
  storage: objectName('Name of the GPUStorage, in the same namespace.'),
  path: text('Absolute path inside the unit.', { minLength: 2, maxLength: 1024, pattern: '^/[^:\\x00]*$' }),
  readOnly: withDefault(flag('Whether the program may only read.'), false),
});

/** Fields of the spec of a GPUUnit and of a NodeUnit. */
export const programFields = {
  image: optional(
    text('Container image. Without it, the command runs on the file system of the node, which it can only read.', {
      minLength: 1,
      maxLength: 512,
    }),
  ),
  command: optional(
    list('Program and first arguments. If absent, those of the image.', word('One word.'), { minItems: 1, maxItems: 1024 }),
  ),
  args: optional(list('Further arguments.', word('One word.'), { maxItems: 1024 })),
  workingDirectory: optional(
    text('Absolute path in which the program starts. By default the directory of uploaded files, or that of the image.', {
      maxLength: 1024,
      pattern: '^/',
    }),
  ),
  env: optional(keyedList('Environment variables.', variable, { keys: ['name'], maxItems: 256 })),
  ports: optional(keyedList('Ports that can be reached.', port, { keys: ['name'], maxItems: 32 })),
  mounts: optional(keyedList('Storages of the unit.', mount, { keys: ['path'], maxItems: 16 })),
  tty: withDefault(flag('Whether the program gets a terminal.'), false),
  network: withDefault(
    choice(
      '`Isolated`: a network of its own, with access to the outside. `Host`: that of the node; only with whole nodes. `None`: loopback only.',
      [...unitNetworks],
    ),
    'Isolated',
  ),
  restartPolicy: withDefault(choice('Whether the program is started again after it has ended.', [...restartPolicies]), 'Never'),
  liveness: optional(probe('The program is ended, and restarted by its policy, when this fails.')),
  readiness: optional(probe('The unit is ready while this succeeds. Without it, as soon as the program runs.')),
  stopGrace: withDefault(duration('Time between SIGTERM and SIGKILL when the unit is stopped.'), '10s'),
};

const programShape = object('A program.', programFields);

export type UnitProgram = ReadOf<typeof programShape>;
export type UnitVariable = ReadOf<typeof variable>;
export type UnitPort = ReadOf<typeof port>;
export type UnitMount = ReadOf<typeof mount>;
export type UnitProbe = NonNullable<UnitProgram['liveness']>;

export const hasProgram: Rule = { rule: 'has(self.image) || has(self.command)', message: 'must have an image or a command' };

/** A probe that names a port names one of `ports`. */
export const namedPorts: readonly Rule[] = ['liveness', 'readiness'].flatMap((probeName) =>
  ['http', 'tcp'].map((protocol): Rule => {
    const path = `${probeName}.${protocol}`;
    return {
      rule:
        `!has(self.${probeName}) || !has(self.${path}) || type(self.${path}.port) == int || ` +
        `(has(self.ports) && self.ports.exists(p, p.name == self.${path}.port))`,
      message: 'must be a number or the name of one of the ports',
      fieldPath: `.${path}.port`,
    };
  }),
);

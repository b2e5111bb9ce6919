import { duration } from '../definition/common.ts';
import { choice, flag, integer, list, map, object, optional, type ReadOf, text, withDefault } from '../definition/schema.ts';
import { keyHash } from './fields.ts';

/** Scripts are NodeScripts; only services, which the platform's own controllers write, may have commands instead. */

const path = (description: string) => text(description, { minLength: 2, maxLength: 4096, pattern: '^/[^\\x00]*$' });
const unitName = text('Name of the service.', { minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9][A-Za-z0-9_.@-]*$' });

const fileWrite = object('Writes a file as a whole, atomically.', {
  path: path('Where the file is. Folders above it are created.'),
  content: text('Content of the file.', { maxLength: 524_288 }),
  mode: withDefault(text('Permissions, in octal digits.', { pattern: '^0?[0-7]{3}$' }), '0644'),
  owner: optional(text('User and group, such as `root:root`.', { maxLength: 65, pattern: '^[a-z_][a-z0-9_-]*(:[a-z_][a-z0-9_-]*)?$' })),
});

const artifactFetch = object(
  'Brings an artifact of the control plane to the node. It appears under its name as a whole, and only with the right hash.',
  {
    sha256: keyHash('SHA-256 of the artifact, which the owner has added with `capstan artifact add`.'),
    path: path('Where the file is, or the folder into which it is unpacked. Folders above it are created.'),
    mode: withDefault(text('Permissions of the file, in octal digits.', { pattern: '^0?[0-7]{3}$' }), '0644'),
    unpack: withDefault(
      choice('`tar.gz` unpacks it into a folder of its own, which replaces the one that such a task has unpacked before.', [
        'none',
        'tar.gz',
      ]),
      'none',
    ),
  },
);

const packageEnsure = object('Installs packages of the operating system, or removes them.', {
  names: list('Names of the packages.', text('Name.', { minLength: 1, maxLength: 128, pattern: '^[a-z0-9][a-z0-9+.:-]*$' }), {
    minItems: 1,
    maxItems: 64,
  }),
  state: withDefault(choice('Wanted state.', ['present', 'absent']), 'present'),
});

const scriptFields = {
  script: text('Name of the NodeScript.', { minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
  sha256: optional(keyHash('SHA-256 of its content. The task is refused if the script has another.')),
  arguments: optional(list('Arguments of the script.', text('Argument.', { maxLength: 4096 }), { maxItems: 64 })),
};

const serviceFields = {
  name: unitName,
  state: withDefault(choice('Wanted state.', ['running', 'stopped']), 'running'),
  command: optional(
    list(
      'Program and arguments of a service that the agent runs. A service without a command and a script is one that the machine already has.',
      text('Argument.', { maxLength: 4096 }),
      {
        minItems: 1,
        maxItems: 128,
      },
    ),
  ),
  script: optional(scriptFields.script),
  sha256: scriptFields.sha256,
  arguments: scriptFields.arguments,
  environment: optional(map('Environment of the program.', text('Value.', { maxLength: 32_768 }), { maxProperties: 128 })),
  keepsProcesses: optional(
    flag('Processes that the service started stay when it ends and is started again. They end when the service is stopped.'),
  ),
};

const serviceEnsure = object('Keeps a service running or stopped.', serviceFields, {
  rules: [
    { rule: '!(has(self.command) && has(self.script))', message: 'a service has a command or a script, not both' },
    { rule: 'has(self.script) || !(has(self.sha256) || has(self.arguments))', message: 'sha256 and arguments are those of a script' },
  ],
});

const processRun = object('Runs a NodeScript.', {
  ...scriptFields,
  environment: optional(map('Environment of the script.', text('Value.', { maxLength: 32_768 }), { maxProperties: 64 })),
});

const port = integer('Port.', { minimum: 1, maximum: 65_535 });
const probeTimes = {
  timeout: withDefault(duration('How long one attempt may take.'), '5s'),
  interval: withDefault(duration('Time between two attempts.'), '1s'),
};

const probeHttp = object('Waits until an address on this node answers over HTTP.', {
  host: withDefault(text('Host.', { maxLength: 253 }), '127.0.0.1'),
  port,
  path: withDefault(text('Path.', { maxLength: 2048, pattern: '^/' }), '/'),
  tls: withDefault(flag('Use HTTPS, without checking the certificate.'), false),
  status: withDefault(integer('Expected status code.', { minimum: 100, maximum: 599 }), 200),
  ...probeTimes,
});

const probeTcp = object('Waits until a port accepts connections.', {
  host: withDefault(text('Host.', { maxLength: 253 }), '127.0.0.1'),
  port,
  ...probeTimes,
});

const probeCommand = object('Waits until a NodeScript succeeds.', {
  ...scriptFields,
  ...probeTimes,
});

const collectLogs = object('Collects the ends of log files and of the journal into the output of the task.', {
  files: optional(list('Files.', path('Path.'), { maxItems: 32 })),
  units: optional(list('Services.', unitName, { maxItems: 32 })),
  lines: withDefault(integer('Lines of each.', { minimum: 1, maximum: 100_000 }), 1000),
});

const gpuInspect = object('Looks at the GPUs of the node now, and reports them.', {
  deep: withDefault(flag('Also run the vendor’s self-test where there is one.'), false),
});

const deviceId = text('UUID of a GPU or a MIG instance.', { minLength: 1, maxLength: 128 });

const gpuList = (description: string) => optional(list(description, deviceId, { minItems: 1, maxItems: 128 }));

const gpuAccept = object(
  'Accepts the GPUs of the node as they are.',
  {
    forget: gpuList('GPUs that were taken out of the machine for good. Those that are in it are refused.'),
    clear: gpuList('Condemned GPUs that are well: errors until now do not count any more.'),
  },
  { rules: [{ rule: 'has(self.forget) || has(self.clear)', message: 'must have forget, clear or both' }] },
);

const nodeClean = object('Removes the traces of an allocation: processes, mounts, GPU memory and files. Reports everything that remains.', {
  allocation: text('Id of the allocation.', { minLength: 1, maxLength: 128 }),
  devices: optional(
    list('GPUs, or their MIG instances, that only this allocation had. Nothing may compute on them any more.', deviceId, {
      maxItems: 1024,
    }),
  ),
});

/** The parameters of each type of task, by the name of its field in `spec`. */
export const taskFields = {
  fileWrite,
  artifactFetch,
  packageEnsure,
  serviceEnsure,
  processRun,
  probeHttp,
  probeTcp,
  probeCommand,
  collectLogs,
  gpuInspect,
  gpuAccept,
  nodeClean,
};

export type TaskField = keyof typeof taskFields;
/** The parameters of a type of task. */
export type TaskParameters<F extends TaskField> = ReadOf<(typeof taskFields)[F]>;

/** The names of the types, and the fields with their parameters. */
export const taskTypes = {
  'file.write': 'fileWrite',
  'artifact.fetch': 'artifactFetch',
  'package.ensure': 'packageEnsure',
  'service.ensure': 'serviceEnsure',
  'process.run': 'processRun',
  'probe.http': 'probeHttp',
  'probe.tcp': 'probeTcp',
  'probe.command': 'probeCommand',
  'collect.logs': 'collectLogs',
  'gpu.inspect': 'gpuInspect',
  'gpu.accept': 'gpuAccept',
  'node.clean': 'nodeClean',
} as const satisfies Readonly<Record<string, TaskField>>;

export type TaskTypeName = keyof typeof taskTypes;

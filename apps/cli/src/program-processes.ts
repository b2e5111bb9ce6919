import { type Command, Option } from 'commander';
import type { ConsoleServerFlags } from './commands/console-server.ts';
import type { ControllerManagerFlags } from './commands/manager-settings.ts';
import {
  defaultConsoleHealthPort,
  defaultConsolePort,
  defaultDataDirectory,
  defaultHealthPort,
  defaultPlatformHealthPort,
  defaultRestHealthPort,
  defaultRestPort,
  parseHealthPort,
} from './commands/options.ts';
import type { PlatformControllersFlags } from './commands/platform-controllers.ts';
import type { RuntimeApiFlags } from './commands/runtime-api.ts';
import type { StatusFlags } from './commands/status.ts';
import { examples, settingsHelp } from './help.ts';
import { logFormats } from './log.ts';

export const dataDirectoryOption = (): Option =>
  new Option('-d, --data-dir <dir>', `directory for all data (default: ${defaultDataDirectory})`);
export const logFormatOption = (): Option =>
  new Option('--log-format <format>', 'plain lines, or a JSON object per line (default: text)').choices([...logFormats]);

/** The commands that run controllers. */
export function addControllers(program: Command): void {
  controllerCommand(program.command('controller-manager'), {
    uses: 'the controller-manager.kubeconfig and signer',
    port: defaultHealthPort,
  })
    .description('Run only the controllers, against any API server.')
    .addHelpText(
      'after',
      examples(
        ['capstan controller-manager --data-dir ./data', 'with an API server on this machine'],
        ['capstan controller-manager --kubeconfig manager.kubeconfig', 'with any API server; one of several instances is active'],
        ['capstan controller-manager --config capstan.yaml', 'use the section "controllerManager" of the file'],
      ) +
        settingsHelp(
          ['kubeconfigFile: manager.kubeconfig', ''],
          ['listen: { host: 127.0.0.1, port: 10257 }', '/livez, /readyz and /metrics'],
          ['leaderElection: { leaseSeconds: 15 }', 'or enabled: false, if no second instance can run'],
          ['controllers: ["*", "-garbage-collector"]', 'all but one; without "*", only the listed ones'],
          ['concurrency: { namespace: 8 }', 'how many objects to process at a time'],
          ['signing: { certificateFile: s.crt, keyFile: s.key }', 'signs the certificates of CertificateSigningRequests'],
        ),
    )
    .action(async (flags: ControllerManagerFlags) => (await import('./commands/controller-manager.ts')).controllerManager(flags));
  controllerCommand(program.command('platform-controllers'), {
    uses: 'the platform-controllers.kubeconfig',
    port: defaultPlatformHealthPort,
  })
    .addOption(new Option('--job-token-file <file>', 'keep a token here for the jobs of "capstan runtime-api" on the same machine'))
    .description('Run only the products: install what they need in root:platform, and run their controllers.')
    .addHelpText(
      'after',
      examples(
        ['capstan platform-controllers --data-dir ./data', 'with an API server on this machine'],
        ['capstan platform-controllers --config capstan.yaml', 'use the section "platformControllers" of the file'],
      ) +
        settingsHelp(
          ['kubeconfigFile: platform.kubeconfig', ''],
          ['listen: { host: 127.0.0.1, port: 10258 }', '/livez, /readyz and /metrics'],
          ['leaderElection: { leaseSeconds: 15 }', 'or enabled: false, if no second instance can run'],
          ['nodes: { silentSeconds: 40 }', 'when the state of a silent node becomes Unknown'],
        ),
    )
    .action(async (flags: PlatformControllersFlags) => (await import('./commands/platform-controllers.ts')).platformControllers(flags));
}

/** Adds the options that all processes with controllers have. */
function controllerCommand(command: Command, { uses, port }: { readonly uses: string; readonly port: number }): Command {
  return command
    .addOption(new Option('-c, --config <file>', 'YAML file with all settings; flags override it'))
    .addOption(new Option('-k, --kubeconfig <file>', 'the API server to connect to').conflicts('dataDir'))
    .addOption(new Option('-d, --data-dir <dir>', `use ${uses} that the API server created here (default: ${defaultDataDirectory})`))
    .addOption(
      new Option('-p, --port <number>', `port for /livez, /readyz and /metrics; 0 for any (default: ${port})`).argParser(parseHealthPort),
    )
    .addOption(logFormatOption())
    .addOption(new Option('--no-leader-elect', 'start without leader election; only if no second instance can run'));
}

/** `capstan runtime-api`. */
export function addRuntimeApi(program: Command): void {
  program
    .command('runtime-api')
    .description('Run only the REST API, in front of any API server. Start as many as you like.')
    .addOption(new Option('-c, --config <file>', 'YAML file with all settings; flags override it'))
    .addOption(new Option('-k, --kubeconfig <file>', 'the API server; credentials in it are not used').conflicts('dataDir'))
    .addOption(
      new Option(
        '-d, --data-dir <dir>',
        `use the runtime-api.kubeconfig that the API server created here (default: ${defaultDataDirectory})`,
      ),
    )
    .addOption(new Option('-p, --port <number>', `port to listen on; 0 for any (default: ${defaultRestPort})`).argParser(parseHealthPort))
    .addOption(
      new Option(
        '--health-port <number>',
        `port for /livez, /readyz and /metrics; 0 for any (default: ${defaultRestHealthPort})`,
      ).argParser(parseHealthPort),
    )
    .addOption(new Option('--job-token-file <file>', 'a token of the account "operator", to work on the jobs of operators'))
    .addOption(logFormatOption())
    .addHelpText(
      'after',
      examples(
        ['capstan runtime-api --data-dir ./data', 'with an API server on this machine'],
        ['capstan runtime-api --config capstan.yaml', 'use the section "runtimeApi" of the file'],
        [`curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:${defaultRestPort}/api/v1/gpu-units`, ''],
      ) +
        settingsHelp(
          ['kubeconfigFile: server.kubeconfig', ''],
          ['listen: { host: 0.0.0.0, port: 8443 }', 'anything but loopback needs tls'],
          ['tls: { certificateFile: rest.crt, keyFile: rest.key }', 'or plainText: true behind a proxy that encrypts'],
          ['health: { host: 127.0.0.1, port: 10259 }', '/livez, /readyz and /metrics'],
          ['limits: { streamsPerUser: 32 }', ''],
          ['enabled: false', 'for "capstan up": do not start it'],
        ),
    )
    .action(async (flags: RuntimeApiFlags) => (await import('./commands/runtime-api.ts')).runtimeApi(flags));
}

/** `capstan console-server`. */
export function addConsoleServer(program: Command): void {
  program
    .command('console-server')
    .description('Run only the console for browsers, in front of any API server.')
    .addOption(new Option('-c, --config <file>', 'YAML file with all settings; flags override it'))
    .addOption(new Option('-k, --kubeconfig <file>', 'the API server; credentials in it are not used').conflicts('dataDir'))
    .addOption(
      new Option('-d, --data-dir <dir>', `use the console.kubeconfig that the API server created here (default: ${defaultDataDirectory})`),
    )
    .addOption(
      new Option('-p, --port <number>', `port to listen on; 0 for any (default: ${defaultConsolePort})`).argParser(parseHealthPort),
    )
    .addOption(
      new Option(
        '--health-port <number>',
        `port for /livez, /readyz and /metrics; 0 for any (default: ${defaultConsoleHealthPort})`,
      ).argParser(parseHealthPort),
    )
    .addOption(new Option('--rest-url <url>', `the REST API (default: http://127.0.0.1:${defaultRestPort})`))
    .addOption(logFormatOption())
    .addHelpText(
      'after',
      examples(
        ['capstan console-server --data-dir ./data', 'with an API server on this machine'],
        ['capstan console-server --config capstan.yaml', 'use the section "console" of the file'],
        ['capstan console', 'get a link to sign in'],
      ) +
        settingsHelp(
          ['listen: { host: 0.0.0.0, port: 8443 }', 'anything but loopback is served over https'],
          ['names: [console.example.com]', 'in the addresses that browsers use'],
          ['tls: { certificateFile: c.crt, keyFile: c.key }', "by default one of the platform's own authority"],
          ['runtimeApi: { url: "http://127.0.0.1:6444" }', 'the REST API'],
          ['sessions: { idleMinutes: 720, maxAgeMinutes: 1440 }', ''],
          ['enabled: false', 'for "capstan up": do not start it'],
        ),
    )
    .action(async (flags: ConsoleServerFlags) => (await import('./commands/console-server.ts')).consoleServer(flags));
}

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('Show the processes of a running "capstan up": health, restarts, memory and ports.')
    .addOption(new Option('-c, --config <file>', 'configuration file of the running "capstan up", for its data directory'))
    .addOption(dataDirectoryOption())
    .addOption(new Option('-o, --output <format>', 'print JSON instead of a table').choices(['json']))
    .addHelpText(
      'after',
      examples(
        ['capstan status', 'of the "capstan up" on ./capstan-data, or beside the file in KUBECONFIG; works even if its API server is down'],
        ['capstan status --output json', 'for scripts; the exit code is 12 if nothing runs and 13 if a required process is not healthy'],
      ),
    )
    .action(async (flags: StatusFlags) => {
      process.exitCode = await (await import('./commands/status.ts')).status(flags);
    });
}

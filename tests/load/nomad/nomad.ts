import { mkdirSync, writeFileSync } from 'node:fs';
import { Child, freePort, output, requireTool, type TemporaryDirectory } from '@capstan/testbed';
import { eventually, type Peer, timeInFile, writeTime } from './peer.ts';

/** Detection that calls addresses of clouds, or needs programs that are not compared. */
const undetected = 'env_aws,env_gce,env_azure,env_digitalocean,consul,vault,cni';

interface Ports {
  readonly http: number;
  readonly rpc: number;
  readonly serf: number;
}

/** One server and one client of Nomad, each a process of its own, that run programs without isolation (`raw_exec`). */
export async function startNomad(directory: TemporaryDirectory): Promise<Peer & AsyncDisposable> {
  const path = await requireTool('nomad');
  const [serverPorts, clientPorts] = [await ports(), await ports()];
  const address = `http://127.0.0.1:${serverPorts.http}`;
  const server = new Child('nomad server', [
    path,
    'agent',
    '-config',
    configuration(directory, 'server', serverPorts, 'server { enabled = true, bootstrap_expect = 1 }'),
  ]);
  const client = new Child('nomad client', [
    path,
    'agent',
    '-config',
    configuration(directory, 'client', clientPorts, clientSection(serverPorts.rpc)),
  ]);
  const startOf = (name: string): string => directory.join(`${name}.started`);
  const stop = async (): Promise<void> => {
    await client.stop(20_000);
    await server.stop(20_000);
  };
  try {
    await eventually('the client of Nomad is ready', 100, async () => {
      if (!client.running || !server.running) throw new Error(`Nomad has ended: ${server.output}${client.output}`);
      const nodes = (await ask<readonly { readonly Status: string }[]>(`${address}/v1/nodes`).catch(() => [])) ?? [];
      return nodes.find(({ Status }) => Status === 'ready');
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    servers: [server.pid],
    agent: client.pid,
    command: async (name) => {
      const file = directory.join(`${name}.json`);
      writeFileSync(file, JSON.stringify({ Job: jobOf(name, startOf(name)) }));
      await output(path, ['job', 'run', '-detach', '-json', '-address', address, file]);
    },
    request: async (name) => void (await ask(`${address}/v1/jobs`, { Job: jobOf(name, startOf(name)) })),
    started: (name) => timeInFile(startOf(name)),
    [Symbol.asyncDispose]: stop,
  };
}

async function ports(): Promise<Ports> {
  return { http: await freePort(), rpc: await freePort(), serf: await freePort() };
}

/** Writes the configuration of an agent, and returns its path. */
function configuration(directory: TemporaryDirectory, name: string, { http, rpc, serf }: Ports, section: string): string {
  const data = directory.join(`nomad-${name}`);
  mkdirSync(data, { recursive: true });
  const file = directory.join(`nomad-${name}.hcl`);
  writeFileSync(
    file,
    `name = "${name}"
data_dir = "${data}"
bind_addr = "127.0.0.1"
disable_update_check = true
log_level = "WARN"
ports {
  http = ${http}
  rpc = ${rpc}
  serf = ${serf}
}
advertise {
  http = "127.0.0.1"
  rpc = "127.0.0.1"
  serf = "127.0.0.1"
}
${section}
`,
  );
  return file;
}

const clientSection = (rpc: number): string => `client {
  enabled = true
  servers = ["127.0.0.1:${rpc}"]
  network_interface = "lo"
  cpu_total_compute = 100000
  memory_total_mb = 100000
  options = {
    "fingerprint.denylist" = "${undetected}"
    "driver.allowlist" = "raw_exec"
  }
}
plugin "raw_exec" {
  config {
    enabled = true
  }
}`;

/** A batch job of one task, which is not tried again. */
function jobOf(name: string, file: string): object {
  return {
    ID: name,
    Name: name,
    Type: 'batch',
    Datacenters: ['dc1'],
    TaskGroups: [
      {
        Name: 'group',
        Count: 1,
        EphemeralDisk: { SizeMB: 10 },
        RestartPolicy: { Attempts: 0, Mode: 'fail' },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        Tasks: [
          {
            Name: 'task',
            Driver: 'raw_exec',
            Config: { command: '/bin/sh', args: ['-c', writeTime(file)] },
            Resources: { CPU: 10, MemoryMB: 16 },
            LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
          },
        ],
      },
    ],
  };
}

async function ask<Answer>(url: string, body?: object): Promise<Answer> {
  const answer = await fetch(url, { method: body === undefined ? 'GET' : 'PUT', ...(body && { body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

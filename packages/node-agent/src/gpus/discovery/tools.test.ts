import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AmdTools } from '../amd/tools.ts';
import { DeclaredTools } from '../declared/tools.ts';
import { processFields, sampleFields } from '../nvidia/samples.ts';
import { NvidiaTools } from '../nvidia/tools.ts';
import { fixture } from '../testing.ts';
import type { RunCommand } from './command.ts';
import type { GpuTools } from './tools.ts';

const now = (): number => 1_000;
let folder = '';

/** Answers with what a real program printed. Commands that are not in the table fail the test. */
function recorded(outputs: Readonly<Record<string, string>>): RunCommand & { readonly calls: string[] } {
  const calls: string[] = [];
  const run = (program: string, args: readonly string[]): ReturnType<RunCommand> => {
    const call = [basename(program), ...args].join(' ');
    calls.push(call);
    const output = outputs[call];
    return output === undefined ? Promise.reject(new Error(`unexpected: ${call}`)) : Promise.resolve({ output, exitCode: 0 });
  };
  return Object.assign(run, { calls });
}

const query = (fields: readonly string[] = sampleFields): string => `nvidia-smi --query-gpu=${fields.join(',')} --format=csv,nounits`;
const loaded = {
  'nvidia-smi -q -x': fixture('nvidia-h200-loaded/nvidia-smi-q.xml'),
  'nvidia-smi topo -m': fixture('nvidia-h200/nvidia-smi-topo.txt'),
  [query()]: fixture('nvidia-h200-loaded/query.csv'),
  [`nvidia-smi --query-compute-apps=${processFields} --format=csv,nounits`]: fixture('nvidia-h200-loaded/compute-apps.csv'),
  'nvidia-smi pmon -c 1 -s um': fixture('nvidia-h200-loaded/pmon.txt'),
};
const amd = Object.fromEntries(
  ['list', 'static', 'metric', 'process', 'topology', 'version'].map((name) => [`amd-smi ${name} --json`, fixture(`amd/${name}.json`)]),
);
const rocm =
  'rocm-smi --showuniqueid --showbus --showproductname --showmeminfo vram --showuse --showtemp --showpower --showdriverversion --showtoponuma --json';

async function programs(name: string, ...files: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await mkdir(path, { recursive: true });
  for (const file of files) {
    await writeFile(join(path, file), '');
    await chmod(join(path, file), 0o755);
  }
  return path;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'capstan-gpus-'));
  await writeFile(join(folder, 'gpus.yaml'), 'gpus: [{model: H100, count: 2}]');
  for (const bus of ['0000:1b:00.0', '0000:43:00.0', '0000:61:00.0'])
    await mkdir(join(folder, 'proc/driver/nvidia/gpus', bus), { recursive: true });
  await mkdir(join(folder, 'sys/module/amdgpu/drivers/pci:amdgpu/0000:75:00.0/drm/renderD152'), { recursive: true });
});
afterAll(() => rm(folder, { recursive: true }));

const sources: readonly [string, () => Promise<GpuTools>, number][] = [
  [
    'nvidia-smi',
    async () => new NvidiaTools({ run: recorded(loaded), now, folders: [await programs('nvidia', 'nvidia-smi')], root: folder }),
    1,
  ],
  [
    'amd-smi',
    async () => new AmdTools({ run: recorded(amd), now, folders: [await programs('amd', 'amd-smi', 'rocm-smi')], root: folder }),
    8,
  ],
  [
    'rocm-smi',
    async () =>
      new AmdTools({
        run: recorded({ [rocm]: fixture('amd/rocm-smi.json') }),
        now,
        folders: [await programs('rocm', 'rocm-smi')],
        root: folder,
      }),
    8,
  ],
  ['a declaration', () => Promise.resolve(new DeclaredTools({ path: join(folder, 'gpus.yaml'), machine: 'n1', now })), 2],
];

describe.each(sources)('%s', (_, make, count) => {
  test('is present, and reports cards and readings that fit each other', async () => {
    const tools = await make();
    expect(await tools.isPresent()).toBe(true);
    const report = await tools.report();
    expect(report).toMatchObject({ source: tools.source, observedAt: 1_000, unreachable: [] });
    expect(report.gpus).toHaveLength(count);
    const uuids = report.gpus.map(({ uuid }) => uuid);
    expect(new Set(uuids).size).toBe(count);
    expect(report.readings.map(({ uuid }) => uuid)).toEqual(uuids);
    expect((await tools.sample()).map(({ uuid }) => uuid)).toEqual(uuids);
  });

  test('has the same fingerprint while nothing changes', async () => {
    const tools = await make();
    expect(await tools.fingerprint()).toBe(await tools.fingerprint());
  });
});

describe('NvidiaTools', () => {
  const make = (outputs: Readonly<Record<string, string>>): { tools: NvidiaTools; run: ReturnType<typeof recorded> } => {
    const run = recorded(outputs);
    return { tools: new NvidiaTools({ run, now, root: folder }), run };
  };

  test('is not present without nvidia-smi', async () => {
    expect(await new NvidiaTools({ run: recorded({}), now, folders: [await programs('empty')] }).isPresent()).toBe(false);
  });

  test('asks for the names of MIG devices only where there are any', async () => {
    const { tools, run } = make({
      'nvidia-smi -q -x': fixture('nvidia-mig/nvidia-smi-q.xml'),
      'nvidia-smi -L': fixture('nvidia-mig/list.txt'),
      'nvidia-smi topo -m': '\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\t0-7\t0\nGPU1\tSYS\t X \t8-15\t1\n',
    });
    expect((await tools.report()).gpus[0]!.mig.devices).toHaveLength(2);
    expect(run.calls).toContain('nvidia-smi -L');
  });

  test('asks for each card when one that is lost hides the others', async () => {
    const one = (bus: string): string =>
      fixture('nvidia-h100x8/nvidia-smi-q.xml').replaceAll(/\t<gpu id="00000000:(\w\w)[\s\S]*?<\/gpu>\n\n/g, (gpu, found: string) =>
        found.toLowerCase() === bus ? gpu : '',
      );
    const { tools } = make({
      'nvidia-smi -q -x': fixture('nvidia-broken/lost-only.txt'),
      'nvidia-smi -q -x -i 0000:1b:00.0': one('1b'),
      'nvidia-smi -q -x -i 0000:43:00.0': one('43'),
    });
    const report = await tools.report();
    expect(report.gpus.map(({ pciBusId }) => pciBusId)).toEqual(['0000:1b:00.0', '0000:43:00.0']);
    expect(report.unreachable).toMatchObject([{ pciBusId: '0000:61:00.0' }]);
  });

  test('reports no cards when the driver shows none (recorded), and fails when there is no driver (recorded)', async () => {
    const none = fixture('nvidia-broken/no-devices.txt');
    const { tools } = make({ 'nvidia-smi -q -x': none, [query()]: none });
    expect(await tools.report()).toMatchObject({ gpus: [] });
    expect(await tools.sample()).toEqual([]);
    await expect(make({ 'nvidia-smi -q -x': fixture('nvidia-broken/nvml-blocked.txt') }).tools.report()).rejects.toThrow(
      expect.objectContaining({ code: 'DriverUnavailable' }) as Error,
    );
  });

  test('leaves out fields that an older driver does not know', async () => {
    const known = sampleFields.filter((field) => field !== 'clocks_event_reasons.active');
    const { tools, run } = make({
      ...loaded,
      [query()]: 'Field "clocks_event_reasons.active" is not a valid field to query.\n',
      [query(known)]: fixture('nvidia-h200-loaded/query.csv'),
    });
    expect(await tools.sample()).toHaveLength(1);
    await tools.sample();
    expect(run.calls.filter((call) => call === query())).toHaveLength(1);
  });

  test('does not need the utilisation of processes', async () => {
    const { 'nvidia-smi pmon -c 1 -s um': _pmon, ...rest } = loaded;
    expect((await make(rest).tools.sample())[0]!.processes).toEqual([{ pid: 457, name: 'python3', memoryBytes: 9066 * 1024 * 1024 }]);
  });

  test('fails when the tool is killed while it prints', async () => {
    const run: RunCommand = () => Promise.resolve({ output: fixture('nvidia-h200/query.csv'), exitCode: null });
    await expect(new NvidiaTools({ run, now }).sample()).rejects.toThrow('was killed');
  });

  test('has another fingerprint when a card or a MIG device comes', async () => {
    const { tools } = make({});
    const fingerprints = [await tools.fingerprint()];
    await mkdir(join(folder, 'proc/driver/nvidia/gpus/0000:c3:00.0'), { recursive: true });
    fingerprints.push(await tools.fingerprint());
    await mkdir(join(folder, 'proc/driver/nvidia/capabilities/gpu0/mig/gi1'), { recursive: true });
    fingerprints.push(await tools.fingerprint());
    expect(new Set(fingerprints).size).toBe(3);
  });
});

describe('AmdTools', () => {
  test('finds the device files of the cards', async () => {
    const tools = new AmdTools({ run: recorded(amd), now, root: folder });
    expect((await tools.report()).gpus[3]).toMatchObject({ minor: 152, deviceFiles: ['/dev/kfd', '/dev/dri/renderD152'] });
  });
});

describe('DeclaredTools', () => {
  test('fails without its file, and sees that it has changed', async () => {
    const path = join(folder, 'later.yaml');
    const tools = new DeclaredTools({ path, machine: 'n1', now });
    await expect(tools.report()).rejects.toThrow('the file of declared GPUs');
    await symlink(join(folder, 'gpus.yaml'), path);
    const before = await tools.fingerprint();
    await rm(path);
    await writeFile(path, 'gpus: []');
    expect(await tools.fingerprint()).not.toBe(before);
  });
});

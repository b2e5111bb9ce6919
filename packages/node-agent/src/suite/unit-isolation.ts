import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { closeSizedFolder, openSizedFolder } from '../disks/sized-folder.ts';
import { type DriverUnderTest, TestRooms } from './unit-rooms.ts';

export interface IsolationUnderTest extends DriverUnderTest {
  /** The state directory of the agent, with a file `secret`. */
  readonly state: string;
  /**
   * `own`: each unit has a user, without any rights, and sees the node's files. `root`: programs in images are root with a few rights, on files
   * of their own.
   */
  readonly user: 'own' | 'root';
  /** In bytes: how much of the disk a unit may use. */
  readonly disk: number;
}

/** CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID and NET_BIND_SERVICE. */
const fewRights = '00000000000004fb';

/** Tests of everything that a unit must not be able to do, for drivers that isolate, on machines where they can. */
export function unitIsolationSuite(tested: IsolationUnderTest): void {
  const rooms = new TestRooms(tested);
  const isOwn = tested.user === 'own';
  const scratch = mkdtempSync(join(tmpdir(), 'capstan-isolation-'));
  afterEach(() => rooms.clean());
  afterAll(() => rmSync(scratch, { recursive: true }));
  const folder = (name: string): string => {
    const path = join(scratch, `${name}-${randomUUID().slice(0, 8)}`);
    mkdirSync(path);
    return path;
  };
  /** A unit that waits, and the pid of its program on the node. */
  const waiting = async (
    script = 'echo ready; exec sleep 600',
    more = {},
  ): Promise<{ room: ReturnType<TestRooms['room']>; pid: number }> => {
    const room = await rooms.start(rooms.shell(script, more));
    await rooms.untilPrinted(room, 'ready');
    const state = await (await tested.renew()).find(room.id, 0);
    return { room, pid: state?.phase === 'running' ? state.pid : 0 };
  };

  describe('files', () => {
    test('of the node cannot be written', async () => {
      const name = `capstan-${randomUUID()}`;
      const places = ['/', '/etc', '/usr', '/usr/bin', '/var', '/opt'];
      const seen = await rooms.printed(`for d in ${places.join(' ')}; do touch $d/${name} 2>/dev/null && echo "wrote $d"; done; echo end`);
      if (isOwn) expect(seen).toBe('end\n');
      for (const place of places) expect(existsSync(join(place, name))).toBe(false);
      expect(await rooms.printed(`ls -d ${places.map((place) => join(place, name)).join(' ')} 2>/dev/null; echo end`)).toBe('end\n');
    });

    test('in /tmp, /var/tmp, /dev/shm, /run and the home are private', async () => {
      const secret = join(tmpdir(), `capstan-secret-${randomUUID()}`);
      writeFileSync(secret, 'mine');
      const places = '/tmp /var/tmp /dev/shm /run "$HOME"';
      await waiting(`for d in ${places}; do echo x > $d/of-another || echo "failed $d"; done; echo ready; exec sleep 600`);
      try {
        expect(await rooms.printed(`cat ${secret}; for d in ${places}; do ls $d/of-another; done; ls /root /home; echo end`)).toMatch(
          /^(\/(root|home):\n|unit\n|\n)*end\n$/,
        );
      } finally {
        rmSync(secret);
      }
    });

    test('of the agent are hidden', async () => {
      chmodSync(tested.state, 0o755);
      expect(readFileSync(join(tested.state, 'secret'), 'utf8')).toBe('secret');
      expect(await rooms.printed(`cat ${tested.state}/secret; ls ${tested.state}; echo end`)).toBe('end\n');
    });

    test('of the unit are its own: uploads and mounts can be written, and read again by the next start with another user', async () => {
      const [uploads, storage, fixed] = [folder('uploads'), folder('storage'), folder('fixed')];
      writeFileSync(join(uploads, 'program'), 'uploaded');
      chmodSync(join(uploads, 'program'), 0o600);
      writeFileSync(join(fixed, 'data'), 'fixed');
      const more = {
        uploads,
        mounts: [
          { source: storage, path: '/data/deep', readOnly: false },
          { source: fixed, path: '/usr/share/capstan-test/fixed', readOnly: true },
        ],
      };
      const script =
        'pwd; cat program; echo; cat /usr/share/capstan-test/fixed/data; echo; touch /usr/share/capstan-test/fixed/x 2>/dev/null && echo wrote; ' +
        'cat /data/deep/kept; echo kept > /data/deep/kept; echo more >> program; stat -c %U /data/deep/kept; chmod 600 /data/deep/kept';
      const first = await rooms.run(rooms.shell(script, more));
      const owner = isOwn ? 'unit' : 'root';
      expect(first.stdout).toBe(`/workspace\nuploaded\nfixed\n${owner}\n`);
      const second = await rooms.run(rooms.shell(script, more));
      expect(second.stdout).toBe(`/workspace\nuploadedmore\n\nfixed\nkept\n${owner}\n`);
      expect(readFileSync(join(storage, 'kept'), 'utf8')).toBe('kept\n');
    });

    test('a mount cannot hide what the system needs', async () => {
      for (const path of ['/proc', '/dev/x', '/sys', '/', '/tmp/../proc']) {
        const room = rooms.shell('true', { mounts: [{ source: folder('bad'), path, readOnly: false }] });
        await expect(rooms.start(room)).rejects.toMatchObject({ reason: 'StorageUnavailable', isFinal: true });
      }
    });

    test('a link in a storage does not lead the next start onto the node', async () => {
      const [storage, other] = [folder('trap'), folder('other')];
      const victim = folder('victim');
      await rooms.run(
        rooms.shell(`ln -s /.node${victim} /data/link; ln -s ../../../../../../..${victim} /data/far`, {
          mounts: [{ source: storage, path: '/data', readOnly: false }],
        }),
      );
      for (const link of ['link', 'far']) {
        const mounts = [
          { source: storage, path: '/data', readOnly: false },
          { source: other, path: `/data/${link}/made`, readOnly: false },
        ];
        await rooms.start(rooms.shell('true', { mounts })).catch(() => {});
      }
      expect(() => statSync(join(victim, 'made'))).toThrow('ENOENT');
    });

    test('cannot fill the disk of the node', async () => {
      const uploads = folder('uploads');
      const { disk } = tested;
      if (isOwn) await openSizedFolder({ image: `${uploads}.image`, point: uploads }, { size: disk, spare: () => 0 });
      try {
        const place = isOwn ? '/workspace' : '/var';
        const script = `head -c 200000000 /dev/zero > ${place}/large; echo "status $?"; stat -c %s ${place}/large; rm ${place}/large; echo kept > ${place}/small; cat ${place}/small`;
        const { stdout } = await rooms.run(rooms.shell(script, isOwn ? { uploads } : {}));
        const [status, size, small] = stdout.trim().split('\n');
        expect([status, small]).toEqual(['status 1', 'kept']);
        expect(Number(size)).toBeGreaterThan(disk / 2);
        expect(Number(size)).toBeLessThan(disk);
      } finally {
        await closeSizedFolder({ image: `${uploads}.image`, point: uploads });
      }
    });

    test('in memory count as memory of the unit', async () => {
      const file = isOwn ? '/tmp/big' : '/dev/shm/big';
      const { state, stdout } = await rooms.run(
        rooms.shell(`head -c 200000000 /dev/zero > ${file}; stat -c %s ${file}; exit 3`, { memory: 64 << 20 }),
      );
      expect(state).toMatchObject({ phase: 'exited', code: expect.any(Number) });
      expect(Number(stdout || 0)).toBeLessThanOrEqual(64 << 20);
    });
  });

  describe('processes', () => {
    test('of others are invisible, and cannot be signalled or traced', async () => {
      const { pid } = await waiting();
      const seen = await rooms.printed(
        `cat /proc/[0-9]*/cmdline | tr '\\0' ' '; kill -9 ${pid} 2>/dev/null && echo ki''lled; ls /proc/${pid}/root 2>/dev/null; echo end`,
      );
      expect(seen).not.toContain('sleep 600');
      expect(seen).not.toContain('killed');
      expect(readFileSync(`/proc/${pid}/comm`, 'utf8')).toBe('sleep\n');
    });

    test.runIf(isOwn)('of two units have different users, neither of them root', async () => {
      const [first, second] = [await waiting('id -u; echo ready; exec sleep 600'), await waiting('id -u; echo ready; exec sleep 600')];
      const users = await Promise.all([first, second].map(async ({ room }) => (await rooms.output(room, 'stdout')).split('\n')[0]));
      expect(users[0]).not.toBe(users[1]);
      expect(users).not.toContain('0');
    });

    test('have nothing of the environment of the agent', async () => {
      process.env['CAPSTAN_TEST_SECRET'] = 'secret-of-the-agent';
      try {
        expect(await rooms.printed('env; cat /proc/[0-9]*/environ | tr "\\0" "\\n"')).not.toContain('secret-of-the-agent');
      } finally {
        delete process.env['CAPSTAN_TEST_SECRET'];
      }
    });

    test('cannot be more than the limit: a fork bomb hurts nobody else', async () => {
      const room = await rooms.start(rooms.shell('bomb() { bomb | bomb & }; bomb 2>/dev/null; echo ready; sleep 600'));
      await rooms.untilPrinted(room, 'ready');
      expect(await rooms.printed('echo fine')).toBe('fine\n');
      await (await tested.renew()).stop(room.id, 0);
    }, 120_000);

    test('that take too much memory are ended, and the reason says so', async () => {
      const command = ['/usr/bin/perl', '-e', 'my @all; push @all, "x" x 1048576 while 1'];
      expect((await rooms.run(rooms.room(command, { memory: 48 << 20 }))).state).toMatchObject({
        phase: 'exited',
        code: 137,
        reason: 'OutOfMemory',
      });
    });
  });

  describe('rights', () => {
    /** Of the five sets, those that processes get without a program that has rights of its own. */
    const expectRights = (status: string): void => {
      const sets = [...status.matchAll(/^Cap(\w+):\s*(\w+)$/gm)].map((match) => [match[1], match[2]!]);
      const none = '0'.repeat(16);
      const some = isOwn ? none : fewRights;
      expect(Object.fromEntries(sets)).toEqual({ Inh: none, Prm: some, Eff: some, Bnd: some, Amb: none });
    };

    test('are none, or few: capabilities, no new privileges, a filter', async () => {
      const status = await rooms.printed('grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status');
      expectRights(status);
      expect(status).toMatch(/NoNewPrivs:\s*1/);
      expect(status).toMatch(/Seccomp:\s*2/);
    });

    test('commands of exec have no more than the program', async () => {
      const { room } = await waiting();
      const { stdout } = await rooms.exec(
        room,
        'id -u; grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; touch /etc/x 2>/dev/null && echo wrote',
      );
      expectRights(stdout);
      expect(stdout).toMatch(/Seccomp:\s*2/);
      if (!isOwn) return;
      expect(stdout).not.toMatch(/^0$/m);
      expect(stdout).not.toContain('wrote');
    });

    test.runIf(isOwn)('programs that would become root stay what they are', async () => {
      const script =
        'for p in su mount passwd; do f=$(command -v $p) && ls -ln $f >/dev/null; done; su -c id root </dev/null 2>&1 | grep -c "uid=0"; find / -xdev -perm -4000 2>/dev/null | head -1 >/dev/null; id -u';
      const seen = (await rooms.printed(script)).trim().split('\n');
      expect(seen[0]).toBe('0');
      expect(seen.at(-1)).not.toBe('0');
    });

    test('files of the node are not reachable through its processes', async () => {
      const seen = await rooms.printed(
        'for p in /proc/[0-9]*; do ls $p/root/proc/1 >/dev/null 2>&1 && cat $p/comm; done; cat /proc/1/root/etc/hostname; echo end',
      );
      // Of its own processes only.
      expect(seen.replaceAll(/^(sh|ls|cat|busybox)\n/gm, '')).toBe('end\n');
    });

    test.each([
      ['mount', 'mount -t tmpfs none /tmp'],
      ['unshare with a user', 'unshare -U true'],
      ['unshare a network', 'unshare -rn true'],
      ['enter the namespaces of another', 'nsenter -t 1 -m true'],
      ['make a device file', 'mknod /tmp/sda b 8 0'],
      ['change the root', 'chroot / true'],
      ['change the name of the host', 'hostname other'],
      ['read the kernel log', 'dmesg'],
      ['raise its limits', 'sh -c "ulimit -c unlimited"'],
    ])('it cannot %s', async (_what, command) => {
      expect((await rooms.run(rooms.shell(`${command} >/dev/null 2>&1; test $? -ne 0 && echo refused`))).stdout).toBe('refused\n');
    });

    test.each([
      ['bpf', 321],
      ['perf_event_open', 298],
      ['keyctl', 250],
      ['userfaultfd', 323],
      ['open_by_handle_at', 304],
      ['io_uring_setup', 425],
      ['clone3', 435],
      ['fsopen', 430],
      ['init_module', 175],
      ['ptrace of the first process', 101],
    ])('the call %s is refused', async (name, number) => {
      if (process.arch !== 'x64') return;
      const args = name.startsWith('ptrace') ? '16, 1, 0, 0' : '0, 0, 0, 0, 0';
      const command = [
        '/usr/bin/perl',
        '-e',
        `print syscall(${number}, ${args}) == -1 && ($! == 1 || $! == 38) ? "refused\\n" : "answered $!\\n"`,
      ];
      expect((await rooms.run(rooms.room(command))).stdout).toBe('refused\n');
    });

    test('files cannot leave the project that limits them', async () => {
      // FS_IOC_FSGETXATTR, and FS_IOC_FSSETXATTR with the same.
      const program =
        'open my $f, ">", "/tmp/mine" or die; my $state = "\\0" x 28; ioctl($f, 0x801c581f, $state); print ioctl($f, 0x401c5820, $state) ? "changed\\n" : "refused\\n"';
      expect((await rooms.run(rooms.room(['/usr/bin/perl', '-e', program]))).stdout).toBe('refused\n');
    });

    test('calls of another architecture end the program', async () => {
      if (process.arch !== 'x64') return;
      // int 0x80 with the number of getpid: the interface of 32-bit programs.
      const program =
        'my $code = "\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3"; my $page = syscall(9, 0, 4096, 7, 34, -1, 0); syscall(0, 0, 0, 0); require DynaLoader; ' +
        'open my $m, "+<", "/proc/self/mem"; sysseek $m, $page, 0; syswrite $m, $code; my $f = DynaLoader::dl_install_xsub("main::call32", $page); main::call32(); print "alive\\n"';
      const { state, stdout } = await rooms.run(rooms.room(['/usr/bin/perl', '-e', program]));
      expect(stdout).not.toContain('alive');
      expect(state).toMatchObject({ code: 159 });
    });
  });

  describe('devices', () => {
    test('are the harmless ones only', async () => {
      const seen = await rooms.printed('find /dev -type b -o -type c | sort | grep -v /dev/pts/');
      expect(seen.trim().split('\n')).toEqual(['full', 'null', 'random', 'tty', 'urandom', 'zero'].map((name) => `/dev/${name}`));
    });

    test('of the unit are there, and no others', async () => {
      const devices = [{ uuid: 'GPU-1', vendor: 'declared' as const, files: ['/dev/kmsg'] }];
      const seen = await rooms.printed(
        'find /dev -type c -name "k*"; test -c /dev/kmsg && echo here; test -e /dev/mem && echo memory; echo "$CUDA_VISIBLE_DEVICES"',
        { devices },
      );
      expect(seen).toBe('/dev/kmsg\nhere\n\n');
    });

    test('that do not exist are reported', async () => {
      const devices = [{ uuid: 'GPU-1', vendor: 'nvidia' as const, files: ['/dev/nvidia77'] }];
      await expect(rooms.start(rooms.shell('true', { devices }))).rejects.toMatchObject({ reason: 'DeviceUnavailable' });
    });
  });

  describe('the network', () => {
    test('of the node and its sockets without a network are out of reach', async () => {
      const server = createServer().listen(0, '127.0.0.1');
      const abstract = `capstan-${randomUUID()}`;
      const local = createServer().listen(`\0${abstract}`);
      await Promise.all([server, local].map((one) => new Promise((resolve) => one.once('listening', resolve))));
      const { port } = server.address() as { port: number };
      const program = `use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); print connect($s, sockaddr_in(${port}, INADDR_LOOPBACK)) ? "open\\n" : "closed\\n"; socket(my $u, PF_UNIX, SOCK_STREAM, 0); print connect($u, pack("S a*", 1, "\\0${abstract}")) ? "open\\n" : "closed\\n"; open my $f, "<", "/proc/net/route"; print scalar(() = <$f>), "\\n"`;
      expect((await rooms.run(rooms.room(['/usr/bin/perl', '-e', program]))).stdout).toBe('closed\nclosed\n1\n');
      server.close();
      local.close();
    });
  });
}

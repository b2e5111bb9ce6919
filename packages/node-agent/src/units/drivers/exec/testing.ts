import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A server in Perl, which is everywhere that the driver is. It answers each line with the same line. */
export function echoServer(port: number, address = 'INADDR_LOOPBACK'): readonly string[] {
  const program = `
    use Socket;
    socket(my $server, PF_INET, SOCK_STREAM, 0) or die;
    setsockopt($server, SOL_SOCKET, SO_REUSEADDR, 1);
    bind($server, sockaddr_in(${port}, ${address})) or die "bind: $!";
    listen($server, 5);
    $| = 1;
    print "listening\\n";
    while (accept(my $client, $server)) { my $line; syswrite $client, $line while sysread $client, $line, 4096; close $client }
  `;
  return ['/usr/bin/perl', '-e', program];
}

/** Says for each `address:port` whether it accepts a connection within a moment. */
export function connectAttempts(targets: readonly string[]): readonly string[] {
  const program = `
    use Socket;
    $| = 1;
    for (@ARGV) {
      my ($host, $port) = /^(.*):(\\d+)$/;
      socket(my $socket, PF_INET, SOCK_STREAM, 0);
      my $done = eval { local $SIG{ALRM} = sub { die }; alarm 1; connect($socket, sockaddr_in($port, inet_aton($host))) or die; alarm 0; 1 };
      alarm 0;
      print "$_ ", $done ? 'open' : 'closed', "\\n";
    }
  `;
  return ['/usr/bin/perl', '-e', program, ...targets];
}

/** A folder with links to programs under the names that the driver looks for. */
export function programFolder(folder: string, programs: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(folder, name));
  chmodSync(dirname(folder), 0o755);
  return folder;
}

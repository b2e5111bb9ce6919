/** A server in Perl, which is everywhere that the driver is. It answers each line with the same line. */
export function echoServer(port: number): readonly string[] {
  const program = `
    use Socket;
    socket(my $server, PF_INET, SOCK_STREAM, 0) or die;
    setsockopt($server, SOL_SOCKET, SO_REUSEADDR, 1);
    bind($server, sockaddr_in(${port}, INADDR_LOOPBACK)) or die "bind: $!";
    listen($server, 5);
    $| = 1;
    print "listening\\n";
    while (accept(my $client, $server)) { my $line; syswrite $client, $line while sysread $client, $line, 4096; close $client }
  `;
  return ['/usr/bin/perl', '-e', program];
}

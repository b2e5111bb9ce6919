/**
 * Perl: runs a command on a terminal of its own. Arguments: the uid that owns the terminal, and the command. Its own input and output are those of the terminal; sizes arrive at descriptor 3 as
 * lines of columns and rows. Ends with the exit code of the command.
 */
export const terminalProgram = String.raw`
use strict; use warnings; use POSIX ();
my ($owner, @command) = @ARGV;
open(my $master, '+<', '/dev/ptmx') or die "there is no terminal: $!\n";
my ($locked, $number) = (pack('i', 0), pack('i', 0));
ioctl($master, 0x40045431, $locked) && ioctl($master, 0x80045430, $number) or die "there is no terminal: $!\n";
my $name = '/dev/pts/' . unpack 'i', $number;
chown $owner, -1, $name; chmod 0620, $name;
sub resize { my ($columns, $rows) = @_; my $size = pack 'S4', $rows, $columns, 0, 0; ioctl $master, 0x5414, $size }
resize(80, 24);
my $pid = fork // die "cannot fork: $!\n";
if ($pid == 0) {
  POSIX::setsid();
  open(my $slave, '+<', $name) or POSIX::_exit(126);
  ioctl $slave, 0x540e, 0;
  POSIX::dup2(fileno $slave, $_) for 0 .. 2;
  POSIX::close($_) for 3, fileno $master;
  { exec { $command[0] } @command }
  POSIX::_exit(127);
}
my $sizes;
undef $sizes unless open($sizes, '<&=', 3);
my ($control, $waiting) = ('', '');
$SIG{PIPE} = 'IGNORE';
my %inputs = (0 => 1, defined $sizes ? (3 => 1) : ());
for (;;) {
  my ($readable, $writable) = ('', '');
  vec($readable, fileno $master, 1) = 1;
  for my $input (keys %inputs) { vec($readable, $input, 1) = 1 unless $input == 0 && length $waiting > 65536 }
  vec($writable, fileno $master, 1) = 1 if length $waiting;
  next if select($readable, $writable, undef, undef) < 0;
  if (vec($readable, fileno $master, 1)) {
    my $count = sysread $master, my $bytes, 65536;
    last unless $count;
    my $sent = 0;
    while ($sent < $count) { my $wrote = syswrite STDOUT, $bytes, $count - $sent, $sent; last unless defined $wrote; $sent += $wrote }
    last if $sent < $count;
  }
  if ($inputs{0} && vec($readable, 0, 1)) {
    my $count = sysread STDIN, my $bytes, 65536;
    if ($count) { $waiting .= $bytes } else { delete $inputs{0}; $waiting .= "\x04" }
  }
  if ($inputs{3} && vec($readable, 3, 1)) {
    my $count = sysread $sizes, $control, 4096, length $control;
    delete $inputs{3} unless $count;
    while ($control =~ s/^(\d+) (\d+)\n//) { resize($1, $2) }
  }
  if (length $waiting && vec($writable, fileno $master, 1)) {
    my $count = syswrite $master, $waiting;
    substr($waiting, 0, $count) = '' if $count;
  }
}
close $master;
waitpid $pid, 0;
exit(($? & 127) ? 128 + ($? & 127) : $? >> 8);
`;

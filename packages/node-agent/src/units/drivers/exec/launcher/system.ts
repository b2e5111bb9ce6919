/** Perl: system calls by number, because the essential package of Perl has no module for most of them, and small helpers. */
export const systemPart = String.raw`
# No modules, not even strict and warnings: they take longer to load than all of this. The test checks the program with both.
# Every descriptor above 2 closes when a program starts.
$^F = 2;
umask 077;

our (%spec, %nr);
my %calls = (
  mount => [165, 40], umount2 => [166, 39], pivot_root => [155, 41], unshare => [272, 97], setns => [308, 268],
  sethostname => [170, 161], prctl => [157, 167], setgroups => [116, 159], setresgid => [119, 149], setresuid => [117, 147],
  capset => [126, 91], clock_gettime => [228, 113], rt_sigprocmask => [14, 135], signalfd4 => [289, 74], setsid => [112, 157],
  prlimit64 => [302, 261], mknodat => [259, 33], dup3 => [292, 24], exit_group => [231, 94], fsync => [74, 82],
  fchownat => [260, 54], pidfd_open => [434, 434], pidfd_send_signal => [424, 424], open_tree => [428, 428], move_mount => [429, 429], mount_setattr => [442, 442],
);

sub choose_architecture {
  my $column = $_[0] eq 'x64' ? 0 : $_[0] eq 'arm64' ? 1 : problem('DriverUnavailable', 1, "the architecture $_[0] is not supported");
  $nr{$_} = $calls{$_}[$column] for keys %calls;
}

# A copy of the arguments, because syscall refuses constants. Calls that fill a buffer use syscall itself.
sub call { my ($name, @arguments) = @_; return syscall($nr{$name}, @arguments) }

# Keys and values, separated by NUL. Keys that are repeated make a list.
sub pairs_of {
  my @words = split /\0/, $_[0], -1;
  my %found;
  while (@words > 1) { my ($key, $value) = splice @words, 0, 2; push @{$found{$key}}, $value }
  return %found;
}
sub one { my ($key, $default) = @_; return $spec{$key} ? $spec{$key}[0] : $default }
sub many { return @{$spec{$_[0]} || []} }

# Ends the start of a unit with one of the reasons that the agent knows.
sub problem { my ($reason, $final, $message) = @_; die { reason => $reason, final => $final, message => $message } }
sub broken { my ($what) = @_; problem('DriverUnavailable', 0, "$what: $!") }

sub write_file {
  my ($file, $text) = @_;
  open(my $handle, '>', $file) or return 0;
  my $written = syswrite($handle, $text);
  return defined $written && close($handle);
}
sub read_file {
  open(my $handle, '<', $_[0]) or return undef;
  local $/;
  return scalar <$handle>;
}
# Readers see all of it or nothing, also after the machine has crashed.
sub write_record {
  my ($file, $text) = @_;
  open(my $handle, '>', "$file.new") or broken("cannot write $file");
  syswrite($handle, $text);
  call('fsync', fileno $handle) if $_[2];
  close $handle;
  rename("$file.new", $file) or broken("cannot write $file");
}
sub make_directories {
  my ($path) = @_;
  my $made = '';
  for my $part (grep { length } split m{/}, $path) { $made .= "/$part"; mkdir $made, 0755 }
}

my ($last_second, $last_text) = (0, '');
sub timestamp {
  my $buffer = "\0" x 16;
  syscall($nr{clock_gettime}, 0, $buffer);
  my ($seconds, $nanoseconds) = unpack 'qq', $buffer;
  if ($seconds != $last_second) {
    my @parts = gmtime $seconds;
    $last_second = $seconds;
    $last_text = sprintf '%04d-%02d-%02dT%02d:%02d:%02d', $parts[5] + 1900, $parts[4] + 1, @parts[3, 2, 1, 0];
  }
  return sprintf '%s.%09dZ', $last_text, $nanoseconds;
}
# Seconds that never go backwards.
sub clock {
  my $buffer = "\0" x 16;
  syscall($nr{clock_gettime}, 1, $buffer);
  my ($seconds, $nanoseconds) = unpack 'qq', $buffer;
  return $seconds + $nanoseconds / 1e9;
}

sub nonblocking {
  my ($handle) = @_;
  my $flags = fcntl($handle, 3, 0);
  fcntl($handle, 4, $flags | 2048);
  return $handle;
}
sub start_time {
  my $stat = read_file("/proc/$_[0]/stat") // return '';
  return (split ' ', substr($stat, rindex($stat, ')') + 2))[19];
}
# Children start with an empty mask and the usual handlers.
sub block_child_signals { call('rt_sigprocmask', 0, pack('Q', 1 << 16), 0, 8) }
sub reset_signals { call('rt_sigprocmask', 2, pack('Q', 0), 0, 8); $SIG{$_} = 'DEFAULT' for qw(PIPE TERM INT HUP CHLD) }
sub leave { call('exit_group', $_[0]) }
sub set_limit { my ($which, $value) = @_; return call('prlimit64', 0, $which, pack('QQ', $value, $value), 0) == 0 }
`;

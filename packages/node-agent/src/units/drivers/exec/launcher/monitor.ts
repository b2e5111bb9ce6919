/** Perl: the process that starts a unit, keeps its output and its exit code, and serves the agent. It waits for its instructions on standard input, so that one can be started ahead of time. */
export const monitorPart = String.raw`
my $permission = '';
# The instructions have their length in front. The program starts after one more byte, which the agent sends when its own record is safe.
sub read_instructions {
  my $text = '';
  while (length $text < 4 || length $text < 4 + unpack 'N', $text) { sysread STDIN, $text, 65536, length $text or return '' }
  $permission = substr $text, 4 + unpack('N', $text), 1, '';
  return substr $text, 4;
}
sub await_permission {
  sysread STDIN, $permission, 1 unless length $permission;
  problem('DriverUnavailable', 0, 'the agent ended') unless length $permission;
  open STDIN, '<', '/dev/null';
}

# A process of somebody else whose namespaces for processes and the network the unit enters instead of making its own.
our ($owner, $owner_ended);
sub enter_space {
  my ($space) = @_;
  my $file = '/proc/' . one('enter') . "/ns/$space";
  open(my $handle, '<', $file) or broken("cannot open $file");
  call('setns', fileno $handle, 0) == 0 or broken("cannot enter $file");
}
# Everything in its pid namespace ends with the owner, which cannot end before the launcher has seen the end of its own processes there.
sub end_owner { call('pidfd_send_signal', $owner, 9, 0, 0) if defined $owner }
sub await_owner {
  return unless defined $owner;
  vec(my $ended = '', $owner, 1) = 1;
  select $ended, undef, undef, 10;
}

# In the first process of the unit. It never returns.
sub be_first {
  my ($go, $ready) = @_;
  my $own_network = one('network') ne 'Host';
  my $made = eval {
    umask 022;
    sysread($go, my $byte, 1) or leave(1);
    reset_signals();
    call('prctl', 1, 9, 0, 0, 0);
    # mount, uts, ipc, cgroup, network
    my $spaces = 0x00020000 | 0x04000000 | 0x08000000 | 0x02000000 | ($own_network && !defined one('enter') ? 0x40000000 : 0);
    call('unshare', $spaces) == 0 or broken('cannot make namespaces');
    enter_space('net') if $own_network && defined one('enter');
    syswrite $ready, 'n';
    my $hostname = one('hostname');
    call('sethostname', "$hostname", length $hostname);
    raise_loopback() if $own_network;
    build_room($user);
    if (one('network') eq 'Isolated') { sysread($go, $byte, 1) or leave(1); configure_interface() }
    my $step = confine(one('architecture'), undef);
    broken($step) if defined $step;
    # Root in a container that enters these namespaces must not see the files of the node through this process.
    call('prctl', 4, 0, 0, 0, 0);
    1;
  };
  if ($made) { syswrite $ready, 'r' }
  else { my $fault = fault_of($@); syswrite $ready, join "\0", '!', map { $fault->{$_} } qw(reason final message) }
  close $_ for $go, $ready;
  close STDIN;
  close STDOUT;
  leave(1) unless $made;
  # The kernel takes care of orphans that end.
  $SIG{CHLD} = 'IGNORE';
  sleep 1000000 while 1;
}
sub fault_of { my ($fault) = @_; return ref $fault ? $fault : { reason => 'DriverUnavailable', final => 0, message => "the launcher failed: $fault" } }

sub make_unit {
  take_slot();
  $user = 1900000000 + $slot;
  if (one('network') eq 'Isolated') { $spec{address} = [address_text(address_number(one('gateway')) - 1 + $slot)] }
  make_groups(1);
  limit_devices();
  pipe(my $go_read, my $go_write) or broken('cannot make a pipe');
  pipe(my $ready_read, my $ready_write) or broken('cannot make a pipe');
  if (defined one('enter')) {
    my $descriptor = call('pidfd_open', one('enter') + 0, 0);
    broken('cannot find the process whose namespaces the unit enters') if $descriptor < 0;
    $owner = $descriptor;
    enter_space('pid');
  } else {
    call('unshare', 0x20000000) == 0 or broken('cannot make a pid namespace');
  }
  $init = fork // broken('cannot fork');
  if ($init == 0) { close $_ for $go_write, $ready_read; be_first($go_read, $ready_write) }
  close $_ for $go_read, $ready_write;
  join_groups($init) or broken('cannot enter the cgroup of the unit');
  syswrite $go_write, 'g';
  # It says n for its namespaces, and then either r for ready or ! and a fault. Several may arrive at once.
  my $said = '';
  my $hear = sub {
    my ($mark) = @_;
    until ($said =~ /^$mark/) {
      my $count = sysread $ready_read, $said, 65536, length $said;
      next if $count;
      problem(split /\0/, $said =~ s/^n?!\0//r) if $said =~ /^n?!/;
      problem('DriverUnavailable', 0, 'the first process of the unit ended');
    }
  };
  $hear->('n');
  if (one('network') eq 'Isolated') { link_interface(); syswrite $go_write, 'g' }
  $hear->('nr');
}

# What the error of a system call means for the unit: numbers of errno, and whether they will not go away.
my %bad_command = map { $_ => 1 } 2, 7, 8, 13, 20, 21, 22, 26, 36, 40;

sub start_unit {
  make_unit() if one('isolated');
  make_groups(0) unless one('isolated');
  # Orphans become children of the monitor.
  call('prctl', 36, 1, 0, 0, 0) unless one('isolated');
  $user //= $>;
  open_log();
  write_file('terminal', '') if one('tty', 0);
  ($control, $ports) = (listen_at('control'), listen_at('ports'));
  block_child_signals();
  my $descriptor = call('signalfd4', -1, pack('Q', 1 << 16), 8, 0x80800);
  open($signals, '<&=', $descriptor) or broken('cannot wait for signals');
  await_permission();
  my $failure;
  ($main_program, $failure) = start_program(
    command => [many('command')], tty => one('tty', 0), stdin => 1, environment => [many('environment')], directory => one('directory'),
  );
  if (!defined $main_program) {
    my ($step, $error, $message) = split /\0/, $failure;
    problem($bad_command{$error} && $step =~ /^cannot/ ? ('BadCommand', 1, $message) : ('DriverUnavailable', 0, $message));
  }
  @programs = ($main_program);
}

sub finish_unit {
  for my $stream (@{$main_program->{streams}}) {
    my $deadline = clock() + 5;
    while (clock() < $deadline && grep { $_ == $stream } @{$main_program->{streams}}) {
      read_program($main_program, $stream) or $! == 11 && select undef, undef, undef, 0.005;
    }
  }
  flush_partial($_) for 1, 2;
  my $reason = $exit_code == 0 ? 'Completed' : out_of_memory() ? 'OutOfMemory' : 'Error';
  my $cpu = processor_seconds();
  remove_groups();
  write_record('exit', join("\0", code => $exit_code, reason => $reason, finishedAt => timestamp(), cpuSeconds => $cpu) . "\0", 1);
  for my $client (@clients) {
    send_frame($client, EXIT, $exit_code) if ($client->{kind} // '') =~ /^(attach|exec|stop)$/ && !$client->{closing};
    # Clients that read get everything; others do not keep the monitor alive.
    my $deadline = clock() + 2;
    while (length $client->{out} && clock() < $deadline) {
      my $count = syswrite $client->{handle}, $client->{out}, CHUNK;
      if (defined $count) { substr $client->{out}, 0, $count, '' }
      elsif ($! == 11) { my $write = ''; vec($write, fileno $client->{handle}, 1) = 1; select undef, $write, undef, 0.1 }
      else { last }
    }
  }
  unlink 'control', 'ports';
}

sub give_up {
  my ($fault) = @_;
  if (defined $init) { kill 'KILL', $init; end_owner(); waitpid $init, 0 }
  if (!one('isolated')) { for (1 .. 50) { my @left = unit_processes() or last; kill 'KILL', @left; 1 while waitpid(-1, 1) > 0 } }
  1 while waitpid(-1, 0) > 0;
  await_owner();
  remove_groups();
  syswrite STDOUT, join "\0", map { ($_, $fault->{$_}) } qw(reason final message);
  leave(1);
}

%spec = pairs_of(read_instructions());
# An agent that ended, or has no use for this launcher.
exit 0 unless %spec;
$SIG{PIPE} = 'IGNORE';
$SIG{$_} = 'IGNORE' for qw(HUP INT);
my $begun = eval {
  choose_architecture(one('architecture'));
  chdir one('record') or broken('cannot enter ' . one('record'));
  leave_agent_group();
  write_record('monitor', join("\0", pid => $$, startTime => start_time($$)) . "\0");
  start_unit();
  write_record('started', join("\0", pid => $main_program->{pid}, startedAt => timestamp(), defined one('address') ? (address => one('address')) : (), defined $slot ? (user => $user) : ()) . "\0");
  1;
};
give_up(fault_of($@)) unless $begun;
syswrite STDOUT, "started\0" . $main_program->{pid};
open STDOUT, '>', '/dev/null';
serve();
finish_unit();
leave(0);
`;

/** Perl: starts a program in the room: the main one or a command of `exec`. Both take the same way. */
export const programPart = String.raw`
our ($init, $user);

sub open_terminal {
  my $folder = one('isolated') ? "/proc/$init/root/dev/pts" : '/dev';
  open(my $master, '+<', "$folder/ptmx") or return;
  my ($locked, $number) = (pack('i', 0), pack('i', 0));
  ioctl($master, 0x40045431, $locked) && ioctl($master, 0x80045430, $number) or return;
  my $name = '/dev/pts/' . unpack 'i', $number;
  chown $user, $user, "/proc/$init/root$name" if one('isolated');
  return ($master, $name);
}
sub resize_terminal { my ($master, $columns, $rows) = @_; my $size = pack 'S4', $rows, $columns, 0, 0; ioctl $master, 0x5414, $size }

# Returns the program, or undefined and why. Options: command, tty, stdin, environment, directory.
sub start_program {
  my (%options) = @_;
  my ($master, $terminal, $input, $input_end, @outputs, @ends);
  if ($options{tty}) {
    ($master, $terminal) = open_terminal() or return (undef, "terminal\0" . ($! + 0) . "\0there is no terminal: $!");
    resize_terminal($master, $options{columns} || 80, $options{rows} || 24);
  } else {
    if ($options{stdin}) { pipe($input_end, $input) or broken('cannot make a pipe') }
    else { open($input_end, '<', '/dev/null') or broken('cannot open /dev/null') }
    for my $index (0, 1) { pipe($outputs[$index], $ends[$index]) or broken('cannot make a pipe') }
  }
  pipe(my $failed_read, my $failed_write) or broken('cannot make a pipe');
  my $pid = fork // return (undef, "fork\0" . ($! + 0) . "\0cannot fork: $!");
  if ($pid == 0) {
    my $failure = run_program({ %options, terminal => $terminal, descriptors => [$input_end, @ends] });
    syswrite $failed_write, $failure;
    leave(127);
  }
  close $_ for grep { defined } $input_end, @ends, $failed_write;
  my $failure = '';
  1 while sysread $failed_read, $failure, 4096, length $failure;
  if (length $failure) { waitpid $pid, 0; return (undef, $failure) }
  nonblocking($_) for grep { defined } $master, $input, @outputs;
  my @streams = $options{tty} ? ([$master, 1]) : ([$outputs[0], 1], [$outputs[1], 2]);
  return { pid => $pid, master => $master, input => $options{tty} ? ($options{stdin} ? $master : undef) : $input, waiting => '', streams => \@streams };
}

# In the child. Returns what failed.
sub run_program {
  my ($options) = @_;
  my $failure = sub { return "$_[0]\0" . ($! + 0) . "\0$_[0]: $!" };
  reset_signals();
  if (group_folders()) { join_groups(0) or one('isolated') && return $failure->('cgroup') }
  if (one('isolated')) {
    my @spaces = grep { $_ ne 'net' || one('network') ne 'Host' } qw(cgroup ipc uts net mnt);
    my @handles;
    for my $space (@spaces) { open(my $handle, '<', "/proc/$init/ns/$space") or return $failure->("namespace $space"); push @handles, $handle }
    for my $handle (@handles) { call('setns', fileno $handle, 0) == 0 or return $failure->('setns') }
  }
  call('setsid');
  if (defined $options->{terminal}) {
    open(my $slave, '+<', $options->{terminal}) or return $failure->('terminal');
    ioctl $slave, 0x540e, 0;
    call('dup3', fileno $slave, $_, 0) for 0 .. 2;
  } else {
    call('dup3', fileno $options->{descriptors}[$_], $_, 0) for 0 .. 2;
  }
  set_limit(4, 0);
  set_limit(6, one('pids')) if one('isolated') && one('pids', 0) > 0;
  umask 022;
  if (one('isolated')) { my $step = confine(one('architecture'), $user); return $failure->($step) if defined $step }
  else { call('prctl', 1, 9, 0, 0, 0) }
  chdir $options->{directory} or return $failure->("cannot enter the working directory $options->{directory}");
  my @command = @{$options->{command}};
  %ENV = map { my ($name, $value) = split /=/, $_, 2; ($name => $value // '') } @{$options->{environment}};
  { exec { $command[0] } @command }
  return $failure->("cannot run $command[0]");
}

# Everything that runs in the unit but its first process.
sub unit_processes {
  if (group_folders()) { return grep { $_ != ($init // 0) } group_members() }
  my (%children, @found);
  opendir(my $listing, '/proc') or return ();
  for my $name (grep { /^\d+$/ } readdir $listing) {
    my $stat = read_file("/proc/$name/stat") // next;
    my ($state, $parent) = split ' ', substr($stat, rindex($stat, ')') + 2);
    push @{$children{$parent}}, $name unless $state eq 'Z';
  }
  my @left = ($$);
  while (defined(my $pid = shift @left)) { push @left, @{$children{$pid} || []}; push @found, @{$children{$pid} || []} }
  return grep { $_ != ($main::forwarder // 0) && $_ != ($init // 0) } @found;
}
`;

/**
 * Perl: the loop of the monitor. Clients connect to the socket `control` and send frames: a byte for the type, four for the length, and the
 * content. The first frame is a request.
 */
export const servingPart = String.raw`
sub REQUEST () { 0 }
sub EXIT () { 3 }
sub PROBLEM () { 4 }
sub STARTED () { 5 }
sub STDIN_DATA () { 6 }
sub STDIN_END () { 7 }
sub SIZE () { 8 }
sub CHUNK () { 65536 }
sub FULL () { 262144 }
sub DEAF () { 4194304 }

our ($main_program, $exit_code, $stop_at, $stopping, $forwarder, $signals, $control, $ports, $everything_ended);
our (@programs, @clients);

sub listen_at {
  my ($name) = @_;
  socket(my $socket, 1, 1, 0) or broken('cannot open a socket');
  unlink $name;
  bind($socket, pack 'S Z*', 1, $name) && listen($socket, 128) or broken("cannot listen at $name");
  return nonblocking($socket);
}
sub send_frame { my ($client, $type, $data) = @_; $client->{out} .= pack('CN', $type, length $data) . $data }

sub drop_client {
  my ($client) = @_;
  close $client->{handle};
  @clients = grep { $_ != $client } @clients;
  # A command ends with its client: the foreground and whatever is in its session's first group.
  if ($client->{session} && defined $client->{session}{pid}) { kill 'KILL', -$client->{session}{pid}; kill 'KILL', $client->{session}{pid} }
}

sub handle_request {
  my ($client, $data) = @_;
  my %request = pairs_of($data);
  my $kind = $request{kind}[0] // '';
  $client->{kind} = $kind;
  if ($kind eq 'attach') {
    $client->{stdin} = $request{stdin}[0];
    send_frame($client, STARTED, '');
  } elsif ($kind eq 'stop') {
    $stop_at = clock() + $request{grace}[0] / 1000;
    stop_politely() unless $stopping++;
  } elsif ($kind eq 'exec') {
    my ($program, $failure) = start_program(
      command => $request{command}, tty => $request{tty}[0], stdin => $request{stdin}[0],
      environment => [@{$spec{environment} || []}, $request{tty}[0] ? 'TERM=' . ($request{term}[0] // 'xterm') : ()], directory => one('directory'),
    );
    if (defined $program) {
      $client->{session} = $program;
      $program->{client} = $client;
      push @programs, $program;
      send_frame($client, STARTED, '');
    } else {
      send_frame($client, PROBLEM, $failure);
      $client->{closing} = 1;
    }
  } elsif ($kind ne 'watch') {
    $client->{closing} = 1;
  }
}

sub handle_frame {
  my ($client, $type, $data) = @_;
  return if $client->{closing};
  if ($type == REQUEST) { handle_request($client, $data) unless defined $client->{kind}; return }
  my $program = $client->{session} // ($client->{stdin} ? $main_program : return);
  if ($type == STDIN_DATA) { $program->{waiting} .= $data if defined $program->{input} }
  elsif ($type == STDIN_END) { $program->{input_ended} = 1 if $client->{session} && !$program->{master} }
  elsif ($type == SIZE && $program->{master}) { resize_terminal($program->{master}, split / /, $data) }
}

sub read_client {
  my ($client) = @_;
  my $count = sysread $client->{handle}, $client->{in}, CHUNK, length $client->{in};
  return if !defined $count && ($! == 11 || $! == 4);
  return drop_client($client) unless $count;
  while (length $client->{in} >= 5) {
    my ($type, $length) = unpack 'CN', $client->{in};
    return drop_client($client) if $length > 4 * FULL;
    last if length $client->{in} < 5 + $length;
    my $data = substr $client->{in}, 5, $length;
    substr $client->{in}, 0, 5 + $length, '';
    # A mistake costs the client its connection, and never the unit its launcher.
    eval { handle_frame($client, $type, $data); 1 } or return drop_client($client);
  }
}
sub write_client {
  my ($client) = @_;
  my $count = syswrite $client->{handle}, $client->{out}, CHUNK;
  if (defined $count) { substr $client->{out}, 0, $count, '' }
  elsif ($! != 11 && $! != 4) { return drop_client($client) }
  # The client closes when it has read everything. If it still sends something to a closed socket, it loses what it has not read.
  if ($client->{closing} && !length $client->{out} && !$client->{told}++) { shutdown $client->{handle}, 1 }
}

sub read_program {
  my ($program, $stream) = @_;
  my $count = sysread $stream->[0], my $data, CHUNK;
  return 0 if !defined $count && ($! == 11 || $! == 4);
  unless ($count) { $program->{streams} = [grep { $_ != $stream } @{$program->{streams}}]; return 0 }
  if ($program->{client}) { send_frame($program->{client}, $stream->[1], $data); return 1 }
  keep_output($stream->[1], $data);
  # A client that does not keep up misses output. The program never waits for it.
  for my $client (grep { ($_->{kind} // '') eq 'attach' } @clients) { send_frame($client, $stream->[1], $data) if length $client->{out} < DEAF }
  return 1;
}
sub write_program {
  my ($program) = @_;
  my $count = syswrite $program->{input}, $program->{waiting}, CHUNK;
  if (defined $count) { substr $program->{waiting}, 0, $count, '' }
  elsif ($! != 11 && $! != 4) { $program->{input} = undef; $program->{waiting} = '' }
}

sub accept_client { accept(my $handle, $control) or return; push @clients, { handle => nonblocking($handle), in => '', out => '' } }

sub reap {
  sysread $signals, my $ignored, 128 * 16;
  while ((my $pid = waitpid -1, 1) > 0) {
    my $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
    if ($pid == $main_program->{pid}) { $exit_code = $code; end_everything() unless $stopping }
    elsif (defined $init && $pid == $init) { end_owner(); $everything_ended = 1; $init = undef }
    elsif (defined $forwarder && $pid == $forwarder) { $forwarder = undef }
    else { end_session($_, $code) for grep { $_->{pid} == $pid } @programs }
  }
}
sub end_session {
  my ($program, $code) = @_;
  $program->{pid} = undef;
  for my $stream (@{$program->{streams}}) { 1 while read_program($program, $stream) && length $program->{client}{out} < DEAF }
  send_frame($program->{client}, EXIT, $code);
  $program->{client}{closing} = 1;
  @programs = grep { $_ != $program } @programs;
}

sub stop_politely { kill 'TERM', $_ for unit_processes() }
# By force. With a pid namespace, its first process takes everything with it.
sub end_everything {
  if (defined $init) { kill 'KILL', $init; end_owner(); return }
  return if one('isolated');
  for (1 .. 200) { my @left = unit_processes() or last; kill 'KILL', @left; 1 while waitpid(-1, 1) > 0; select undef, undef, undef, 0.005 }
  kill 'KILL', $forwarder if defined $forwarder;
  $exit_code //= 137;
  $everything_ended = 1;
}

sub serve {
  until ($everything_ended && defined $exit_code && (!defined $main::owner || $main::owner_ended)) {
    my (%readers, %writers);
    $readers{fileno $_->[0]} = [$_->[0], $_->[1]] for [$signals, \&reap], [$control, \&accept_client];
    $readers{fileno $ports} = [$ports, \&start_forwarder] unless defined $forwarder;
    $readers{$main::owner} = [undef, sub { $main::owner_ended = 1 }] if defined $main::owner && !$main::owner_ended;
    for my $program (grep { !$_->{client} || length $_->{client}{out} < FULL } @programs) {
      for my $stream (@{$program->{streams}}) { $readers{fileno $stream->[0]} = [$stream->[0], sub { read_program($program, $stream) }] }
    }
    for my $program (grep { defined $_->{input} } @programs) {
      if (length $program->{waiting}) { $writers{fileno $program->{input}} = [$program->{input}, sub { write_program($program) }] }
      elsif ($program->{input_ended}) { $program->{input} = undef }
    }
    for my $client (@clients) {
      my $target = $client->{session} // ($client->{stdin} ? $main_program : undef);
      $readers{fileno $client->{handle}} = [$client->{handle}, sub { read_client($client) }] unless $target && !$client->{closing} && length $target->{waiting} > FULL;
      $writers{fileno $client->{handle}} = [$client->{handle}, sub { write_client($client) }] if length $client->{out} || $client->{closing} && !$client->{told};
    }
    my ($read, $write) = ('', '');
    vec($read, $_, 1) = 1 for keys %readers;
    vec($write, $_, 1) = 1 for keys %writers;
    my $now = clock();
    my ($wait) = sort { $a <=> $b } grep { defined } partial_wait($now), $stopping ? ($stop_at - $now, defined $exit_code ? 0.02 : ()) : ();
    $wait = 0 if defined $wait && $wait < 0;
    my $count = select $read, $write, undef, $wait;
    if (defined $count && $count > 0) {
      for my $number (keys %readers) { $readers{$number}[1]->() if vec $read, $number, 1 }
      # A reader may have closed what was to be written.
      for my $number (keys %writers) { $writers{$number}[1]->() if vec($write, $number, 1) && defined fileno $writers{$number}[0] }
    }
    $now = clock();
    flush_due($now);
    end_everything() if $stopping && ($now >= $stop_at || defined $exit_code && !unit_processes());
  }
}
`;

/** Perl: connections to ports of the unit. One process in the unit's network serves all of them, and ends after a while without any. */
export const portsPart = String.raw`
sub start_forwarder {
  my $pid = fork // return;
  if ($pid != 0) { $forwarder = $pid; return }
  reset_signals();
  $SIG{PIPE} = 'IGNORE';
  # Whatever the monitor has open stays its own.
  close $_->{handle} for @clients;
  for my $program (@programs) { close $_->[0] for @{$program->{streams}}; close $program->{input} if defined $program->{input} }
  close $_ for $signals, $control;
  call('prctl', 1, 9, 0, 0, 0);
  if (one('isolated') && one('network') ne 'Host') {
    open(my $space, '<', "/proc/$init/ns/net") or leave(1);
    call('setns', fileno $space, 0) == 0 or leave(1);
  }
  eval { forward() };
  leave(0);
}

# Loopback first, then the other one, then the address of the unit.
sub targets_of {
  my ($port) = @_;
  my @found = ([2, pack 'S n C4 x8', 2, $port, 127, 0, 0, 1], [10, pack 'S n N a16 N', 10, $port, 0, "\0" x 15 . "\1", 0]);
  push @found, [2, pack 'S n N x8', 2, $port, address_number(one('address'))] if defined one('address');
  return @found;
}

sub forward {
  my (@pairs);
  while (1) {
    my ($read, $write) = ('', '');
    vec($read, fileno $ports, 1) = 1;
    for my $pair (@pairs) {
      if (!defined $pair->{far}) { vec($read, fileno $pair->{near}, 1) = 1; next }
      if ($pair->{connecting}) { vec($write, fileno $pair->{far}, 1) = 1; next }
      for my $side (['near', 'far'], ['far', 'near']) {
        my ($from, $to) = @$side;
        vec($read, fileno $pair->{$from}, 1) = 1 if !$pair->{"$from ended"} && length $pair->{"to $to"} < FULL;
        vec($write, fileno $pair->{$to}, 1) = 1 if length $pair->{"to $to"};
      }
    }
    my $count = select $read, $write, undef, @pairs ? undef : one('forwarderIdle');
    next if !defined $count || $count < 0;
    return if $count == 0;
    if (vec $read, fileno $ports, 1) {
      push @pairs, { near => nonblocking($_), head => '', 'to near' => '', 'to far' => '' } for grep { defined } accept_port();
    }
    for my $pair (@pairs) { serve_pair($pair, $read, $write) }
    @pairs = grep { !$_->{done} } @pairs;
  }
}
sub accept_port { my $handle; return accept($handle, $ports) ? $handle : undef }

sub serve_pair {
  my ($pair, $read, $write) = @_;
  if (!defined $pair->{far}) {
    return unless vec $read, fileno $pair->{near}, 1;
    my $count = sysread $pair->{near}, $pair->{head}, 64 - length $pair->{head}, length $pair->{head};
    return end_pair($pair) unless $count;
    return unless $pair->{head} =~ s/^(\d+)\n//;
    $pair->{'to far'} = $pair->{head};
    $pair->{targets} = [targets_of($1)];
    return try_next($pair);
  }
  if ($pair->{connecting}) {
    return unless vec $write, fileno $pair->{far}, 1;
    my $error = unpack 'i', getsockopt $pair->{far}, 1, 4;
    return try_next($pair) if $error != 0;
    return connected($pair);
  }
  for my $side (['near', 'far'], ['far', 'near']) {
    my ($from, $to) = @$side;
    if (!$pair->{"$from ended"} && vec $read, fileno $pair->{$from}, 1) {
      my $count = sysread $pair->{$from}, $pair->{"to $to"}, CHUNK, length $pair->{"to $to"};
      if (!defined $count) { return end_pair($pair) if $! != 11 && $! != 4 }
      elsif ($count == 0) { $pair->{"$from ended"} = 1 }
    }
    if (length $pair->{"to $to"}) {
      my $count = syswrite $pair->{$to}, $pair->{"to $to"}, CHUNK;
      if (defined $count) { substr $pair->{"to $to"}, 0, $count, '' }
      elsif ($! != 11 && $! != 4) { return end_pair($pair) }
    }
    if ($pair->{"$from ended"} && !length $pair->{"to $to"} && !$pair->{"$to closed"}) { shutdown $pair->{$to}, 1; $pair->{"$to closed"} = 1 }
  }
  end_pair($pair) if $pair->{'near closed'} && $pair->{'far closed'};
}
sub try_next {
  my ($pair) = @_;
  $pair->{connecting} = 0;
  while (my $target = shift @{$pair->{targets}}) {
    socket(my $far, $target->[0], 1, 0) or next;
    nonblocking($far);
    $pair->{far} = $far;
    if (connect $far, $target->[1]) { return connected($pair) }
    if ($! == 115) { $pair->{connecting} = 1; return }
  }
  syswrite $pair->{near}, "refused\n";
  end_pair($pair);
}
sub connected { my ($pair) = @_; $pair->{connecting} = 0; $pair->{'to near'} = "ok\n" }
sub end_pair { my ($pair) = @_; $pair->{done} = 1; close $pair->{near}; close $pair->{far} if defined $pair->{far} }
`;

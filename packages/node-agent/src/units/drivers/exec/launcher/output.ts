/** Perl: the output of the main program, in the format of container logs, in files of limited size. */
export const outputPart = String.raw`
my ($log, $log_size, $log_number) = (undef, 0, 0);
my %partial = (1 => '', 2 => '');
my %partial_since;
my %stream_name = (1 => 'stdout', 2 => 'stderr');

sub open_log {
  open($log, '>>', "output.$log_number") or broken('cannot open the log');
  $log_size = -s $log;
  my $old = $log_number - one('logFiles');
  unlink "output.$old" if $old >= 0;
}

sub write_log {
  my ($text) = @_;
  if ($log_size > 0 && $log_size + length($text) > one('logSize')) { $log_number++; open_log() }
  my $offset = 0;
  while ($offset < length $text) {
    # A full disk must not stop the program: the rest is lost.
    my $written = syswrite($log, $text, length($text) - $offset, $offset) // last;
    $offset += $written;
  }
  $log_size += $offset;
}

# Complete lines at once. The rest waits a moment for its end, so that lines are rarely torn.
sub keep_output {
  my ($stream, $data) = @_;
  my $head = timestamp() . " $stream_name{$stream}";
  $partial{$stream} .= $data;
  my $end = rindex $partial{$stream}, "\n";
  if ($end >= 0) {
    my $lines = substr $partial{$stream}, 0, $end + 1, '';
    $lines =~ s/^/$head F /mg;
    write_log($lines);
    delete $partial_since{$stream};
  }
  if (length $partial{$stream} >= 16384) { flush_partial($stream) }
  elsif (length $partial{$stream}) { $partial_since{$stream} //= clock() }
}
sub flush_partial {
  my ($stream) = @_;
  delete $partial_since{$stream};
  return unless length $partial{$stream};
  write_log(timestamp() . " $stream_name{$stream} P $partial{$stream}\n");
  $partial{$stream} = '';
}
# Seconds until a torn line is due, or undefined.
sub partial_wait {
  my ($now) = @_;
  my ($least) = sort { $a <=> $b } map { $_ + 0.1 - $now } values %partial_since;
  return $least;
}
sub flush_due { my ($now) = @_; for my $stream (keys %partial_since) { flush_partial($stream) if $partial_since{$stream} + 0.1 <= $now } }
`;

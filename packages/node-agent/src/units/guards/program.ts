/**
 * Perl: ends the program of a unit by force when the last stored contact with the control plane is too old. It needs neither the agent nor
 * any other process, forks nothing, and keeps the files open that it must not lose.
 */
export const guardProgram = String.raw`
use strict;
my ($contact, $folder, $incarnation, $mark, $limit, $interval, @groups) = @ARGV;
my $patience = 60;
$SIG{$_} = 'IGNORE' for qw(HUP INT PIPE);

sub read_file { my ($file) = @_; open(my $handle, '<', $file) or return; local $/; return scalar <$handle> }
sub write_file { my ($file, $text) = @_; open(my $handle, '>', $file) or return 0; syswrite $handle, $text; return close $handle }
sub replace_file { my ($file, $text) = @_; write_file("$file.new", $text) and rename "$file.new", $file }
sub pause { my ($seconds) = @_; select undef, undef, undef, $seconds }

# A service manager that ends the group of the agent must not end the guard, and a lack of memory should end others first.
write_file("$_/cgroup.procs", 0) for @groups;
write_file('/proc/self/oom_score_adj', -1000);

open(my $clock, '<', '/proc/uptime') or die;
sub uptime { sysseek $clock, 0, 0; sysread $clock, my $text, 64; return 1000 * (split ' ', $text)[0] }
my $boot = read_file('/proc/sys/kernel/random/boot_id');
chomp $boot;

# In milliseconds. A file that cannot be read, or is being written, leaves the contact before it.
my ($last_boot, $last_uptime) = ('', 0);
sub age {
  my $text = read_file($contact) // '';
  if ($text =~ /\}\s*$/ && $text =~ /"boot":"([^"]*)"/) {
    my $found = $1;
    ($last_boot, $last_uptime) = ($found, $1) if $text =~ /"uptime":([0-9.]+)/;
  }
  return $last_boot eq $boot ? uptime() - $last_uptime : 9e15;
}

# State, parent and start time of a process.
sub stat_of {
  my $stat = read_file("/proc/$_[0]/stat");
  return unless defined $stat && length $stat;
  return (split ' ', substr $stat, rindex($stat, ')') + 2)[0, 1, 19];
}
sub is_alive {
  my ($pid, $start) = @_;
  return 0 unless kill(0, $pid) || $! == 1;
  my ($state, undef, $found) = stat_of($pid);
  # Alive, unless it is known to be another one: there may be no file left to look.
  return !defined $state || ($state ne 'Z' && $found eq $start);
}
sub is_marked { return ("\0" . (read_file("/proc/$_[0]/environ") // '')) =~ /\0\Q$mark\E\0/ }

my ($target, $start);
sub processes { opendir(my $listing, '/proc') or return (); return grep { /^\d+$/ && $_ != $$ } readdir $listing }

# The program, everything below it, everything in its pid namespace if that is its own, and everything that has the mark of the unit.
sub members {
  my $space;
  if (defined $target && is_alive($target, $start)) {
    $space = readlink "/proc/$target/ns/pid";
    undef $space if defined $space && $space eq (readlink('/proc/self/ns/pid') // '');
  }
  my (%children, %found);
  for my $pid (processes()) {
    my ($state, $parent, $begun) = stat_of($pid);
    next if !defined $state || $state eq 'Z';
    push @{$children{$parent}}, $pid;
    $found{$pid} = 1
      if (defined $target && $pid == $target && $begun eq $start) || is_marked($pid) || (defined $space && (readlink("/proc/$pid/ns/pid") // '') eq $space);
  }
  my @new = keys %found;
  while (defined(my $pid = shift @new)) { for (@{$children{$pid} // []}) { push @new, $_ unless $found{$_}++ } }
  return keys %found;
}

sub fence {
  replace_file("$folder/fenced", $incarnation);
  for (my $delay = 0.02; ; $delay = $delay < 1 ? 2 * $delay : 1) {
    my @left = members() or exit 0;
    kill 'KILL', @left;
    pause($delay);
  }
}

if (age() >= $limit) { syswrite STDOUT, "cut off\n"; exit 0 }
syswrite STDOUT, "watching\n";
open STDOUT, '>', '/dev/null';

# The agent sends the process of the program when it has started. If it ends before, the program is found by its mark.
my ($line, $is_open, $waited) = ('', 1, 0);
until (defined $target) {
  if ($is_open) {
    vec(my $ready = '', fileno STDIN, 1) = 1;
    $is_open = sysread STDIN, $line, 64, length $line if select $ready, undef, undef, $interval;
  } else { pause($interval); $waited += $interval }
  if ($line =~ /^(\d+) (\d+)\n/) { ($target, $start) = ($1, $2) }
  elsif (!$is_open) {
    for (processes()) { if (is_marked($_) && !defined $target) { $target = $_; $start = (stat_of($_))[2] // '' } }
    exit 0 if $waited > $patience;
  }
  fence() if age() >= $limit;
}
open STDIN, '<', '/dev/null';
replace_file("$folder/guard", join ' ', $$, (stat_of($$))[2], $target, $start);
while (is_alive($target, $start)) {
  fence() if age() >= $limit;
  pause($interval);
}
`;

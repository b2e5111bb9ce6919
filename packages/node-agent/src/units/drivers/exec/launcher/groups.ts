/** Perl: the cgroup of a unit, in version 1 (a folder in each hierarchy) or version 2. */
export const groupsPart = String.raw`
# Folders of this unit by controller; in version 2 all controllers have the same one.
our %group;

sub group_folders { my %seen; return grep { !$seen{$_}++ } values %group }

sub make_groups {
  my ($strict) = @_;
  my @controllers = many('groupController');
  my @folders = many('groupFolder');
  $group{$controllers[$_]} = "$folders[$_]/" . one('id') for 0 .. $#controllers;
  for my $folder (group_folders()) {
    next if mkdir $folder, 0755 or $! == 17;
    problem('DriverUnavailable', 0, "cannot create the cgroup $folder: $!") if $strict;
    delete @group{grep { $group{$_} eq $folder } keys %group};
  }
  my $set = sub {
    my ($controller, $file, $value) = @_;
    return unless defined $group{$controller};
    write_file("$group{$controller}/$file", $value) or !$strict or problem('DriverUnavailable', 0, "cannot write $value to $group{$controller}/$file: $!");
  };
  my ($cpu, $memory, $pids) = (one('cpu', 0), one('memory', 0), one('pids', 0));
  if (one('groupVersion', 0) == 2) {
    $set->('cpu', 'cpu.max', sprintf('%d 100000', $cpu * 100)) if $cpu > 0;
    $set->('memory', 'memory.max', $memory) if $memory > 0;
    $set->('memory', 'memory.swap.max', 0) if $memory > 0 && defined $group{memory} && -e "$group{memory}/memory.swap.max";
    $set->('pids', 'pids.max', $pids) if $pids > 0;
    return;
  }
  if ($cpu > 0) { $set->('cpu', 'cpu.cfs_period_us', 100000); $set->('cpu', 'cpu.cfs_quota_us', $cpu * 100) }
  if ($memory > 0) {
    $set->('memory', 'memory.limit_in_bytes', $memory);
    $set->('memory', 'memory.memsw.limit_in_bytes', $memory) if defined $group{memory} && -e "$group{memory}/memory.memsw.limit_in_bytes";
  }
  $set->('pids', 'pids.max', $pids) if $pids > 0;
}

# Version 1 only: what the program could open even if it could make device files. The standard ones, terminals, and those of the unit.
sub limit_devices {
  my $folder = $group{devices};
  return unless defined $folder;
  write_file("$folder/devices.deny", 'a') or return;
  my @allowed = ('c 1:3 rwm', 'c 1:5 rwm', 'c 1:7 rwm', 'c 1:8 rwm', 'c 1:9 rwm', 'c 5:0 rwm', 'c 5:2 rwm', 'c 136:* rwm');
  for my $file (many('device')) {
    my ($mode, $number) = (stat $file)[2, 6];
    my $kind = ($mode & 0170000) == 0060000 ? 'b' : 'c';
    push @allowed, sprintf '%s %d:%d rwm', $kind, ($number >> 8) & 0xfff, ($number & 0xff) | (($number >> 12) & 0xfff00);
  }
  write_file("$folder/devices.allow", $_) for @allowed;
}

# The monitor leaves the group of the agent, so that a service manager that ends the agent does not end units.
sub leave_agent_group { write_file("$_/cgroup.procs", 0) for many('monitorFolder') }

sub join_groups { my ($pid) = @_; for my $folder (group_folders()) { write_file("$folder/cgroup.procs", $pid) or return 0 } return 1 }

sub group_members {
  my ($folder) = group_folders();
  return defined $folder ? split(/\n/, read_file("$folder/cgroup.procs") // '') : ();
}

sub out_of_memory {
  return 0 unless defined $group{memory};
  my $text = read_file("$group{memory}/memory.events") // read_file("$group{memory}/memory.oom_control") // '';
  return $text =~ /^oom_kill (\d+)/m && $1 > 0;
}
sub processor_seconds {
  my $folder = $group{cpuacct} // $group{cpu} // return 0;
  my $text = read_file("$folder/cpu.stat") // '';
  return $1 / 1e6 if $text =~ /^usage_usec (\d+)/m;
  return (read_file("$folder/cpuacct.usage") // 0) / 1e9;
}
sub remove_groups {
  for my $folder (group_folders()) {
    for (1 .. 50) { last if rmdir $folder or !-d $folder; select undef, undef, undef, 0.02 }
  }
}
`;

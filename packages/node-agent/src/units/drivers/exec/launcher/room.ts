/** Perl: the file system that a unit sees. Runs in the first process of the unit, as root, in namespaces of its own. */
export const roomPart = String.raw`
sub RDONLY () { 1 }
sub NOSUID () { 2 }
sub NODEV () { 4 }
sub NOEXEC () { 8 }
sub REMOUNT () { 32 }
sub BIND () { 4096 }
sub MOVE () { 8192 }
sub REC () { 16384 }
sub PRIVATE () { 1 << 18 }
# Where the root of the node is while the room is built.
sub OLD () { '/.node' }

sub mount_at {
  my ($source, $target, $type, $flags, $data) = @_;
  return if call('mount', "$source", "$target", "$type", $flags, defined $data ? "$data" : 0) == 0;
  broken("cannot mount $type $source at $target");
}
sub bind_at {
  my ($source, $target, $flags, $recursive) = @_;
  mount_at($source, $target, '', BIND | ($recursive ? REC : 0));
  mount_at('', $target, '', REMOUNT | BIND | $flags);
  return unless $recursive;
  for my $point (mounts_below($target)) { call('mount', '', "$point", '', REMOUNT | BIND | $flags, 0) }
}
sub mounts_below {
  my ($folder) = @_;
  my @points = map { (split ' ')[4] } split /\n/, read_file('/proc/self/mountinfo') // read_file(OLD . '/proc/self/mountinfo') // '';
  s/\\([0-7]{3})/chr oct $1/ge for @points;
  return grep { index($_, "$folder/") == 0 } @points;
}
sub memory_at {
  my ($target, $options, $flags) = @_;
  mkdir $target, 0755;
  mount_at('tmpfs', $target, 'tmpfs', NOSUID | ($flags // NODEV), $options);
}

# Folders at the top that hold the node's programs and settings. They may lie on file systems of their own.
my %system = map { $_ => 1 } qw(bin sbin lib lib32 lib64 libx32 usr opt etc nix snap);
# Private, or nobody's business.
my %replaced = map { $_ => 1 } qw(proc sys dev tmp run root home mnt media srv boot lost+found);

sub build_room {
  my ($user) = @_;
  my $here = one('record') . '/root';
  mkdir $here, 0755;
  mount_at('none', '/', '', REC | PRIVATE);
  mount_at('tmpfs', $here, 'tmpfs', NOSUID | NODEV, 'size=1m,mode=0755');
  chdir $here or broken("cannot enter $here");
  mkdir '.node', 0700;
  call('pivot_root', '.', '.node') == 0 or broken('cannot change the root');
  chdir '/';
  show_node();
  my $size = one('memoryFiles');
  memory_at('/tmp', "size=$size,mode=1777");
  memory_at('/var/tmp', "size=$size,mode=1777") if -d '/var';
  memory_at('/run', "size=$size,mode=0755,uid=$user,gid=$user");
  memory_at('/home', 'size=64k,mode=0755');
  memory_at('/root', 'size=64k,mode=0700');
  memory_at('/home/unit', "size=$size,mode=0700,uid=$user,gid=$user");
  mkdir '/run/lock', 01777;
  make_proc();
  make_sys();
  make_devices($user, $size);
  make_files($user);
  hide($_) for many('hidden');
  my @folders = fetch_folders($user);
  call('umount2', OLD, 2) == 0 or broken('cannot let go of the root of the node');
  rmdir OLD;
  place_folders($user, @folders);
  mount_at('', '/', '', REMOUNT | BIND | RDONLY | NOSUID | NODEV);
  mount_at('', '/dev', '', REMOUNT | BIND | RDONLY | NOSUID | NOEXEC);
  mount_at('', $_, '', REMOUNT | BIND | RDONLY | NOSUID | NODEV) for '/home', our @mimics;
}

sub show_node {
  my $device = (stat OLD)[0];
  opendir(my $folder, OLD) or broken('cannot read the root of the node');
  for my $name (sort grep { $_ ne '.' && $_ ne '..' } readdir $folder) {
    my $source = OLD . "/$name";
    if (-l $source) { symlink readlink($source), "/$name"; next }
    next unless -d $source;
    if ($replaced{$name}) { mkdir "/$name", 0755; next }
    # Another disk, which is none of the unit's business.
    next if !$system{$name} && $name ne 'var' && (stat $source)[0] != $device;
    mkdir "/$name", 0755;
    bind_at($source, "/$name", RDONLY | NOSUID | NODEV, $system{$name});
  }
}

sub make_proc {
  mkdir '/proc', 0555;
  mount_at('proc', '/proc', 'proc', NOSUID | NODEV | NOEXEC);
  for my $path (qw(bus fs irq sys sysrq-trigger)) {
    next unless -e "/proc/$path";
    bind_at("/proc/$path", "/proc/$path", RDONLY | NOSUID | NODEV | NOEXEC);
  }
  for my $path (qw(acpi asound scsi)) { memory_at("/proc/$path", 'size=0,mode=0555', RDONLY | NODEV) if -d "/proc/$path" }
  for my $path (qw(kcore keys key-users kmsg kallsyms latency_stats timer_list timer_stats sched_debug interrupts kpagecount kpageflags slabinfo vmallocinfo)) {
    mount_at(OLD . '/dev/null', "/proc/$path", '', BIND) if -e "/proc/$path";
  }
}

sub make_sys {
  mkdir '/sys', 0555;
  mount_at('sysfs', '/sys', 'sysfs', RDONLY | NOSUID | NODEV | NOEXEC);
  for my $path ('/sys/firmware', '/sys/devices/virtual/powercap', '/sys/kernel/debug', '/sys/kernel/tracing', '/sys/kernel/security', '/sys/fs/bpf') {
    memory_at($path, 'size=0,mode=0555', RDONLY | NODEV) if -d $path;
  }
  # Programs read their limits here. The namespace shows nothing but the unit's own group.
  call('mount', 'cgroup2', '/sys/fs/cgroup', 'cgroup2', RDONLY | NOSUID | NODEV | NOEXEC, 0) if one('groupVersion', 0) == 2;
}

sub make_devices {
  my ($user, $size) = @_;
  mkdir '/dev', 0755;
  mount_at('tmpfs', '/dev', 'tmpfs', NOSUID | NOEXEC, 'size=1m,mode=0755');
  for my $file (map({ "/dev/$_" } qw(null zero full random urandom tty)), many('device')) {
    next if -e $file;
    my ($mode, $number) = (stat OLD . $file)[2, 6];
    problem('DeviceUnavailable', 0, "the device file $file does not exist on this node") unless defined $mode;
    make_directories($1) if $file =~ m{^(.*)/} && !-d $1;
    next if call('mknodat', -100, "$file", ($mode & 0170000) | 0666, $number) == 0 && chmod 0666, $file;
    # Agents inside a container may not make device files.
    write_file($file, '');
    mount_at(OLD . $file, $file, '', BIND);
  }
  mkdir '/dev/pts', 0755;
  mount_at('devpts', '/dev/pts', 'devpts', NOSUID | NOEXEC, 'newinstance,ptmxmode=0666,mode=0620');
  symlink 'pts/ptmx', '/dev/ptmx';
  memory_at('/dev/shm', "size=$size,mode=1777");
  mkdir '/dev/mqueue', 0755;
  call('mount', 'mqueue', '/dev/mqueue', 'mqueue', NOSUID | NODEV | NOEXEC, 0);
  symlink '/proc/self/fd', '/dev/fd';
  symlink "/proc/self/fd/$_->[1]", "/dev/$_->[0]" for ['stdin', 0], ['stdout', 1], ['stderr', 2];
}

# Files in /etc that name the unit instead of the node.
sub make_files {
  my ($user) = @_;
  memory_at('/run/.unit', 'size=1m,mode=0755');
  my $hostname = one('hostname');
  my $address = one('address') // '127.0.0.1';
  my $give = sub {
    my ($file, $text) = @_;
    my $copy = '/run/.unit' . $file =~ s{.*/}{/}r;
    write_file($copy, $text) or broken("cannot write $copy");
    chmod 0644, $copy;
    if (-l $file && !-e $file) {
      # For example into /run, which is empty here.
      my $target = readlink $file;
      $target = "/etc/$target" unless $target =~ m{^/};
      1 while $target =~ s{/[^/]+/\.\./}{/};
      make_directories($1) if $target =~ m{^(.*)/};
      write_file($target, '') or return;
    }
    bind_at($copy, $file, RDONLY | NOSUID | NODEV) if -f $file;
  };
  my $name = "unit:x:$user:";
  $give->('/etc/passwd', (read_file('/etc/passwd') // '') . $name . "$user:unit:/home/unit:/bin/sh\n");
  $give->('/etc/group', (read_file('/etc/group') // '') . "$name\n");
  $give->('/etc/hostname', "$hostname\n");
  $give->('/etc/hosts', "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n$address $hostname\n") if one('network') ne 'Host';
  $give->('/etc/resolv.conf', one('resolver')) if defined one('resolver');
  mount_at('', '/run/.unit', '', REMOUNT | BIND | RDONLY | NOSUID | NODEV);
}

sub hide {
  my ($path) = @_;
  my ($device, $inode) = stat OLD . $path;
  my ($shown_device, $shown_inode) = stat $path;
  return unless -d $path && defined $device && $device == $shown_device && $inode == $shown_inode;
  mount_at('tmpfs', $path, 'tmpfs', RDONLY | NOSUID | NODEV | NOEXEC, 'size=0,mode=0000');
}
`;

/** Perl: uploads and storages inside a unit. Their files belong to root on the node, and to the unit's user inside. */
export const foldersPart = String.raw`
our @mimics;

# A user namespace that says which user a file of root belongs to inside; its descriptor, or undefined where the kernel cannot do that.
sub idmap_namespace {
  my ($user) = @_;
  return undef unless many('mountSource');
  pipe(my $made_read, my $made_write) or return undef;
  pipe(my $end_read, my $end_write) or return undef;
  my $pid = fork // return undef;
  if ($pid == 0) {
    close $end_write;
    syswrite $made_write, call('unshare', 0x10000000) == 0 ? '1' : '0';
    sysread $end_read, my $byte, 1;
    leave(0);
  }
  close $end_read;
  sysread $made_read, my $made, 1;
  my $map = "0 $user 1\n1 1 65535\n";
  my $descriptor;
  if ($made && write_file("/proc/$pid/uid_map", $map) && write_file("/proc/$pid/gid_map", $map)) {
    $descriptor = undef unless open $descriptor, '<', "/proc/$pid/ns/user";
  }
  close $end_write;
  waitpid $pid, 0;
  return $descriptor;
}

# Folders are fetched while the node's root is in reach, and placed when it is not: tenants choose the paths and make symbolic links in their folders.
sub fetch_folders {
  my ($user) = @_;
  my $namespace = idmap_namespace($user);
  my @sources = many('mountSource');
  my @targets = many('mountPath');
  my @modes = many('mountMode');
  mkdir '/run/.folders', 0700 if @sources;
  my @fetched;
  for my $index (0 .. $#sources) {
    my ($source, $target, $place) = (OLD . $sources[$index], $targets[$index] =~ s{/+$}{}r, "/run/.folders/$index");
    -d $source or problem('StorageUnavailable', 0, "the folder $sources[$index] does not exist on this node");
    problem('StorageUnavailable', 1, "nothing can be mounted at $targets[$index]; choose another path")
      if $target =~ m{^(/(proc|sys|dev|\.node)(/.*)?)?$} || $target =~ m{(^|/)\.\.?(/|$)} || $target !~ m{^/};
    mkdir $place, 0700;
    my $mapped = mapped_at($source, $place, $namespace);
    problem('StorageUnavailable', 0, "the file system of $sources[$index] cannot map users, so nodes cannot share it")
      if !$mapped && $modes[$index] =~ /,mapped$/;
    mount_at($source, $place, '', BIND) unless $mapped;
    push @fetched, { place => $place, target => $target, mapped => $mapped, flags => NOSUID | NODEV | ($modes[$index] =~ /^ro/ ? RDONLY : 0) };
  }
  return @fetched;
}

sub place_folders {
  my ($user, @fetched) = @_;
  for my $folder (@fetched) {
    own_tree($folder->{place}, $user) unless $folder->{mapped};
    make_point($folder->{target});
    mount_at($folder->{place}, $folder->{target}, '', MOVE);
    mount_at('', $folder->{target}, '', REMOUNT | BIND | $folder->{flags});
    rmdir $folder->{place};
  }
  rmdir '/run/.folders';
}

sub mapped_at {
  my ($source, $target, $namespace) = @_;
  return 0 unless defined $namespace;
  my $tree = call('open_tree', -100, "$source", 1 | 0x80000);
  return 0 if $tree < 0;
  open(my $keeper, '<&=', $tree) or return 0;
  my $attributes = pack 'QQQQ', 0x100000, 0, 0, fileno $namespace;
  return 0 if call('mount_setattr', $tree, '', 0x1000, $attributes, 32) != 0;
  return call('move_mount', $tree, '', -100, "$target", 4) == 0;
}

# Where files cannot be mapped, they change hands. The top comes last, so that an interrupted walk begins again.
sub own_tree {
  my ($folder, $user) = @_;
  return if (lstat $folder)[4] == $user;
  opendir(my $listing, $folder) or return;
  for my $name (grep { $_ ne '.' && $_ ne '..' } readdir $listing) {
    my $path = "$folder/$name";
    if (-d $path && !-l $path) { own_tree($path, $user) }
    else { call('fchownat', -100, "$path", $user, $user, 0x100) }
  }
  chown $user, $user, $folder;
}

# Creates the folders of a path. Those below read-only ones need a copy of the listing in memory, with every entry bound again.
sub make_point {
  my ($target) = @_;
  my $made = '';
  for my $part (grep { length } split m{/}, $target) {
    my $parent = length $made ? $made : '/';
    $made .= "/$part";
    next if -d $made;
    problem('StorageUnavailable', 1, "$made is not a folder on this node; choose another path") if -e $made || -l $made;
    next if mkdir $made, 0755;
    problem('StorageUnavailable', 1, "cannot create $made: $!") if $! != 30;
    mimic($parent);
    mkdir $made, 0755 or problem('StorageUnavailable', 1, "cannot create $made: $!");
  }
}

sub mimic {
  my ($folder) = @_;
  my $copy = "/run/.mimic" . @mimics;
  mkdir $copy, 0700;
  mount_at($folder, $copy, '', BIND | REC);
  mount_at('tmpfs', $folder, 'tmpfs', NOSUID | NODEV, sprintf 'size=1m,mode=%o', (stat $copy)[2] & 07777);
  opendir(my $listing, $copy) or broken("cannot read $folder");
  for my $name (grep { $_ ne '.' && $_ ne '..' } readdir $listing) {
    my ($from, $to) = ("$copy/$name", "$folder/$name");
    if (-l $from) { symlink readlink($from), $to; next }
    if (-d $from) { mkdir $to, 0755 } elsif (-f $from) { write_file($to, '') } else { next }
    mount_at($from, $to, '', BIND | REC);
  }
  call('umount2', $copy, 2);
  rmdir $copy;
  push @mimics, $folder;
}
`;

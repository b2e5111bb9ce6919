/** Perl: the rights that a program loses before it starts: capabilities, new privileges, system calls. */
export const confinementPart = String.raw`
# Denied with EPERM, in the spirit of the defaults of container runtimes. Numbers for x86_64 and aarch64.
my @denied = (
  [165, 40], [166, 39], [155, 41], [161, 51], [308, 268],          # mount umount2 pivot_root chroot setns
  [428, 428], [429, 429], [430, 430], [431, 431], [432, 432],      # open_tree move_mount fsopen fsconfig fsmount
  [433, 433], [442, 442], [467, 467], [469, 469],                  # fspick mount_setattr open_tree_attr file_setattr
  [321, 280], [298, 241], [323, 282],                              # bpf perf_event_open userfaultfd
  [248, 217], [249, 218], [250, 219],                              # add_key request_key keyctl
  [246, 104], [320, 294], [175, 105], [313, 273], [176, 106],      # kexec_load kexec_file_load init_module finit_module delete_module
  [169, 142], [167, 224], [168, 225], [163, 89], [179, 60],        # reboot swapon swapoff acct quotactl
  [443, 443], [164, 170], [227, 112], [159, 171], [305, 266],      # quotactl_fd settimeofday clock_settime adjtimex clock_adjtime
  [304, 265], [300, 262], [103, 116], [170, 161], [171, 162],      # open_by_handle_at fanotify_init syslog sethostname setdomainname
  [153, 58], [212, 18], [180, 42],                                 # vhangup lookup_dcookie nfsservctl
  [172], [173], [156], [134], [136], [139], [174], [177], [178],   # iopl ioperm _sysctl uselib ustat sysfs create_module get_kernel_syms query_module
);
# Programs use something else when these do not exist: clone3 (its flags cannot be inspected) and io_uring.
my @missing = ([435, 435], [425, 425], [426, 426], [427, 427]);

sub ALLOW () { 0x7fff0000 }
sub KILL () { 0x80000000 }
sub DENY () { 0x00050001 }
sub MISSING () { 0x00050026 }
sub NO_FAMILY () { 0x00050061 }
sub UNSUPPORTED () { 0x0005005f }

sub filter_of {
  my ($architecture) = @_;
  my $column = $architecture eq 'x64' ? 0 : 1;
  my @code;
  my $add = sub { push @code, pack 'SCCL', @_ };
  my $answer = sub { my ($number, $result) = @_; $add->(0x15, 0, 1, $number); $add->(0x06, 0, 0, $result) };
  # Calls of another architecture have other numbers.
  $add->(0x20, 0, 0, 4);
  $add->(0x15, 1, 0, $column == 0 ? 0xc000003e : 0xc00000b7);
  $add->(0x06, 0, 0, KILL);
  $add->(0x20, 0, 0, 0);
  if ($column == 0) { $add->(0x35, 0, 1, 0x40000000); $add->(0x06, 0, 0, MISSING) }
  $answer->($_->[$column], DENY) for grep { defined $_->[$column] } @denied;
  $answer->($_->[$column], MISSING) for @missing;
  # Flags for new namespaces, in the first argument of clone and unshare.
  for my $number ($column == 0 ? (56, 272) : (220, 97)) {
    $add->(0x15, 0, 4, $number);
    $add->(0x20, 0, 0, 16);
    $add->(0x45, 0, 1, $number == 56 || $number == 220 ? 0x7e020000 : 0x7e020080);
    $add->(0x06, 0, 0, DENY);
    $add->(0x06, 0, 0, ALLOW);
  }
  # Sockets of virtual machines and of the kernel's cryptography.
  $add->(0x15, 0, 5, $column == 0 ? 41 : 198);
  $add->(0x20, 0, 0, 16);
  $add->(0x15, 1, 0, 38);
  $add->(0x15, 0, 1, 40);
  $add->(0x06, 0, 0, NO_FAMILY);
  $add->(0x06, 0, 0, ALLOW);
  # ioctl: typing into a terminal, TIOCSTI and TIOCLINUX; and FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR, with which files leave the project that limits them.
  $add->(0x15, 0, 8, $column == 0 ? 16 : 29);
  $add->(0x20, 0, 0, 24);
  $add->(0x15, 4, 0, 0x5412);
  $add->(0x15, 3, 0, 0x541c);
  $add->(0x15, 1, 0, 0x40086602);
  $add->(0x15, 0, 2, 0x401c5820);
  $add->(0x06, 0, 0, UNSUPPORTED);
  $add->(0x06, 0, 0, DENY);
  $add->(0x06, 0, 0, ALLOW);
  # personality: only those that do not weaken the layout of memory.
  $add->(0x15, 0, 7, $column == 0 ? 135 : 92);
  $add->(0x20, 0, 0, 16);
  $add->(0x15, 4, 0, 0);
  $add->(0x15, 3, 0, 8);
  $add->(0x15, 2, 0, 0x20000);
  $add->(0x15, 1, 0, 0xffffffff);
  $add->(0x06, 0, 0, DENY);
  $add->(0x06, 0, 0, ALLOW);
  $add->(0x06, 0, 0, ALLOW);
  return \@code;
}

# Gives up every right of root. $user is undefined for the first process of a unit, which stays root by number only.
sub confine {
  my ($architecture, $user) = @_;
  for my $capability (0 .. 63) { last if call('prctl', 24, $capability, 0, 0, 0) != 0 }
  if (defined $user) {
    call('setgroups', 0, 0) == 0 or return 'setgroups';
    call('setresgid', $user, $user, $user) == 0 or return 'setresgid';
    call('setresuid', $user, $user, $user) == 0 or return 'setresuid';
  }
  # The signal at the death of the parent is lost with a change of the user.
  call('prctl', 1, 9, 0, 0, 0);
  call('capset', pack('Ll', 0x20080522, 0), pack('L6', (0) x 6)) == 0 or return 'capset';
  call('prctl', 38, 1, 0, 0, 0) == 0 or return 'no_new_privs';
  my $code = filter_of($architecture);
  my $text = join '', @$code;
  call('prctl', 22, 2, pack('Sx![J]P', scalar @$code, $text), 0, 0) == 0 or return 'seccomp';
  return undef;
}
`;

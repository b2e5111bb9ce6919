/** Perl: the network of a unit. The first process configures its end with ioctl; the monitor creates the pair of interfaces. */
export const networkPart = String.raw`
# The number of this unit on the machine, which gives it a user and an address. The lock lives as long as any of the unit's processes.
our ($slot, $slot_lock);

sub take_slot {
  my $folder = one('slots');
  make_directories($folder);
  my ($first, $count) = (16, one('slotCount'));
  my $offset = int rand $count;
  for my $index (0 .. $count - 1) {
    my $number = $first + ($offset + $index) % $count;
    open(my $handle, '>>', "$folder/$number") or broken("cannot write to $folder");
    next unless flock $handle, 6;
    ($slot, $slot_lock) = ($number, $handle);
    return;
  }
  problem('DriverUnavailable', 0, "all $count places for units on this machine are taken");
}

sub address_text { return join '.', unpack 'C4', pack 'N', $_[0] }
sub address_number { return unpack 'N', pack 'C4', split /\./, $_[0] }

sub interface_call {
  my ($socket, $request, $interface, $value) = @_;
  my $buffer = pack('a16', $interface) . $value;
  $buffer .= "\0" x (40 - length $buffer);
  return ioctl $socket, $request, $buffer;
}
sub socket_address { return pack 'S n N x8', 2, 0, $_[0] }

sub raise_loopback {
  socket(my $socket, 2, 2, 0) or broken('cannot open a socket');
  interface_call($socket, 0x8914, 'lo', pack 'S', 0x1 | 0x40) or broken('cannot raise the loopback interface');
}

sub configure_interface {
  my $number = address_number(one('address'));
  my $gateway = address_number(one('gateway'));
  socket(my $socket, 2, 2, 0) or broken('cannot open a socket');
  write_file('/proc/sys/net/ipv6/conf/eth0/disable_ipv6', '1');
  interface_call($socket, 0x8916, 'eth0', socket_address($number)) or broken('cannot set the address');
  interface_call($socket, 0x891c, 'eth0', socket_address(0xffffffff << (32 - one('prefix')) & 0xffffffff)) or broken('cannot set the mask');
  interface_call($socket, 0x8914, 'eth0', pack 'S', 0x1 | 0x40) or broken('cannot raise the interface');
  # struct rtentry: padding, destination, gateway, mask, flags (up and gateway), and fields that stay 0.
  my $route = pack('x8') . socket_address(0) . socket_address($gateway) . socket_address(0) . pack('S', 3) . "\0" x 62;
  ioctl($socket, 0x890b, $route) or broken('cannot add the route');
}

# The interface disappears with the network namespace of the unit.
sub link_interface {
  my ($name, $bridge, $size) = ("cu$slot", one('bridge'), one('linkSize'));
  my $commands = "link add name $name mtu $size type veth peer name eth0 mtu $size netns 1\n"
    . "link set dev $name master $bridge\nlink set dev $name type bridge_slave isolated on\nlink set dev $name up\n";
  pipe(my $read, my $write) or broken('cannot make a pipe');
  pipe(my $errors_read, my $errors_write) or broken('cannot make a pipe');
  # The child is in the pid namespace of the unit, where the first process is number 1.
  my $child = fork // broken('cannot fork');
  if ($child == 0) {
    reset_signals();
    call('dup3', fileno $read, 0, 0);
    call('dup3', fileno $errors_write, $_, 0) for 1, 2;
    %ENV = (PATH => '/usr/sbin:/usr/bin:/sbin:/bin');
    { exec { one('ip') } 'ip', '-batch', '-' }
    leave(127);
  }
  close $read;
  close $errors_write;
  syswrite $write, $commands;
  close $write;
  my $errors = '';
  1 while sysread $errors_read, $errors, 4096, length $errors;
  waitpid $child, 0;
  problem('NetworkUnavailable', 0, 'the network interface of the unit could not be made: ' . ($errors =~ s/\s+/ /gr)) if $? != 0;
}
`;

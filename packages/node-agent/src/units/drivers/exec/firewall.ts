/** The rules of the network of isolated units, for nftables and for iptables. */
export interface FirewallRules {
  readonly bridge: string;
  /** The addresses of units. */
  readonly range: string;
  /** Name servers that units may ask even if they are in a refused range, as in some clouds. */
  readonly resolvers: readonly string[];
}

/** Services for machines rather than for tenants: metadata of clouds, the node's loopback, multicast. */
const refused = ['169.254.0.0/16', '127.0.0.0/8', '224.0.0.0/4', '100.100.100.200'];

export function nftTable(bridge: string): string {
  return `capstan_${bridge.replaceAll(/[^A-Za-z0-9]/g, '_')}`;
}

/** Replaces the whole table at once. */
export function nftRules({ bridge, range, resolvers }: FirewallRules): string {
  const table = nftTable(bridge);
  const from = `iifname "${bridge}"`;
  const dns =
    resolvers.length === 0 ? '' : `${from} ip daddr { ${[...new Set(resolvers)].join(', ')} } meta l4proto { tcp, udp } th dport 53 accept`;
  return `
add table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain input {
    type filter hook input priority -10; policy accept;
    ${from} reject
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    ${from} oifname "${bridge}" reject
    ${from} meta nfproto ipv6 reject
    ${from} ip saddr != ${range} drop
    ${from} ct status dnat reject
    ${dns}
    ${from} ip daddr { ${refused.join(', ')} } reject
    oifname "${bridge}" ct state established,related accept
    oifname "${bridge}" drop
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${range} oifname != "${bridge}" masquerade
  }
}
`;
}

/** Chains of our own, which the built-in ones jump to. Input for iptables-restore, which empties them first. */
export function iptablesRules({ bridge, range, resolvers }: FirewallRules): string {
  const [input, forward, out] = iptablesJumps(bridge).map(({ target }) => target);
  const dns = resolvers.flatMap((server) =>
    ['udp', 'tcp'].map((protocol) => `-A ${forward} -i ${bridge} -d ${server} -p ${protocol} --dport 53 -j ACCEPT`),
  );
  const lines = [
    '*filter',
    `:${input} - [0:0]`,
    `:${forward} - [0:0]`,
    `-A ${input} -i ${bridge} -j REJECT`,
    `-A ${forward} -i ${bridge} -o ${bridge} -j REJECT`,
    `-A ${forward} -i ${bridge} ! -s ${range} -j DROP`,
    `-A ${forward} -i ${bridge} -m conntrack --ctstate DNAT -j REJECT`,
    ...dns,
    ...refused.map((target) => `-A ${forward} -i ${bridge} -d ${target} -j REJECT`),
    `-A ${forward} -i ${bridge} -j ACCEPT`,
    `-A ${forward} -o ${bridge} -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT`,
    `-A ${forward} -o ${bridge} -j DROP`,
    'COMMIT',
    '*nat',
    `:${out} - [0:0]`,
    `-A ${out} -s ${range} ! -o ${bridge} -j MASQUERADE`,
    'COMMIT',
  ];
  return `${lines.join('\n')}\n`;
}

export function iptablesJumps(bridge: string): readonly { readonly table: string; readonly chain: string; readonly target: string }[] {
  return [
    { table: 'filter', chain: 'INPUT', target: `${bridge}-in` },
    { table: 'filter', chain: 'FORWARD', target: `${bridge}-forward` },
    { table: 'nat', chain: 'POSTROUTING', target: `${bridge}-out` },
  ];
}

/** Rules for machines on which somebody else, such as Docker or ufw, lets nothing be forwarded. Rules of ours come before them, and refuse what they refuse. */
export function forwardExceptions(bridge: string): readonly (readonly string[])[] {
  return [
    ['-i', bridge, '-j', 'ACCEPT'],
    ['-o', bridge, '-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'ACCEPT'],
  ];
}

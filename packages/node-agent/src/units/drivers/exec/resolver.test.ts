import { expect, test } from 'vitest';
import { unitResolver } from './resolver.ts';

const files = (content: Readonly<Record<string, string>>) => async (file: string) => content[file] ?? '';

test('units ask the name servers of the node', async () => {
  const resolver = await unitResolver(
    files({ '/etc/resolv.conf': '# made by hand\nnameserver 10.0.0.2\nnameserver fe80::1\nsearch example.com\n' }),
  );
  expect(resolver).toEqual({ text: 'nameserver 10.0.0.2\nsearch example.com\n', servers: ['10.0.0.2'] });
});

test('a server on the loopback of the node is replaced by those that it asks', async () => {
  const resolver = await unitResolver(
    files({
      '/etc/resolv.conf': 'nameserver 127.0.0.53\noptions edns0\n',
      '/run/systemd/resolve/resolv.conf': 'nameserver 169.254.169.253\nnameserver 10.0.0.3\n',
    }),
  );
  expect(resolver.servers).toEqual(['169.254.169.253', '10.0.0.3']);
  expect(resolver.text).toContain('options edns0');
});

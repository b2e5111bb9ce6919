import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import type { Layout } from './layout.ts';
import type { SupervisorOptions } from './supervisor.ts';

/**
 * k3s serves its supervisor and the API on one port. This one has the port, and passes requests on to kube-apiserver with the name that the client's certificate proves,
 * as an authenticating proxy does.
 */
export function passOn({ tls, apiPort }: Layout): NonNullable<SupervisorOptions['otherwise']> {
  const read = (file: string): Buffer => readFileSync(join(tls, file));
  const target: RequestOptions = {
    host: '127.0.0.1',
    port: apiPort,
    ca: read('server-ca.crt'),
    cert: read('client-auth-proxy.crt'),
    key: read('client-auth-proxy.key'),
    agent: false,
  };
  const optionsOf = (
    method: string | undefined,
    url: string | undefined,
    headers: IncomingHttpHeaders,
    socket: TLSSocket,
  ): RequestOptions => ({
    ...target,
    method,
    path: url,
    headers: { ...withoutClaims(headers), ...identityOf(socket) },
  });
  return {
    request(request, response) {
      const asked = httpsRequest(optionsOf(request.method, request.url, request.headers, request.socket as TLSSocket), (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        answer.pipe(response);
      });
      asked.on('error', () => response.destroy());
      response.on('close', () => asked.destroy());
      request.pipe(asked);
    },
    connect(server) {
      server.on('upgrade', (request, socket, head) => {
        const asked = httpsRequest(optionsOf(request.method, request.url, request.headers, request.socket as TLSSocket));
        asked.on('upgrade', (answer, upstream, first) => {
          const lines = answer.rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${answer.rawHeaders[index + 1]}`] : []));
          socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`);
          socket.write(first);
          upstream.write(head);
          upstream.pipe(socket).pipe(upstream);
          upstream.on('error', () => socket.destroy());
          socket.on('error', () => upstream.destroy());
        });
        asked.on('response', () => socket.destroy());
        asked.on('error', () => socket.destroy());
        asked.end();
      });
    },
  };
}

function withoutClaims(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('x-remote-')));
}

function identityOf(socket: TLSSocket): IncomingHttpHeaders {
  if (!socket.authorized) return {};
  const { subject } = socket.getPeerCertificate();
  const groups = subject?.O as string | readonly string[] | undefined;
  return subject?.CN === undefined ? {} : { 'x-remote-user': subject.CN as string, ...(groups && { 'x-remote-group': groups as string }) };
}

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { output } from '@capstan/testbed';

/*
 * Replaces `httest`, which kcp's tests start as a webhook: answers every SubjectAccessReview the same way. It keeps its authority, so that
 * clients which trust it also trust the next instance.
 */

const { values } = parseArgs({
  options: {
    tls: { type: 'boolean' },
    response: { type: 'string', default: '' },
    'pki-directory': { type: 'string', default: '.' },
    listen: { type: 'string', default: 'localhost:0' },
  },
});
const answers: Readonly<Record<string, object>> = {
  'kubernetes:authz:allow': { allowed: true },
  'kubernetes:authz:deny': { allowed: false, denied: true, reason: 'denied by httest' },
};
const status = answers[values.response];
if (status === undefined) throw new Error(`--response: expected one of ${Object.keys(answers).join(', ')}`);

const directory = values['pki-directory'];
const file = (name: string): Buffer => readFileSync(join(directory, name));
if (!existsSync(join(directory, 'ca.crt'))) await makeCertificates();
const [host = '', port = ''] = values.listen.split(':');
createServer({ cert: file('server.crt'), key: file('server.key') }, (request, response) => {
  request.resume();
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', status }));
  });
}).listen(Number(port), host);

async function makeCertificates(): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const make = async (name: string, more: readonly string[]): Promise<void> => {
    const made = ['-keyout', `${name}.key`, '-out', `${name}.crt`, '-days', '3650', '-subj', `/CN=${name}`];
    await output('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', ...made, ...more], { directory });
  };
  // Tests wait for ca.crt, so it gets its name last.
  await make('authority', ['-addext', 'basicConstraints=critical,CA:TRUE']);
  await make('server', ['-CA', 'authority.crt', '-CAkey', 'authority.key', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']);
  writeFileSync(join(directory, 'ca.crt'), file('authority.crt'));
}

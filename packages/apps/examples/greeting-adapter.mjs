// An adapter as a web service, in one file: it serves a page on every member. `docs/apps-adapters.md` explains it.
import { createServer } from 'node:http';

const port = Number(process.env.PORT ?? 8090);
const token = process.env.TOKEN;

const questions = {
  members: ({ instance }) => ({
    members: instance.placement.allocation_ids.map((allocation) => ({ component: 'server', allocation })),
    probes: { server: { script: 'greeting-probe', every: '30s' } },
  }),

  plan: ({ operation, instance, members }) => {
    const isLeaving = (member) => operation.type === 'decommission' || !member.isWanted;
    const steps = members.flatMap((member) => {
      const step = (stage, name, title, rest) => ({ id: `${name}-${member.name}`, title, member: member.name, stage, ...rest });
      const script = (name) => ({ type: 'process.run', task: { script: name } });
      const service = (state) => ({
        type: 'service.ensure',
        task: { name: 'greeting', state, command: ['/usr/bin/python3', '-m', 'http.server', '8081', '-d', '/srv/greeting'] },
      });
      const content = `<h1>${instance.parameters.text ?? 'Hello'}</h1>\n`;
      const stop = step(1, 'stop', 'Stop the service', service('stopped'));
      if (operation.type === 'stop') return [stop];
      if (isLeaving(member)) return [stop, step(2, 'remove', 'Remove the page', { ...script('greeting-remove'), reportsResidue: true })];
      return [
        step(1, 'prepare', 'Make the folder', script('greeting-prepare')),
        step(2, 'page', 'Write the page', { type: 'file.write', task: { path: '/srv/greeting/index.html', content }, phase: 'writing' }),
        step(3, 'start', 'Start the service', { ...service('running'), phase: 'starting' }),
      ];
    });
    return {
      steps,
      joins: members.filter((member) => !isLeaving(member)).map(({ name }) => name),
      leaves: members.filter(isLeaving).map(({ name }) => name),
      phase: operation.type === 'stop' ? 'stopped' : 'ready',
    };
  },

  observe: ({ members, probes }) => {
    const seen = members.map(({ name }) => [
      name,
      { health: probes[name] === undefined ? 'unknown' : probes[name].exitCode === 0 ? 'healthy' : 'failed', isRepairable: true },
    ]);
    return { health: seen.every(([, { health }]) => health === 'healthy') ? 'healthy' : 'degraded', members: Object.fromEntries(seen) };
  },

  access: ({ members }) => ({ endpoints: members.map(({ name, node }) => ({ name, address: `http://${node.address}:8081` })) }),
};

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const answer = (code, body) => response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) return answer(401, {});
    const question = questions[request.url.slice(1)];
    if (question === undefined) return answer(404, {});
    try {
      return answer(200, question(JSON.parse(Buffer.concat(parts).toString('utf8'))));
    } catch (error) {
      return answer(500, { message: error.message });
    }
  });
});
server.listen(port, '127.0.0.1', () => process.stdout.write(`listening on http://127.0.0.1:${server.address().port}\n`));

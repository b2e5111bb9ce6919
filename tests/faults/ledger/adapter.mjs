// An adapter whose steps only write down that they ran. Each runs a script that can be held, made stubborn or made to talk.
import { createServer } from 'node:http';

/** The steps of each operation, stage by stage. */
const stepsOf = { deploy: ['prepare', 'start'], change: ['update'], decommission: ['stop', 'remove'] };

const questions = {
  members: ({ instance }) => ({
    members: instance.placement.allocation_ids.map((allocation) => ({ component: 'server', allocation })),
  }),
  plan: ({ operation, instance, members }) => ({
    steps: members.flatMap((member) =>
      (stepsOf[operation.type] ?? []).map((step, stage) => ({
        id: `${step}-${member.name}`,
        title: step,
        member: member.name,
        stage,
        type: 'process.run',
        deadline: instance.parameters.deadline ?? '600s',
        task: { script: 'ledger-step', arguments: [instance.name, step] },
      })),
    ),
    joins: operation.type === 'decommission' ? [] : members.map(({ name }) => name),
    leaves: operation.type === 'decommission' ? members.map(({ name }) => name) : [],
    phase: operation.type,
  }),
  observe: () => ({ health: 'healthy', members: {} }),
  access: () => ({}),
};

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const answer = questions[request.url.slice(1)]?.(JSON.parse(Buffer.concat(parts).toString('utf8')));
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
  });
});
server.listen(8090, '127.0.0.1', () => process.stdout.write('listening\n'));

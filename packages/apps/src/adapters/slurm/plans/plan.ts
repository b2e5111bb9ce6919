import { type AdapterMember, AdapterProblem, type Plan, type PlanRequest, type WantedSecret } from '../../../adapter/contract.ts';
import { Stages } from '../../../adapter/stages.ts';
import { type Cluster, clusterOf, membersOf, type SlurmNode, unhealthyGpus } from '../cluster.ts';
import { run } from '../steps.ts';
import { drain, drained, followGpus, undrain } from './drains.ts';
import {
  authenticate,
  configureController,
  configureLogin,
  mungeKey,
  prepare,
  reconfigure,
  registered,
  runAccounting,
  runController,
  runNodes,
  tellOthers,
} from './parts.ts';
import { clean, decommission, stop, stopAll, stopService } from './stopping.ts';

const secrets: readonly WantedSecret[] = [{ name: mungeKey, bytes: 64, encoding: 'hex' }];
const running = 'running';

/** The steps of an operation. */
export function planOf(request: PlanRequest): Plan {
  const { operation } = request;
  if (operation.type === 'decommission') return decommission(request);
  const cluster = clusterOf(request);
  switch (operation.type) {
    case 'deploy':
    case 'change':
    case 'start':
    case 'reconcile':
      return converge(cluster, request);
    case 'stop':
      return stop(cluster);
    case 'repair':
      return repair(cluster, memberOf(cluster, request));
    case 'drain':
      return drainOne(cluster, computeOf(cluster, request), request);
    case 'undrain':
      return undrainOne(cluster, computeOf(cluster, request), request);
    case 'restart-controller':
      return restartController(cluster);
    default:
      throw new AdapterProblem('UnknownOperation', `Slurm has no operation ${operation.type}`);
  }
}

/** Adds members, removes members whose jobs have ended, and follows all other changes. */
function converge(cluster: Cluster, { operation }: PlanRequest): Plan {
  const { unwanted } = cluster;
  const former = unwanted.find(({ member }) => member.component === 'controller' && member.hasJoined);
  if (former !== undefined)
    throw new AdapterProblem(
      'ControllerMoved',
      `the controller has its queue and its records on ${former.name}, so it cannot move to ${cluster.controller.name}`,
    );
  const stages = new Stages();
  const leaving = unwanted.filter(({ member }) => member.component === 'compute' && member.hasJoined);
  stages
    .inPhase(
      'draining',
      leaving.map((node) => drain(cluster, node, `removed by ${operation.id}`)),
    )
    .inPhase(
      'draining',
      leaving.map((node) => drained(cluster, node)),
    )
    .inPhase('removing', unwanted.flatMap(stopAll));
  const members = membersOf(cluster).filter(({ member }) => takesPart(member, operation.type));
  const nodes = members.filter(({ member }) => member.component === 'compute');
  prepare(stages, cluster, members);
  authenticate(stages, cluster, members);
  tellOthers(stages, cluster, members);
  configureLogin(stages, cluster);
  configureController(stages, cluster);
  runAccounting(stages, cluster);
  stages
    .inPhase('controller_starting', [runController(cluster)])
    .inPhase('controller_starting', [reconfigure(cluster)])
    .inPhase('nodes_joining', runNodes(cluster, nodes))
    .inPhase('nodes_joining', registered(nodes))
    .inPhase('nodes_joining', followGpus(cluster))
    .inPhase(
      'removing',
      unwanted.map((node) => clean(cluster.id, node)),
    );
  return {
    steps: stages.steps,
    secrets,
    joins: membersOf(cluster).map(({ member }) => member.name),
    leaves: unwanted.map(({ member }) => member.name),
    phase: running,
  };
}

/** A change of the wish leaves machines alone that are as they were, and those that are silent are reconciled when they come back. */
function takesPart({ component, hasJoined, node }: AdapterMember, type: string): boolean {
  if (component === 'controller' || !hasJoined) return true;
  return type === 'reconcile' ? node.isReady : type !== 'change';
}

/** Deals with one member only. Daemons that answer are left alone, and so are their jobs. */
function repair(cluster: Cluster, node: SlurmNode): Plan {
  const phase = 'repairing';
  const unstick = (daemon: string) =>
    run(node, { script: 'unstick', title: `Kill ${daemon} on ${node.name} if it does not answer`, arguments: [daemon] });
  const stages = new Stages();
  prepare(stages, cluster, [node]);
  // It may have read another key when it started.
  stages.inPhase(phase, [stopService(node, 'slurm-munge')]);
  authenticate(stages, cluster, [node]);
  switch (node.member.component) {
    case 'controller':
      configureController(stages, cluster);
      runAccounting(stages, cluster);
      stages
        .inPhase(phase, [runController(cluster)])
        .inPhase(phase, [unstick('slurmctld')])
        .inPhase(phase, [reconfigure(cluster)]);
      break;
    case 'compute':
      stages
        .inPhase(phase, runNodes(cluster, [node]))
        .inPhase(phase, [unstick('slurmd')])
        .inPhase(phase, registered([node]));
      break;
    default:
      configureLogin(stages, cluster);
  }
  return { steps: stages.steps, secrets, joins: [node.member.name], phase: running };
}

function drainOne(cluster: Cluster, node: SlurmNode, { operation }: PlanRequest): Plan {
  const { reason = '', wait = false } = operation.parameters as { readonly reason?: string; readonly wait?: boolean };
  const stages = new Stages().inPhase('draining', [drain(cluster, node, `${operation.id} ${reason}`)]);
  if (wait) stages.inPhase('draining', [drained(cluster, node)]);
  return { steps: stages.steps, phase: running };
}

function undrainOne(cluster: Cluster, node: SlurmNode, { operation }: PlanRequest): Plan {
  const { force = false } = operation.parameters as { readonly force?: boolean };
  const [broken] = unhealthyGpus(node);
  if (broken !== undefined && !force)
    throw new AdapterProblem('GpuUnhealthy', `the GPU ${broken.uuid} of ${node.name} is out of order, so the node would be drained again`);
  return { steps: new Stages().inPhase('resuming', [undrain(cluster, node, force ? 'force' : 'others-fail')]).steps, phase: running };
}

/** The controller saves its state when it is stopped, and jobs go on without it. */
function restartController(cluster: Cluster): Plan {
  const phase = 'controller_restarting';
  const stages = new Stages()
    .inPhase(phase, [stopService(cluster.controller, 'slurm-controller')])
    .inPhase(phase, [runController(cluster)])
    .inPhase(phase, [reconfigure(cluster)]);
  return { steps: stages.steps, phase: running };
}

function memberOf(cluster: Cluster, { operation }: PlanRequest): SlurmNode {
  const found = membersOf(cluster).find(({ member }) => member.name === operation.member);
  if (found === undefined) throw new AdapterProblem('NoSuchMember', `the cluster has no member ${operation.member ?? '(none given)'}`);
  return found;
}

function computeOf(cluster: Cluster, request: PlanRequest): SlurmNode {
  const found = memberOf(cluster, request);
  if (found.member.component !== 'compute')
    throw new AdapterProblem('NotANode', `${found.member.name} runs no jobs: only compute members do`);
  return found;
}

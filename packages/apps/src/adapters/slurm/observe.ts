import type { AppHealth } from '@capstan/api';
import type { AdapterMember, MemberObservation, Observation, ObserveRequest } from '../../adapter/contract.ts';
import { nodeOf, unhealthyGpus } from './cluster.ts';
import { type Knowledge, knowledgeOf } from './common-knowledge.ts';
import { isGpuDrain, isOwnDrain } from './plans/drains.ts';
import { type Findings, findingsIn } from './probe.ts';

type Finding = MemberObservation & { readonly hasDrifted?: boolean };

/** Health comes from the services themselves: Slurm calls a node idle for minutes after its daemon has died. */
export function observe(request: ObserveRequest): Observation {
  const { members, probes } = request;
  const knowledge = knowledgeOf(request);
  const findings = new Map<string, Findings | undefined>();
  for (const { name } of members) {
    const answer = probes[name];
    if (answer !== undefined) findings.set(name, findingsIn(answer));
  }
  const controller = members.find(({ component, isWanted }) => component === 'controller' && isWanted);
  const main = controller && findings.get(controller.name);
  const all = members.map((member) => {
    const found = findings.has(member.name)
      ? withKnowledge(lookAt(member, findings.get(member.name), main), findings.get(member.name), knowledge)
      : { health: 'unknown' as const, message: 'its node has not answered yet' };
    return [member, found] as const;
  });
  const drifted = all.some(([, { hasDrifted }]) => hasDrifted === true);
  return {
    ...overall(all),
    members: Object.fromEntries(all.map(([{ name }, finding]) => [name, observationIn(finding)])),
    ...(drifted && { hasDrifted: true }),
    refused: members.flatMap(refusedFor),
  };
}

function observationIn(finding: Finding): MemberObservation {
  const { hasDrifted: _, ...observation } = finding;
  return observation;
}

function overall(all: readonly (readonly [AdapterMember, Finding])[]): { health: AppHealth; message?: string } {
  const wanted = all.filter(([{ isWanted }]) => isWanted);
  const controller = wanted.find(([{ component }]) => component === 'controller');
  if (controller === undefined) return { health: 'unknown', message: 'there is no controller' };
  const [, { health, message }] = controller;
  if (health === 'failed' || health === 'unknown') return { health, message: `the controller: ${message ?? health}` };
  const bad = wanted.filter(([, finding]) => finding.health !== 'healthy');
  if (bad.length === 0) return { health: 'healthy' };
  const [first, finding] = bad[0]!;
  const rest = bad.length > 1 ? ` (and ${bad.length - 1} more)` : '';
  return { health: 'degraded', message: `${first.name}: ${finding.message ?? finding.health}${rest}` };
}

/** `controller` has what is known about the controller. */
function lookAt(member: AdapterMember, found: Findings | undefined, controller: Findings | undefined): Finding {
  if (found === undefined) return broken('the probe printed no JSON', { isRepairable: false });
  const cause = machineProblem(member, found, controller);
  if (cause !== undefined) return broken(cause, { isRepairable: false });
  const problem = authenticationOf(found, controller?.key);
  if (problem !== undefined) return broken(problem);
  switch (member.component) {
    case 'controller':
      return lookAtController(member, found);
    case 'compute':
      return lookAtNode(member, found);
    default:
      return isUp(found) ? { health: 'healthy' } : broken(`it cannot reach the controller: ${found.controller}`);
  }
}

/** A member that was silent while users or members changed works, and does not know of them yet. */
function withKnowledge(finding: Finding, found: Findings | undefined, wanted: Knowledge | undefined): Finding {
  if (found === undefined || wanted === undefined || finding.health === 'failed') return finding;
  const isOld = (one: 'hosts' | 'users'): boolean => found[one] !== '' && found[one] !== wanted[one];
  const subject = isOld('users') ? 'the users' : isOld('hosts') ? 'the other members' : undefined;
  if (subject === undefined) return finding;
  const message = [finding.message, `it does not know of changes of ${subject}; \`reconcile\` tells it`].filter(Boolean).join('; ');
  return { ...finding, message, hasDrifted: true };
}

function authenticationOf({ isMungedRunning, munge, key: own }: Findings, key: string | undefined): string | undefined {
  if (!isMungedRunning) return 'munged does not run';
  if (own === '') return 'the munge key is missing';
  if (key !== undefined && key !== '' && own !== key) return 'its munge key is not that of the controller';
  return munge === '' ? undefined : `munge does not work: ${munge}`;
}

/** Munge refuses credentials that are older than five minutes, or from the future. */
const largestSkew = 300;

/** Something that Slurm cannot work with, and that no repair changes. */
function machineProblem(member: AdapterMember, found: Findings, controller: Findings | undefined): string | undefined {
  const { name } = nodeOf(member);
  const [folder] = found.full;
  if (folder !== undefined) return `the disk with ${folder} is full, so Slurm cannot save its state: free some space on ${name}`;
  const host = found.host.split('.')[0]!;
  if (host !== '' && host !== name)
    return `its host name is ${host}, but Slurm knows it as ${name}: set it back with "hostnamectl set-hostname ${name}"`;
  // Answers of two members may be of different times. That alone is no problem.
  const skew = found.now === undefined || controller?.now === undefined || isUp(found) ? 0 : found.now - controller.now;
  if (Math.abs(skew) <= largestSkew) return undefined;
  const minutes = Math.round(Math.abs(skew) / 60);
  return `its clock is ${minutes} minutes ${skew > 0 ? 'ahead of' : 'behind'} that of the controller, so each refuses the other: set both, for instance with chrony`;
}

/** More starts than this in ten minutes are no accident. */
const mostStarts = 5;

/** The reason in the log of a daemon that has ended. */
function ended(daemon: string, { why, starts }: Findings): string {
  const often = starts > mostStarts ? `, and was started ${starts} times in the last ten minutes` : '';
  return `${daemon} does not run${often}${why === '' ? '' : `; its log says "${why}"`}`;
}

function lookAtController(member: AdapterMember, found: Findings): Finding {
  if (!found.isControllerRunning) return broken(ended('slurmctld', found));
  if (!isUp(found)) return broken(`slurmctld does not answer: ${found.controller}`);
  const endpoint = `${member.node.address}:6817`;
  if (found.isDatabaseRunning === false) return { ...broken('the database of the accounting does not run'), health: 'degraded', endpoint };
  if (found.isAccountingRunning === false) return { ...broken('slurmdbd does not run'), health: 'degraded', endpoint };
  return { health: 'healthy', endpoint };
}

function lookAtNode(member: AdapterMember, found: Findings): Finding {
  const { state, reason, missing } = found;
  const detail = { state, ...(reason !== '' && { reason }) };
  if (missing.length > 0) {
    const files = `${missing.join(', ')} of its GPUs ${missing.length > 1 ? 'are' : 'is'} missing: look at the driver of the machine`;
    if (!found.isNodeRunning) return { ...broken(`slurmd does not run, as ${files}`, { isRepairable: false }), detail };
    return { health: 'degraded', message: files, detail };
  }
  if (!found.isNodeRunning) return { ...broken(ended('slurmd', found)), detail };
  if (!found.doesNodeAnswer) return { ...broken('slurmd runs, but does not answer'), detail };
  if (state === '') return { ...broken(`it cannot ask the controller: ${found.controller}`), health: 'degraded', detail };
  const isDrained = state.includes('DRAIN');
  const gpus = unhealthyGpus(nodeOf(member));
  if (gpus.length > 0) {
    const names = gpus.map(({ uuid }) => uuid).join(', ');
    const rest = isDrained ? 'so the node is drained' : 'and the node still takes jobs';
    return { health: 'degraded', message: `${names} out of order, ${rest}`, detail, hasDrifted: !isDrained };
  }
  if (isDrained && isGpuDrain(reason))
    return { health: 'degraded', message: 'its GPUs work again, but it is still drained', detail, hasDrifted: true };
  if (/DOWN|NOT_RESPONDING|INVAL|FAIL/.test(state))
    return { ...broken(`Slurm says that it is ${state}${reason === '' ? '' : `: ${reason}`}`), detail };
  if (isDrained && !isOwnDrain(reason)) return { health: 'degraded', message: `somebody else has drained it: ${reason}`, detail };
  if (found.starts > mostStarts)
    return {
      health: 'degraded',
      message: `slurmd was started ${found.starts} times in the last ten minutes: see why it ends in its log`,
      detail,
    };
  return { health: 'healthy', ...(isDrained && { message: `it is drained: ${reason}` }), detail };
}

function refusedFor(member: AdapterMember): NonNullable<Observation['refused']> {
  const { name, component } = member;
  if (component !== 'compute')
    return ['drain', 'undrain'].map((operation) => ({ operation, member: name, reason: 'NotANode', message: `${name} runs no jobs` }));
  const [gpu] = unhealthyGpus(nodeOf(member));
  if (gpu === undefined) return [];
  return [{ operation: 'undrain', member: name, reason: 'GpuUnhealthy', message: `the GPU ${gpu.uuid} is out of order` }];
}

const isUp = ({ controller }: Findings): boolean => controller.endsWith('is UP');

function broken(message: string, { isRepairable = true } = {}): Finding {
  return { health: 'failed', message, isRepairable };
}

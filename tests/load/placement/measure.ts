import { Latencies } from '../measure/latencies.ts';
import type { Measurement } from '../profiles/profile.ts';
import { gangRequest, makeFleet, mixedRequest, numbers } from './fleet.ts';
import { Placements } from './placements.ts';

/** How full the fleet is while allocations come and go. */
const fill = 0.85;
const explanations = 20;

/** Placement in memory, without a server: how many answers one core gives for a large fleet. Rates are per second of processor time, garbage collection included. */
export function measurePlacement({
  nodes = 10_000,
  count = 50_000,
}: {
  nodes?: number | undefined;
  count?: number | undefined;
}): Measurement[] {
  const fleet = makeFleet(nodes);
  const gpus = fleet.reduce((sum, node) => sum + node.gpus.length, 0);
  const next = numbers(1);
  const placements = new Placements();
  const what = `${nodes} nodes, ${gpus} GPUs`;

  const indexed = timed(() => {
    for (const node of fleet) placements.index.setNode(node);
    placements.place(mixedRequest(next));
  });
  const filled = timed(() => {
    while (placements.gpusInUse < fill * gpus) placements.place(mixedRequest(next));
  });
  const filling = placements.count / filled;

  let short = 0;
  const latencies = new Latencies(count);
  const mixed = timed(() => {
    for (let index = 0; index < count; index++) {
      const began = performance.now();
      if (!placements.place(mixedRequest(next))) short++;
      latencies.add(performance.now() - began);
      while (placements.gpusInUse > fill * gpus) placements.release(next(placements.count));
    }
  });
  let gangs = 0;
  const ganging = timed(() => {
    for (let index = 0; index < count / 10; index++) {
      if (placements.place(gangRequest(next))) gangs++;
      while (placements.gpusInUse > fill * gpus) placements.release(next(placements.count));
    }
  });

  const hopeless = { ...mixedRequest(next), nodes: nodes + 1 };
  const refused = timed(() => {
    for (let index = 0; index < explanations; index++) placements.index.place(hopeless);
  });
  return [
    { what: `${what}: building the index`, value: indexed, unit: 's', better: 'lower' },
    { what: `${what}: placements into an empty fleet`, value: filling, unit: 'per second', better: 'higher' },
    { what: `${what}: placements with releases, ${fill * 100} % full`, value: count / mixed, unit: 'per second', better: 'higher' },
    { what: `${what}: of these without an answer`, value: short, unit: 'count', better: 'lower' },
    { what: `${what}: p50 of these`, value: latencies.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: `${what}: p99 of these`, value: latencies.quantile(0.99), unit: 'ms', better: 'lower' },
    { what: `${what}: gangs of 4 nodes in one rack, with releases`, value: count / 10 / ganging, unit: 'per second', better: 'higher' },
    { what: `${what}: gangs that were placed`, value: gangs, unit: 'count', better: 'higher' },
    { what: `${what}: explaining a shortage`, value: (1000 * refused) / explanations, unit: 'ms', better: 'lower' },
    { what: `${what}: devices that were booked twice`, value: placements.doubleBookings, unit: 'count', better: 'lower' },
  ];
}

/** Seconds of processor time: other programs on the machine do not count. */
function timed(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000_000;
}

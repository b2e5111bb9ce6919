import {
  type FleetQuota,
  fleetQuotaKind,
  type GPUNode,
  gpuNodeKind,
  type LogicalCluster,
  logicalClusterKind,
  logicalClusterName,
  type NodeBooking,
  type NodeReservation,
  type NodeVolume,
  nodeBookingKind,
  nodeReservationKind,
  nodeVolumeKind,
  pathAnnotation,
  platformWorkspace,
} from '@capstan/api';
import { type Client, isForbidden } from '@capstan/client';
import type { FleetState } from '@capstan/compute';
import { Failure } from '../failure.ts';
import { workspaceIn } from '../workspaces/connection.ts';

/** Reads the fleet with the rights of the caller, who must be an owner of the platform. `instead` says what others can do. */
export async function fleetState(client: Client, instead: string): Promise<FleetState> {
  const platform = client.cluster(platformWorkspace);
  try {
    const [nodes, bookings, quotas, reservations, volumes] = await Promise.all([
      platform.resource<GPUNode>(gpuNodeKind).list(),
      platform.resource<NodeBooking>(nodeBookingKind).list(),
      platform.resource<FleetQuota>(fleetQuotaKind).list(),
      platform.resource<NodeReservation>(nodeReservationKind).list(),
      platform.resource<NodeVolume>(nodeVolumeKind).list(),
    ]);
    return {
      nodes: nodes.items,
      bookings: bookings.items,
      quotas: quotas.items,
      reservations: reservations.items,
      volumes: volumes.items,
    };
  } catch (error) {
    if (isForbidden(error)) throw new Failure('usage', `only owners of the platform can read the fleet. ${instead}`, error);
    throw error;
  }
}

/** The path of the workspace that the kubeconfig points to. Its address may have the id instead. */
export async function currentPath(client: Client): Promise<string> {
  const { metadata } = await client.resource<LogicalCluster>(logicalClusterKind).get(logicalClusterName);
  return metadata.annotations?.[pathAnnotation] ?? workspaceIn(client.connection.server) ?? 'root';
}

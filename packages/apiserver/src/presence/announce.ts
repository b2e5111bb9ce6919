import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '@capstan/machinery';
import { clientAuthorities, keepFresh, type Pki, type PkiOptions, trustedAuthorities } from '@capstan/pki';
import { keepStanding } from '../bootstrap/standing.ts';
import { published, putObjects, systemContext } from '../bootstrap/write.ts';
import type { Serving } from '../handlers/serving.ts';
import type { Listener } from '../http/listener.ts';
import { deleteObject } from '../registry/delete.ts';
import { fresh } from '../registry/list.ts';
import { publishedUrl, publishShard } from '../workspaces/root/bootstrap.ts';
import { type Addresses, type AddressOptions, addressesOf } from './addresses.ts';
import { installationOf } from './installation.ts';
import { writeKubeconfigs } from './kubeconfigs.ts';
import { leaseName, leaseObject, liveServers, renewSeconds } from './lease.ts';
import { type Machine, thisMachine } from './machine.ts';
import { refuseOtherInstallation } from './others.ts';

/** Options for publishing a server's address. */
export interface PresenceOptions extends AddressOptions {
  readonly dataDirectory: string;
  /** Set if other servers may share the store. */
  readonly etcd?: object;
  readonly clientAuthority?: string;
  readonly log: (line: string) => void;
}

export interface AnnounceOptions {
  readonly options: PresenceOptions;
  readonly pki: Pki;
  readonly listener: Listener;
  /** Certificates have been renewed. */
  readonly onRenewed: (pki: Pki) => void;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

export interface Announced extends AsyncDisposable {
  readonly url: string;
  /** For processes on the same machine. */
  readonly localUrl: string;
  readonly kubeconfigPath: string;
}

/** The names that the server's certificate must cover, given the current state of the machine. */
export function certificateOptions(options: AddressOptions, machine: Machine = thisMachine()): PkiOptions {
  const { required, found } = addressesOf(options, machine).certificateNames;
  return { hosts: required, foundHosts: found };
}

/**
 * Publishes the server's address in its Lease, the Shard, the endpoints of the `kubernetes` service, kubeconfigs and its
 * certificate. Checks again every few seconds, because the addresses of the machine change and servers join and leave the store.
 * Disposing of it deletes the Lease.
 */
export async function announce(serving: Serving, announceOptions: AnnounceOptions): Promise<Announced> {
  const presence = new Presence(serving, announceOptions);
  await presence.begin();
  return presence;
}

class Presence implements Announced {
  readonly #serving: Serving;
  readonly #options: AnnounceOptions;
  readonly #leaseName: string;
  readonly #holder = randomUUID();
  #pki: Pki;
  #addresses: Addresses;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isFailing = false;
  kubeconfigPath = '';

  constructor(serving: Serving, options: AnnounceOptions) {
    this.#serving = serving;
    this.#options = options;
    this.#pki = options.pki;
    const machine = thisMachine();
    this.#leaseName = leaseName(machine.hostname, options.options.dataDirectory);
    this.#addresses = this.#addressesOn(machine);
  }

  get url(): string {
    return this.#addresses.url;
  }

  get localUrl(): string {
    return this.#addresses.localUrl;
  }

  async begin(): Promise<void> {
    const { options, now, signal } = this.#options;
    const publish = (): Promise<unknown> =>
      Promise.all([
        this.#publishEndpoints(),
        this.#publishUrl(options.advertise !== undefined || options.etcd === undefined),
        this.#writeKubeconfigs(),
      ]);
    if (options.etcd === undefined) {
      // No other server can share the store, so there is nobody to give way to.
      await Promise.all([this.#writeLease(), publish()]);
    } else {
      await this.#writeLease();
      await this.#giveWayToOthers();
      await publish();
    }
    keepStanding(this.#serving, {
      published: () => this.#published(),
      now,
      onError: (error) => options.log(`a deleted object could not be recreated: ${String(error)}`),
    });
    const renewCertificates = keepFresh(this.#pki, {
      wanted: () => certificateOptions(options),
      signal,
      onRenewed: (renewed) => this.#renewed(renewed),
      onError: (error) => options.log(`certificates could not be renewed: ${String(error)}`),
    });
    this.#timer = setInterval(() => {
      this.#turn = this.#turn.then(() => this.#look(renewCertificates));
    }, renewSeconds * 1000);
    this.#timer.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // If the store does not respond, the other servers notice when the Lease expires.
    await Promise.race([this.#turn.then(() => this.#deleteLease()).catch(() => {}), sleep(1_000, undefined, { ref: false })]);
  }

  async #look(renewCertificates: () => void): Promise<void> {
    const { log } = this.#options.options;
    const before = this.#addresses;
    this.#addresses = this.#addressesOn(thisMachine());
    if (JSON.stringify(before.certificateNames) !== JSON.stringify(this.#addresses.certificateNames)) renewCertificates();
    try {
      await this.#writeLease();
      await this.#publishEndpoints();
      await this.#publishUrl(false);
      if (before.url !== this.#addresses.url) await this.#writeKubeconfigs();
      if (this.#isFailing) log('the address of this server is published again');
      this.#isFailing = false;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!this.#isFailing) log(`the address of this server could not be published: ${message}; trying again every ${renewSeconds} s`);
      this.#isFailing = true;
    }
  }

  #addressesOn(machine: Machine): Addresses {
    const { options, listener } = this.#options;
    return addressesOf({ ...options, port: listener.port }, machine);
  }

  #renewed(pki: Pki): void {
    const { options, listener } = this.#options;
    const isNewPhase = pki.rotation.phase !== this.#pki.rotation.phase;
    this.#pki = pki;
    this.#options.onRenewed(pki);
    listener.replaceCertificate(pki.serving.certificate, pki.serving.key, clientAuthorities(pki, options.clientAuthority));
    const written = this.#writeKubeconfigs().catch((error: unknown) => options.log(`kubeconfigs could not be written: ${String(error)}`));
    if (!isNewPhase) return;
    this.#turn = this.#turn.then(async () => {
      await written;
      options.log(`the authority is in the phase ${pki.rotation.phase}`);
      await this.#look(() => {});
    });
  }

  async #writeLease(): Promise<void> {
    const { now } = this.#options;
    const { hostname } = thisMachine();
    const lease = leaseObject({
      name: this.#leaseName,
      holder: this.#holder,
      hostname,
      addresses: this.#addresses,
      installation: installationOf(this.#pki),
      now: now(),
    });
    await putObjects(this.#serving, now, [lease]);
  }

  async #deleteLease(): Promise<void> {
    const { now } = this.#options;
    await deleteObject(this.#serving, systemContext(this.#serving, now), {
      resource: this.#serving.catalog.resource('coordination.k8s.io', 'v1', 'leases')!,
      namespace: 'kube-system',
      name: this.#leaseName,
      options: {},
      dryRun: false,
    });
  }

  /** Two servers that start at the same moment do not see each other's Lease in the first check. */
  async #giveWayToOthers(): Promise<void> {
    const { now } = this.#options;
    const { cache } = this.#serving;
    await fresh(cache);
    const own = liveServers(cache, now()).find(({ name }) => name === this.#leaseName);
    const comparison = { objects: cache, installation: installationOf(this.#pki), pkiDirectory: this.#pki.directory, now: now() };
    try {
      refuseOtherInstallation(comparison, own?.revision);
    } catch (error) {
      await this.#deleteLease();
      throw error;
    }
  }

  #publishEndpoints(): Promise<void> {
    return putObjects(this.#serving, this.#options.now, this.#published());
  }

  /** The objects through which clients in pods find the servers. Every server publishes the endpoints of all of them. */
  #published(): KubeObject[] {
    const others = liveServers(this.#serving.cache, this.#options.now()).filter(({ name }) => name !== this.#leaseName);
    const endpoints = [this.#addresses, ...others].flatMap(({ endpoint }) => endpoint ?? []);
    return published({ endpoints, clientAuthority: trustedAuthorities(this.#pki) });
  }

  /**
   * The Shard holds one URL for all servers. It is replaced when no live server has it, or when this server was configured to
   * advertise one.
   */
  async #publishUrl(isDecided: boolean): Promise<void> {
    const { now } = this.#options;
    const { cache } = this.#serving;
    const current = publishedUrl(cache);
    if (!isDecided && liveServers(cache, now()).some(({ url }) => url === current)) return;
    if (current === this.url && !isDecided) return;
    await publishShard(this.#serving, systemContext(this.#serving, now), this.url);
  }

  async #writeKubeconfigs(): Promise<void> {
    this.kubeconfigPath = await writeKubeconfigs(this.#options.options.dataDirectory, this.#pki, this.#addresses);
  }
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '@capstan/machinery';
import { clientAuthorities, keepFresh, type Pki, type PkiOptions } from '@capstan/pki';
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

/** What a server has to be told to say where it is. */
export interface PresenceOptions extends AddressOptions {
  readonly dataDirectory: string;
  /** Present if other servers may share the store. */
  readonly etcd?: object;
  readonly clientAuthority?: string;
  readonly log: (line: string) => void;
}

export interface AnnounceOptions {
  readonly options: PresenceOptions;
  readonly pki: Pki;
  readonly listener: Listener;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

export interface Announced extends AsyncDisposable {
  readonly url: string;
  readonly kubeconfigPath: string;
}

/** The names that the server's certificate has to cover, as the machine is now. */
export function certificateOptions(options: AddressOptions, machine: Machine = thisMachine()): PkiOptions {
  const { required, found } = addressesOf(options, machine).certificateNames;
  return { hosts: required, foundHosts: found };
}

/**
 * Says where the server is: in its Lease, in the Shard, in the endpoints of the `kubernetes` service, in kubeconfigs and in its certificate. Looks again every few seconds, as addresses of the
 * machine change and other servers of the same store come and go. Disposing of it says that the server is gone.
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

  async begin(): Promise<void> {
    const { options, now, signal } = this.#options;
    await this.#writeLease();
    await this.#giveWayToOthers();
    await Promise.all([
      this.#publishEndpoints(),
      this.#publishUrl(options.advertise !== undefined || options.etcd === undefined),
      this.#writeKubeconfigs(),
    ]);
    keepStanding(this.#serving, {
      published: () => this.#published(),
      now,
      onError: (error) => options.log(`an object that was deleted could not be created again: ${String(error)}`),
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
    // Where the store does not answer, the others notice a little later that nobody renews the Lease.
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
    this.#pki = pki;
    listener.replaceCertificate(pki.serving.certificate, pki.serving.key, clientAuthorities(pki, options.clientAuthority));
    this.#writeKubeconfigs().catch((error: unknown) => options.log(`kubeconfigs could not be written: ${String(error)}`));
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

  /** Two that started at the same moment have both found nobody. */
  async #giveWayToOthers(): Promise<void> {
    const { options, now } = this.#options;
    if (options.etcd === undefined) return;
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

  /** How clients inside find the servers. Each server says it of all. */
  #published(): KubeObject[] {
    const others = liveServers(this.#serving.cache, this.#options.now()).filter(({ name }) => name !== this.#leaseName);
    const endpoints = [this.#addresses, ...others].flatMap(({ endpoint }) => endpoint ?? []);
    return published({ endpoints, clientAuthority: this.#pki.authority.certificate });
  }

  /** The Shard names one URL for all servers. It is replaced when no server has it any more, or when this one was told what to advertise. */
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

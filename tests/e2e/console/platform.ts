import { Child, type CommandResult, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { openVisit, patience, startBrowser, type Visit } from './browser.ts';

export const workspace = 'root:main:default';

export interface KubeRequest {
  readonly method?: 'POST' | 'PUT' | 'DELETE' | 'GET';
  readonly body?: object;
}

/** A platform of one node, started by `capstan up`, and a browser. */
export class ConsolePlatform implements AsyncDisposable {
  readonly url: string;
  readonly browser: Browser;
  /** The name of its node. */
  node = '';
  readonly #directory: string;
  readonly #stack: AsyncDisposableStack;
  #owner: BrowserContext | undefined;

  private constructor(url: string, browser: Browser, place: { readonly directory: string; readonly stack: AsyncDisposableStack }) {
    this.url = url;
    this.browser = browser;
    this.#directory = place.directory;
    this.#stack = place.stack;
  }

  static async start(): Promise<ConsolePlatform> {
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('console-pages')).path;
    const port = await freePort();
    const up = new Child(
      'capstan up',
      [process.execPath, capstanProgram, 'up', '--data-dir', `${directory}/data`, '--port', String(port)],
      { environment: { HOME: directory } },
    );
    stack.defer(() => up.stop(15_000));
    const browser = await startBrowser();
    stack.defer(() => browser.close());
    await up.waitUntil('the console', () => up.output.includes('console | console at'));
    const platform = new ConsolePlatform(`http://127.0.0.1:${port + 2}`, browser, { directory, stack: stack.move() });
    await using unready = new AsyncDisposableStack();
    unready.use(platform);
    await up.waitUntil('the first project', async () => (await platform.capstan('ws', 'use', workspace)).code === 0);
    await up.waitUntil('a ready node', async () => {
      const ready = (await platform.capstan('node', 'list')).stdout.split('\n').find((line) => /\sReady\s/.test(line));
      platform.node = ready?.split(/\s+/)[0] ?? '';
      return ready !== undefined;
    });
    unready.move();
    return platform;
  }

  /** Runs a command as the administrator. */
  capstan(...args: string[]): Promise<CommandResult> {
    return run(process.execPath, [capstanProgram, ...args], {
      environment: { HOME: this.#directory, KUBECONFIG: `${this.#directory}/data/admin.kubeconfig` },
      directory: this.#directory,
      timeout: patience,
    });
  }

  async processOf(name: string): Promise<number> {
    const { stdout } = await this.capstan('status', '--data-dir', `${this.#directory}/data`, '--output', 'json');
    return (JSON.parse(stdout) as { processes: { name: string; pid: number }[] }).processes.find((one) => one.name === name)!.pid;
  }

  async link(): Promise<string> {
    return (await this.capstan('console', '--no-browser')).stdout.trim();
  }

  /** Creates the objects that the pages under test show. */
  async prepare(): Promise<void> {
    await this.capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi');
    // No node is large enough, so that it waits and has a reason and advice.
    await this.capstan('run', '--network', 'none', '--no-upload', '-d', '--name', 'waits', '--cpu', '4000', '--', 'true');
    await this.capstan('volume', 'create', 'datasets', '--size', '64Mi');
    await this.kube('/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { name: 'settings' } } });
  }

  /** The address of a page of a workspace. */
  at(path: string, inWorkspace = workspace): string {
    return `${this.url}/w/${inWorkspace}${path.replace('{node}', this.node)}`;
  }

  visit(options: BrowserContextOptions = {}): Promise<Visit> {
    return openVisit(this.browser, options);
  }

  /** A page of the administrator. Everybody who asks shares one session. */
  async ownerVisit(options: BrowserContextOptions = {}): Promise<Visit> {
    return this.visit({ ...options, storageState: await (await this.#ownerContext()).storageState() });
  }

  /** A request to the API server through the console, as the administrator; the path begins below the workspace. */
  async kube(path: string, { method = 'GET', body }: KubeRequest = {}): Promise<unknown> {
    const { request } = await this.#ownerContext();
    const answer = await request.fetch(`${this.url}/kube/clusters/${workspace}${path}`, {
      method,
      headers: { origin: this.url, 'x-capstan-console': '1', 'content-type': 'application/json' },
      ...(body && { data: body }),
    });
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`);
    return answer.json();
  }

  async #ownerContext(): Promise<BrowserContext> {
    if (this.#owner !== undefined) return this.#owner;
    const { page, context } = await this.visit();
    await page.goto(await this.link());
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.close();
    return (this.#owner = context);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

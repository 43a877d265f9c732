// The stage of an attack: the provider in this process, a wire to each of its accounts, and the gateway in a process of its own.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Draft } from '../../support/gateway.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../../support/rehearsal.ts';
import { until } from '../../support/until.ts';
import { GatewayProcess, type Vitals } from './gateway-process.ts';
import { Lane } from './lane.ts';
import { accountsOf, BEARER, settingsFor } from './settings.ts';

export interface StageOptions {
  readonly lanes?: number;
  /** Edits the configuration before it is written. */
  readonly config?: (draft: Draft, folder: string) => void;
  readonly provider?: Pick<UpstreamOptions, 'strict'>;
  /** A command that runs the gateway elsewhere, such as in another namespace. */
  readonly inside?: readonly string[];
}

/** A figure that is worth printing: the largest of its name. */
export interface Note {
  readonly value: number;
  readonly of: string;
}

const DEFAULT_LANES = 32;
const READY_MS = 20_000;

export class Stage {
  readonly folder: string;
  readonly upstream: Upstream;
  readonly lanes: readonly Lane[];
  readonly notes = new Map<string, Note>();
  readonly #options: StageOptions;
  #program: GatewayProcess | undefined;
  /** What the gateway holds where nothing runs; undefined until it was measured. */
  baseline: Vitals | undefined;

  private constructor(folder: string, upstream: Upstream, lanes: readonly Lane[], options: StageOptions) {
    this.folder = folder;
    this.upstream = upstream;
    this.lanes = lanes;
    this.#options = options;
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const numbers = Array.from({ length: options.lanes ?? DEFAULT_LANES }, (_, i) => i);
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-torture-'));
    const upstream = await startUpstream({
      strict: false,
      ...options.provider,
      accounts: numbers.flatMap(accountsOf).map((id) => ({ id, credential: BEARER })),
    });
    const lanes = await Promise.all(
      numbers.map((n) =>
        Lane.open(
          n,
          (account) => upstream.urlOf(account),
          () => stage.program,
        ),
      ),
    );
    const stage: Stage = new Stage(folder, upstream, lanes, options);
    const urls = new Map(lanes.flatMap(({ accounts, wires }) => accounts.map((id, i) => [id, wires[i]?.url ?? ''])));
    const draft = settingsFor(lanes.length, folder, (account) => urls.get(account) ?? '');
    options.config?.(draft, folder);
    writeFileSync(stage.configPath, stringify(draft, { aliasDuplicateObjects: false }));
    await stage.start();
    return stage;
  }

  get configPath(): string {
    return join(this.folder, 'config.yaml');
  }

  get databasePath(): string {
    return join(this.folder, 'data/poolgate.db');
  }

  get program(): GatewayProcess {
    if (!this.#program) throw new Error('the gateway has not been started');
    return this.#program;
  }

  /** Starts the gateway, or starts it again over the same store; resolves when it is ready. */
  async start(): Promise<void> {
    this.#program = await GatewayProcess.start(this.configPath, { TORTURE_BEARER: BEARER }, this.#options.inside);
    const ready = async (): Promise<true | undefined> => ((await this.admin('/readyz')).status === 200 ? true : undefined);
    await until('the gateway to be ready', ready, READY_MS);
  }

  note(name: string, note: Note): void {
    if (note.value > (this.notes.get(name)?.value ?? Number.NEGATIVE_INFINITY)) this.notes.set(name, note);
  }

  admin(path: string, method = 'GET'): Promise<Response> {
    return fetch(this.program.adminUrl + path, { method, signal: AbortSignal.timeout(READY_MS) });
  }

  // biome-ignore lint/suspicious/noExplicitAny: readers look where they expect something
  async adminJson(path: string): Promise<any> {
    return (await this.admin(path)).json();
  }

  async close(): Promise<void> {
    await this.#program?.kill();
    await Promise.all(this.lanes.map((lane) => lane.close()));
    await this.upstream.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

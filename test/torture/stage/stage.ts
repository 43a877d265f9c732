// The stage of an attack: the provider in this process, a wire to each of its accounts, and the gateway in a separate process.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { API_PREFIX } from '../../../proxy/rehearsal/apis/api-endpoints.ts';
import type { Draft } from '../../support/gateway.ts';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';
import { until } from '../../support/until.ts';
import type { HttpCall } from '../calls/call.ts';
import { ANSWERED_CALLS, HTTP_CALLS, TURN_CALLS } from '../calls/http-calls.ts';
import { Database } from './database.ts';
import { GatewayProcess, type Vitals } from './gateway-process.ts';
import { COMMAND, Lane } from './lane.ts';
import { loginAccount, loginCredential } from './logins.ts';
import { accountsOf, BEARER, settingsFor } from './settings.ts';
import { SmallDisk } from './small-disk.ts';

/**
 * `responses`, `chat`: accounts of these APIs, on one stage each. `ordinary`: accounts with a bearer, and a store on the machine's disk.
 * `logins`: accounts that log in with OAuth, and refresh their tokens at the provider. `small disk`: a store on a disk that attacks can
 * fill.
 */
export type StageName = 'ordinary' | 'responses' | 'chat' | 'logins' | 'small disk';

const LANES: Readonly<Record<StageName, number>> = { ordinary: 16, responses: 4, chat: 4, logins: 4, 'small disk': 4 };
const DISK_MEGABYTES = 12;
const READY_MS = 60_000;

type Lanes = readonly [Lane, ...Lane[]];

/** A figure to print: the largest of its name. */
export interface Note {
  readonly value: number;
  readonly of: string;
}

export class Stage {
  readonly folder: string;
  readonly upstream: Upstream;
  readonly lanes: Lanes;
  readonly notes = new Map<string, Note>();
  /** The lines on stderr of all its processes, until they are taken. */
  readonly #written: string[] = [];
  /** Undefined if the store is on the machine's own disk. */
  readonly disk: SmallDisk | undefined;
  /** The calls that its accounts answer. */
  readonly calls: readonly HttpCall[];
  #program: GatewayProcess | undefined;
  /** The memory of the gateway when nothing runs; undefined before it was measured. */
  baseline: Vitals | undefined;

  private constructor(parts: Pick<Stage, 'folder' | 'upstream' | 'lanes' | 'disk' | 'calls'>) {
    this.folder = parts.folder;
    this.upstream = parts.upstream;
    this.lanes = parts.lanes;
    this.disk = parts.disk;
    this.calls = parts.calls;
  }

  /** @throws NoSmallDisk */
  static async open(name: StageName): Promise<Stage> {
    const numbers = Array.from({ length: LANES[name] }, (_, i) => i);
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-torture-'));
    const logsIn = name === 'logins';
    const api = name === 'responses' || name === 'chat' ? name : undefined;
    const upstream = await startUpstream({
      strict: false,
      accounts: numbers
        .flatMap(accountsOf)
        .map((id) => (logsIn ? loginAccount(id) : { id, credential: BEARER, ...(api ? { api: { api } } : {}) })),
    });
    const disk = name === 'small disk' ? await SmallDisk.open(join(folder, 'data'), DISK_MEGABYTES) : undefined;
    const laneOf = (n: number): Promise<Lane> =>
      Lane.open(
        n,
        (account) => upstream.urlOf(account),
        () => stage.program,
      );
    const lanes: Lanes = await Promise.all([laneOf(0), ...numbers.slice(1).map(laneOf)]);
    const stage: Stage = new Stage({ folder, upstream, lanes, disk, calls: api ? [...ANSWERED_CALLS, ...TURN_CALLS] : HTTP_CALLS });
    const urls = new Map(lanes.flatMap(({ accounts, wires }) => accounts.map((id, i) => [id, wires[i]?.url ?? ''])));
    const draft = settingsFor(lanes.length, folder, (account) => urls.get(account) ?? '');
    if (api) for (const account of draft.accounts) Object.assign(account, { api, base_url: account.base_url + API_PREFIX });
    if (logsIn) for (const account of draft.accounts) account.credential = loginCredential(folder, account);
    writeFileSync(stage.configPath, stringify(draft, { aliasDuplicateObjects: false }));
    await stage.start();
    return stage;
  }

  get configPath(): string {
    return join(this.folder, 'config.yaml');
  }

  get database(): Database {
    return new Database(join(this.folder, 'data/poolgate.db'), this.disk?.inside);
  }

  get program(): GatewayProcess {
    if (!this.#program) throw new Error('the gateway has not been started');
    return this.#program;
  }

  /** Starts the gateway, or starts it again with the same store. Resolves when it is ready. @throws Error with its output if it ends */
  async start(): Promise<void> {
    this.#program = await GatewayProcess.start({
      config: this.configPath,
      env: { TORTURE_BEARER: BEARER },
      inside: this.disk?.inside,
      written: this.#written,
    });
    const ready = async (): Promise<true | undefined> => ((await this.admin('/readyz')).status === 200 ? true : undefined);
    await until('the gateway to be ready', ready, READY_MS);
  }

  /** Changes a setting that affects no attack, and reloads the file. */
  async reconfigure(): Promise<void> {
    const draft = parse(readFileSync(this.configPath, 'utf8')) as Draft;
    draft.retention = { requests_days: draft.retention?.requests_days === 31 ? 30 : 31 };
    // Replaced atomically, because the gateway follows its file and might read an incomplete one.
    writeFileSync(`${this.configPath}.next`, stringify(draft, { aliasDuplicateObjects: false }));
    renameSync(`${this.configPath}.next`, this.configPath);
    const { status } = await this.admin('/api/reload', 'POST');
    if (status !== 200) throw new Error(`the reload was answered ${status}`);
  }

  /** The number of turns with a row so far, over all processes on this store. */
  async turns(): Promise<number> {
    await this.admin('/api/requests?limit=1');
    const [row] = await this.database.all('SELECT count(*) AS count FROM requests');
    return Number(row?.count ?? 0);
  }

  /** The lines on stderr of the gateway's processes since the last call. */
  takeWritten(): readonly string[] {
    return this.#written.splice(0);
  }

  note(name: string, note: Note): void {
    if (note.value > (this.notes.get(name)?.value ?? Number.NEGATIVE_INFINITY)) this.notes.set(name, note);
  }

  admin(path: string, method = 'GET'): Promise<Response> {
    return fetch(this.program.adminUrl + path, { method, headers: COMMAND, signal: AbortSignal.timeout(READY_MS) });
  }

  // biome-ignore lint/suspicious/noExplicitAny: readers look where they expect something
  async adminJson(path: string): Promise<any> {
    return (await this.admin(path)).json();
  }

  async close(): Promise<void> {
    await this.#program?.kill();
    await Promise.all(this.lanes.map((lane) => lane.close()));
    await this.upstream.close();
    this.disk?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

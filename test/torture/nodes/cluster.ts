// The stage of the attack on several nodes: three processes with a separate PostgreSQL that can be killed, and the provider with its
// record.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresServer } from '../../support/postgres/postgres.ts';
import { COMMAND } from '../stage/lane.ts';
import type { Note } from '../stage/stage.ts';
import { type Life, Member, type Span } from './member.ts';
import { ProviderRecord } from './provider-record.ts';
import { Pulse } from './pulse.ts';
import { settingsFor, writeLogin } from './settings.ts';

export const NODES = ['a', 'b', 'c'] as const;

/** Matches counters in /metrics. */
const UNKNOWN_OWNERS = /^poolgate_(?:session_claims_failed|owners_silent)\w* (\d+)$/gm;

export type DatabaseRow = Readonly<Record<string, unknown>>;

export class Cluster {
  readonly record: ProviderRecord;
  readonly server: PostgresServer;
  readonly members: readonly Member[];
  readonly pulse: Pulse;
  readonly notes = new Map<string, Note>();
  /** The periods without the database, for all nodes. */
  readonly outages: Span[] = [];
  /** Whether a refresh may have been lost with its process, because tokens expired during another disaster. */
  loginsInDoubt = false;
  /** The time until which nodes may lack the slots of a node that died or was cut off. */
  slotsBackAt = Number.NEGATIVE_INFINITY;
  /** The next unused number of a call. */
  nextCall = 1;
  turns = 0;
  /** Turns whose process was killed before their rows and usage were surely written, by key. */
  readonly lost = new Map<string, number>();
  /** The arrival times of the turns of the key with requests per minute. */
  readonly minute: number[] = [];
  /** The number of log lines of each process that were checked. */
  readonly reported = new Map<Life, number>();
  readonly #database: string;
  readonly #folder: string;
  #logins = 0;

  private constructor(
    parts: Pick<Cluster, 'record' | 'server' | 'members'>,
    { database, folder }: { readonly database: string; readonly folder: string },
  ) {
    this.record = parts.record;
    this.server = parts.server;
    this.members = parts.members;
    this.#database = database;
    this.#folder = folder;
    this.pulse = new Pulse(() => this.query('SELECT 1'));
  }

  static async open(): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-torture-nodes-'));
    const [record, server] = await Promise.all([ProviderRecord.start(), PostgresServer.start()]);
    const database = await server.fresh();
    const draft = settingsFor(folder, (account) => record.provider.urlOf(account));
    const members = await Promise.all(NODES.map((name) => Member.open({ name, server, database, draft })));
    const cluster = new Cluster({ record, server, members }, { database, folder });
    // Started together, because they upgrade one empty database.
    await Promise.all(members.map((member) => member.start())).catch(async (error: unknown) => {
      await cluster.close();
      throw error;
    });
    return cluster;
  }

  memberAt(node: number): Member {
    const member = this.members[node];
    if (!member) throw new Error(`no node ${node}`);
    return member;
  }

  /** Removes what a case left. */
  forget(): void {
    this.record.clear();
    this.outages.length = 0;
    this.pulse.slow.length = 0;
    for (const { cutOff, lives } of this.members) {
      cutOff.length = 0;
      for (const life of lives.slice(0, -1)) this.reported.delete(life);
      lives.splice(0, lives.length - 1);
    }
  }

  query(sql: string): Promise<readonly DatabaseRow[]> {
    return this.server.query(this.#database, sql);
  }

  note(name: string, note: Note): void {
    if (note.value > (this.notes.get(name)?.value ?? Number.NEGATIVE_INFINITY)) this.notes.set(name, note);
  }

  /** How often each process could not find the owner of a session. Its turn then continued as if there was none. */
  async unknownOwners(): Promise<ReadonlyMap<Life, number>> {
    const counts = this.members.map(async ({ life }) => {
      const text = await (await fetch(`${life.adminUrl}/metrics`)).text();
      return [life, [...text.matchAll(UNKNOWN_OWNERS)].reduce((sum, [, count]) => sum + Number(count), 0)] as const;
    });
    return new Map(await Promise.all(counts));
  }

  /** Logs an account in again at one node, as an operator would. */
  async logIn(account: string): Promise<void> {
    this.#logins += 1;
    const token = `rt-${account}-${this.#logins}`;
    this.record.provider.loginOf(account).renew(token);
    writeLogin(this.#folder, account, token);
    const [first] = this.members;
    const answer = await fetch(`${first?.life.adminUrl}/api/accounts/${account}/relogin`, { method: 'POST', headers: COMMAND });
    await answer.arrayBuffer();
  }

  async close(): Promise<void> {
    this.pulse.stop();
    await Promise.all(this.members.map((member) => member.lives.length > 0 && member.close()));
    await this.record.provider.close();
    await this.server.end('SIGQUIT');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

// The gateway for one case table. It has a model for each set of facts, a key for each policy, and one account that accepts everything.
import { hash } from 'node:crypto';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, startGateway, type TestGateway } from '../gateway.ts';
import { modelEntry } from '../rehearsal-replies.ts';
import type { KeyPolicy, ModelShape, WireCase } from './case.ts';

/** Distinct values in the order in which they came, each with a name. */
class Names<T> {
  readonly #named = new Map<string, { readonly name: string; readonly value: T }>();
  readonly #nameOf: (index: number) => string;

  constructor(nameOf: (index: number) => string) {
    this.#nameOf = nameOf;
  }

  of(value: T): string {
    const key = JSON.stringify(value);
    const known = this.#named.get(key) ?? { name: this.#nameOf(this.#named.size), value };
    this.#named.set(key, known);
    return known.name;
  }

  get all(): readonly { readonly name: string; readonly value: T }[] {
    return [...this.#named.values()];
  }
}

const ORDINARY: ModelShape = { mode: { configured: 'auto', effective: 'full', source: 'catalog' }, entry: {}, routable: true };

export class TableGateway {
  readonly #models = new Names<ModelShape>((index) => (index === 0 ? 'model-a' : `model-${index}`));
  readonly #keys = new Names<KeyPolicy>((index) => `key-${index}`);
  /** All members in the cases. Other tests check what an account does not know. */
  readonly #members: readonly string[];
  #gate: TestGateway | undefined;

  /** @param cases all cases that will run here */
  constructor(cases: readonly WireCase[]) {
    this.#members = [...new Set(cases.flatMap(({ body, changes, equivalent = {} }) => [body, changes, equivalent].flatMap(Object.keys)))];
    this.#models.of(ORDINARY);
    for (const { model, key } of cases) {
      this.#models.of(model);
      this.#keys.of(key);
    }
  }

  get gate(): TestGateway {
    if (!this.#gate) throw new Error('the gateway has not been started');
    return this.#gate;
  }

  modelOf({ model }: WireCase): string {
    return this.#models.of(model);
  }

  authorization({ key }: WireCase): string {
    return `Bearer ${secretOf(this.#keys.of(key))}`;
  }

  async start(audioBytes: number | undefined): Promise<void> {
    const entries = this.#models.all.map(({ name, value }) => ({ routable: value.routable, entry: entryOf(name, value) }));
    const listed = (routable: boolean): JsonObject[] => entries.filter((one) => one.routable === routable).map(({ entry }) => entry);
    this.#gate = await startGateway({
      upstream: {
        strict: false,
        accounts: [
          { id: 'north', models: listed(true) },
          { id: 'idle', models: listed(false) },
        ],
      },
      config: (draft) => this.#configure(draft, audioBytes),
    });
    await this.#gate.addFile('team', 'file_1', 'north');
  }

  async stop(): Promise<void> {
    await this.#gate?.close();
  }

  #configure(draft: Draft, audioBytes: number | undefined): void {
    const [pool] = draft.pools;
    draft.accounts[0].keep_fields = this.#members.filter((name) => FIELD.test(name) && name !== 'previous_response_id');
    pool.assignments = [{ account: 'north' }, { account: 'idle', active: false }];
    pool.serving_modes = Object.fromEntries(
      this.#models.all.flatMap(({ name, value: { mode } }) => (mode && mode.configured !== 'auto' ? [[name, mode.configured]] : [])),
    );
    draft.keys = this.#keys.all.map(({ name, value }) => ({
      id: name,
      pool: 'team',
      secret_sha256: [hash('sha256', secretOf(name), 'hex')],
      ...value,
    }));
    if (audioBytes !== undefined) draft.limits = { audio_bytes: audioBytes };
  }
}

/** Matches the names that the schema permits in `keep_fields`. */
const FIELD = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const secretOf = (name: string): string => `pg-${name}`;

/** A catalog entry. It has levels only if the case states them. */
function entryOf(slug: string, { entry, mode }: ModelShape): JsonObject {
  const { supported_reasoning_levels: _, default_reasoning_level: __, ...rest } = modelEntry({ slug });
  return { ...rest, use_responses_lite: mode?.source === 'catalog' && mode.effective === 'lite', ...entry };
}
